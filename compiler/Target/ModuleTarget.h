// ModuleTarget.h - the target for which a module is lowered: from the option of a pass, or from the
// module's request. Also the measured rates of a machine, for predicted seconds.
#pragma once
#include "compiler/Target/Backend.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// The target called 'option', or the target of the module's request if 'option' is "". Fails with
/// an error at 'module' if there is no such target.
mlir::FailureOr<std::shared_ptr<const Target>> chooseTarget(mlir::ModuleOp module, llvm::StringRef option = "");

/// Attaches measured rates to a module. choose-schedule predicts seconds with them. They do not
/// influence the choice of a schedule: plans are the same on all machines of a target.
void setUnitRates(mlir::ModuleOp module, const UnitRates &rates);
/// The measured rates of a module; all are 0 if it has none.
UnitRates getUnitRates(mlir::ModuleOp module);
} // namespace logitile
