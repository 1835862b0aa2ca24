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
  /// 0: threads in order, what is asynchronous as late as is legal. Others: schedules at random,
  /// the same for a seed.
  uint64_t seed = 0;
  uint64_t turns = uint64_t{1} << 32; // of loops in one block without any other progress, until it counts as endless
  Interrupt interrupt;                // asked between blocks and in long loops
};

struct Outcome {
  std::vector<Report> reports; // none for a correct kernel
  Counters counters;
  bool isInterrupted = false; // blocks are missing
  std::string text() const;
};

class Program {
public:
  /// Text or bitcode of a module for triple nvptx64-nvidia-cuda, compiled for the host by
  /// 'compiler', which outlives it. Null with 'error' where it cannot be emulated: an unknown
  /// instruction is named with its place.
  static std::unique_ptr<Program> load(std::string_view ir, const abi::HostCompiler &compiler, std::string &error);
  ~Program();

  /// Runs a kernel to its end, to the first fault after which nothing would mean anything, or until
  /// it is interrupted. Only what 'memory' knows may be touched. False with 'error' where there is
  /// nothing to run: wrong name, count of threads or arguments.
  bool run(const Launch &launch, GlobalMemory &memory, Outcome &outcome, std::string &error);

private:
  struct Code;
  explicit Program(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code;
};
} // namespace logitile::emulator
