// OperationPlaces.h - debug information for the emulator: the operation on tiles from which an
// instruction comes, and the line of that operation.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace logitile::cuda {
/// Functions of the llvm dialect get debug information in which each operation on tiles is a
/// function that was inlined into the kernel. Where the operation was written is the place in it;
/// the launch, or the loss, is the place of its call.
void addOperationPlaces(mlir::OpPassManager &passes);
} // namespace logitile::cuda
