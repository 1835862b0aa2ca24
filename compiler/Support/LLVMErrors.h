// LLVMErrors.h - what LLVM does where it cannot go on. No MLIR or LLVM here: the runtime includes
// it.
#pragma once

namespace logitile {
/// LLVM ends the process where there is no memory for it, or where it finds itself in a state that
/// it cannot go on from. After this, it throws std::bad_alloc and std::runtime_error instead.
void letLLVMThrow();
} // namespace logitile
