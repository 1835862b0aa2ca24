// EmitObject.h - a module of the device stage as a host object file.
#pragma once
#include "compiler/Target.h"
#include "llvm/Support/LogicalResult.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace logitile {
/// The bytes of an object file with one function for each kernel. Lowers 'device' in place. Fails with a diagnostic.
mlir::FailureOr<std::string> emitObject(mlir::ModuleOp device, const Target &target);
} // namespace logitile
