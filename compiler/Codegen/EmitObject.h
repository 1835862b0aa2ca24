// EmitObject.h - a module of the device stage, or the text of the llvm stage, as object files of the host.
#pragma once
#include "compiler/Cancellation.h"
#include "compiler/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace logitile {
/// The bytes of an object file with one function for each kernel; of a module with much code, of an archive of object files
/// that belong together. Lowers 'device' in place. Fails with a diagnostic; throws Cancelled.
mlir::FailureOr<std::string> emitObject(mlir::ModuleOp device, const Target &target, Cancellation *cancellation = nullptr);

/// The same from the text of the llvm stage. Fails with 'error'.
mlir::FailureOr<std::string> emitObject(const std::string &llvmText, std::string &error);
} // namespace logitile
