// Lower.h - turns a module for NVPTX into a module for the host, in which GPU instructions are
// calls of the emulator. Program.h runs the result.
#pragma once
#include "emulator/core/Instruction.h"
#include <deque>

namespace llvm {
class Module;
} // namespace llvm

namespace logitile::emulator {
/// A kernel of a lowered module.
struct KernelFacts {
  std::string caller; // symbol of the function that calls the kernel: void(const void *const *arguments)
  uint32_t parameters = 0;
  uint32_t sharedBytes = 0; // bytes of shared memory before the dynamic part
  uint32_t registers = 0;   // of each thread at the start; 0 if the kernel does not say
  std::array<uint32_t, 3> cluster = {1, 1, 1}; // the blocks of a cluster, by dimension
  std::array<uint32_t, 3> threads = {0, 0, 0}; // the threads with which a launch must start it; 0: any number
};

/// Data to which generated code refers by address. It must outlive the code.
struct Lowered {
  std::deque<Op> ops;
  std::deque<Meet> meets;
  std::map<std::string, KernelFacts> kernels;
};

/// False, with 'error', if the module contains anything that the emulator does not know.
bool lowerModule(llvm::Module &module, Lowered &lowered, std::string &error);
} // namespace logitile::emulator
