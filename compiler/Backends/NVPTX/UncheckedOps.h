// UncheckedOps.h - checks of parsed ops of nvvm, for what verifiers and LLVM rely on.
#pragma once
#include "mlir/IR/Operation.h"

namespace logitile::cuda {
/// Fails with an error at an op that they would not survive (Backend::checkParsed).
mlir::LogicalResult checkParsed(mlir::Operation *op);
} // namespace logitile::cuda
