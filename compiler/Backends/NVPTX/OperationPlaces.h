// OperationPlaces.h - what debug information tells the emulator about an instruction: the operation
// on tiles that it comes from, and that operation's line.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace logitile::cuda {
/// Functions of the llvm dialect get debug information in which each operation on tiles is a
/// function that was inlined into the kernel. Where the operation was written is the place in it;
/// the launch, or the loss, is the place of its call.
void addOperationPlaces(mlir::OpPassManager &passes);
} // namespace logitile::cuda
