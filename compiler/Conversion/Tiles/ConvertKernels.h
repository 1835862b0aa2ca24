// ConvertKernels.h - the steps of a pass from tiles to device code for each kernel of a module.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// Takes every kernel out of 'module', once 'convert' has made a function of the same name from it.
/// A kernel that runs the code of another one is only taken out. Stops at the first failure.
mlir::LogicalResult convertKernels(mlir::ModuleOp module, llvm::function_ref<mlir::LogicalResult(KernelOp)> convert);
/// Erases what the conversion computed and nothing uses, such as strides and counts.
void eraseDeadOps(mlir::Region &body);
} // namespace logitile
