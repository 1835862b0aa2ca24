// LLVMErrors.h - what happens when LLVM meets an error that it cannot return. No MLIR or LLVM here,
// because the runtime includes this file.
#pragma once

namespace logitile {
/// LLVM ends the process where there is no memory for it, or where it finds itself in a state that
/// it cannot go on from. After this, it throws std::bad_alloc and std::runtime_error instead.
void letLLVMThrow();
} // namespace logitile
