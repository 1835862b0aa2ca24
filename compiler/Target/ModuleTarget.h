// ModuleTarget.h - the target for which a module is lowered: from the option of a pass, or from the
// module's request. Also the measured rates of a machine, for predicted seconds.
#pragma once
#include "compiler/Target/Backend.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// The target 'option', or where that is "" the one of the request. Fails with an error at 'module'
/// where there is none.
mlir::FailureOr<std::shared_ptr<const Target>> chooseTarget(mlir::ModuleOp module, llvm::StringRef option = "");

/// Leaves rates on a module for choose-schedule, which predicts seconds by them. They change no
/// schedule: plans are the same on all machines of a target.
void setUnitRates(mlir::ModuleOp module, const UnitRates &rates);
/// All 0 where the module has none.
UnitRates getUnitRates(mlir::ModuleOp module);
} // namespace logitile
