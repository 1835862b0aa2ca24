// ConvertKernels.h - the steps of a pass from tiles to device code for each kernel of a module.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// Calls 'convert' for every kernel of 'module', which makes a function of the same name, then
/// removes the kernel. A kernel that runs the code of another kernel is removed only. Stops at the
/// first failure.
mlir::LogicalResult convertKernels(mlir::ModuleOp module, llvm::function_ref<mlir::LogicalResult(KernelOp)> convert);
/// Erases ops that the conversion created and whose results nothing uses, such as strides and
/// counts.
void eraseDeadOps(mlir::Region &body);
} // namespace logitile
