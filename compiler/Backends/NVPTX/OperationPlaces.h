// OperationPlaces.h - debug information for the emulator: the operation on tiles from which an
// instruction comes, and the line of that operation.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace logitile::cuda {
/// Adds a pass that gives functions of the llvm dialect debug information. There, each operation on
/// tiles looks like a function that was inlined into the kernel. The location in that function is
/// the line of the operation; the location of the call is the launch, or the line of the loss.
void addOperationPlaces(mlir::OpPassManager &passes);
} // namespace logitile::cuda
