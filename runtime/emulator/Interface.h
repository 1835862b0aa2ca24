// Interface.h - the functions that the runtime and the emulator's library call in each other. Each
// of the two contains its own C++ library, so only plain data crosses, and no function here throws.
#pragma once
#include "runtime/support/Interrupt.h"
#include "runtime/device/KernelCounters.h"
#include <cstddef>

namespace logitile::emulator::abi {
/// Changes with anything below. The runtime uses no library with another version.
inline constexpr uint32_t kVersion = 3;

/// How a function ended.
enum class Ending : int32_t {
  done,
  failed,   // a text says why
  noMemory,
};

/// A text that belongs to its receiver, who must release it with std::free. Null means no text.
using Text = char *;

/// A function that compiled code may call by its name.
struct Symbol {
  const char *name;
  void *address;
};

struct HostCode;
/// LLVM's code generator for this machine: the runtime has one and lends it, so that the library
/// needs none.
struct HostCompiler {
  const char *triple, *layout; // of LLVM modules for this machine
  /// Code of a module in LLVM's bitcode. It calls no function but those of 'symbols'.
  Ending (*compile)(const char *bitcode, size_t bytes, const Symbol *symbols, size_t count, HostCode **code, Text *error);
  Ending (*find)(HostCode *code, const char *name, void **address, Text *error);
  void (*release)(HostCode *code);
};

/// How a kernel is launched, as for a GPU.
struct Launch {
  const char *kernel;
  uint32_t grid[3], threads[3];
  uint32_t dynamicSharedBytes;
  const void *const *arguments; // addresses of the arguments' values; of its bytes for one passed by value
  size_t argumentCount;
  /// 0: threads run in order, and asynchronous operations finish as late as is legal. Any other
  /// number is the seed of a random schedule.
  uint64_t seed;
  Interrupt interrupt; // asked between blocks and in long loops
};

/// A matrix of 16-bit numbers in memory, and the size of the boxes that kernels copy from it.
struct TensorMatrix {
  void *address;
  bool isF16; // else bfloat16
  uint64_t rows, columns, pitch; // pitch: bytes from row to row
  uint32_t boxRows, boxColumns;
  uint32_t swizzle; // chunks of 16 bytes are permuted within so many bytes: 32, 64 or 128
};
/// As large as a CUtensorMap.
inline constexpr size_t kTensorMapBytes = 128;

struct Outcome {
  Text reports, facts;     // for people, and as JSON (jsonOf in emulator/core/Report.h); null for a correct kernel
  KernelCounters counters;
  bool isInterrupted;      // not all blocks have run
};

struct Program;
struct Memory;
/// What the library offers.
struct Functions {
  uint32_t version;
  /// A module for NVPTX as LLVM's text or bitcode. 'compiler' outlives the program.
  Ending (*load)(const char *ir, size_t bytes, const HostCompiler *compiler, Program **program, Text *error);
  void (*release)(Program *program);
  /// Memory that kernels may touch. It outlives launches: what one launch wrote is initialised for
  /// the next.
  Ending (*createMemory)(Memory **memory);
  Ending (*addMemory)(Memory *memory, const char *name, void *data, size_t bytes, bool isDefined);
  void (*releaseMemory)(Memory *memory);
  /// Runs a kernel. A program runs one launch at a time. It fails if the name, the number of
  /// threads or the number of arguments is wrong.
  Ending (*run)(Program *program, const Launch *launch, Memory *memory, Outcome *outcome, Text *error);
  /// Writes the kTensorMapBytes of a map, which kernels take by value. It fails if NVIDIA's driver
  /// would fail.
  Ending (*encodeTensorMap)(const TensorMatrix *matrix, void *map, Text *error);
};

/// The library's file beside the runtime's own, and its one symbol, a function that returns its
/// Functions.
inline constexpr const char *kFile = "liblogitile_emulator.so", *kSymbol = "logitile_emulator";
using GetFunctions = const Functions *(*)();
} // namespace logitile::emulator::abi
