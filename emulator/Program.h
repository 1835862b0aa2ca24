// Program.h - the interface of the emulator: loads a module for NVPTX once, and launches its
// kernels on the CPU with every access checked. It needs no headers of LLVM.
#pragma once
#include "emulator/block/GlobalMemory.h"
#include "runtime/emulator/Interface.h"
#include <memory>

namespace logitile::emulator {
/// How a kernel is launched, as for a GPU.
struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1}, threads = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<const void *> arguments; // addresses of the arguments' values; of its bytes for one passed by value
  /// 0: threads run in order, and asynchronous operations finish as late as is legal. Any other
  /// number is the seed of a random schedule.
  uint64_t seed = 0;
  uint64_t turns = uint64_t{1} << 32; // loops of a block may have so many iterations without other progress; more are a fault
  Interrupt interrupt;                // asked between blocks and in long loops
};

struct Outcome {
  std::vector<Report> reports; // none for a correct kernel
  Counters counters;
  bool isInterrupted = false; // not all blocks have run
  std::string text() const;
};

class Program {
public:
  /// Text or bitcode of a module for triple nvptx64-nvidia-cuda, compiled for the host by
  /// 'compiler', which outlives it. Null with 'error' where it cannot be emulated: an unknown
  /// instruction is named with its place.
  static std::unique_ptr<Program> load(std::string_view ir, const abi::HostCompiler &compiler, std::string &error);
  ~Program();

  /// Runs a kernel until it ends, until it is interrupted, or until a fault after which results
  /// would be meaningless. The kernel may access only buffers of 'memory'. False, with 'error', if
  /// the name, the number of threads or the number of arguments is wrong.
  bool run(const Launch &launch, GlobalMemory &memory, Outcome &outcome, std::string &error);

private:
  struct Code;
  explicit Program(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code;
};
} // namespace logitile::emulator
