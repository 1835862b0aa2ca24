// RequestAttr.h - a request as an attribute of the module that is compiled.
#pragma once
#include "compiler/Compile.h"
#include "dialect/Logitile.h"

namespace logitile {
/// The text of the loss is left out: it is the module itself. Null, with an error of 'emitError',
/// where the attribute cannot have such values.
RequestAttr makeRequestAttr(mlir::MLIRContext *context, const CompileRequest &request,
                            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
} // namespace logitile
