// Kernel.h - one task of a kernel of the stage `tiles`, run on the memory that its arguments point
// to.
#pragma once
#include "dialect/Logitile.h"

namespace logitile::interpreter {
/// An error at the first operation of 'kernel' that runTask does not know.
llvm::LogicalResult checkKernel(KernelOp kernel);
/// 'arguments' are words as KernelPlan packs them; tasks count through the grid with the last axis
/// fastest.
void runTask(KernelOp kernel, const int64_t *arguments, int64_t task);
} // namespace logitile::interpreter
