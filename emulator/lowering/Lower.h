// Lower.h - turns a module for NVPTX into one for the host whose GPU instructions are calls into
// the emulator. Program.h runs it.
#pragma once
#include "emulator/core/Instruction.h"
#include <deque>

namespace llvm {
class Module;
} // namespace llvm

namespace logitile::emulator {
/// A kernel of a lowered module.
struct KernelFacts {
  std::string caller; // symbol of void(const void *const *arguments)
  uint32_t parameters = 0;
  uint32_t sharedBytes = 0; // up to where the dynamic part starts
  uint32_t registers = 0;   // that each thread has at the start; 0 where the kernel does not say
  std::array<uint32_t, 3> cluster = {1, 1, 1}; // blocks of a cluster
  std::array<uint32_t, 3> threads = {0, 0, 0}; // that it must be launched with; 0 where any number will do
};

/// What generated code refers to by address; it must outlive the code.
struct Lowered {
  std::deque<Op> ops;
  std::deque<Meet> meets;
  std::map<std::string, KernelFacts> kernels;
};

/// Returns false with 'error' where the module holds something that the emulator does not know.
bool lowerModule(llvm::Module &module, Lowered &lowered, std::string &error);
} // namespace logitile::emulator
