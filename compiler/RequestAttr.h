// RequestAttr.h - a request as an attribute of the module that is compiled.
#pragma once
#include "compiler/Compile.h"
#include "dialect/Logitile.h"

namespace logitile {
/// The request as an attribute, without the text of the loss: that is the module itself. Null, with
/// an error of 'emitError', if the attribute cannot have these values.
RequestAttr makeRequestAttr(mlir::MLIRContext *context, const CompileRequest &request,
                            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
} // namespace logitile
