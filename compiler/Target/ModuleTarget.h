// ModuleTarget.h - the target that a module is lowered for: the option of a pass, or what the module's request says.
#pragma once
#include "compiler/Target/Backend.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// The target 'option', or where that is "" the one of the request. Fails with an error at 'module' where there is none.
mlir::FailureOr<std::shared_ptr<const Target>> chooseTarget(mlir::ModuleOp module, llvm::StringRef option = "");
} // namespace logitile
