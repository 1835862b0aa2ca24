// LLVMErrors.h - what happens when LLVM meets an error that it cannot return. No MLIR or LLVM here,
// because the runtime includes this file.
#pragma once

namespace logitile {
/// Normally LLVM ends the process if it is out of memory or if it meets a fatal error. After a call
/// of this function, it throws std::bad_alloc or std::runtime_error instead.
void letLLVMThrow();
} // namespace logitile
