// EmitPTX.h - a module of the device stage as PTX text for one GPU, and as the LLVM IR that this PTX is made from.
#pragma once
#include "compiler/Cancellation.h"
#include "compiler/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace logitile {
/// The text with one entry for each kernel. Lowers 'device' in place. Fails with a diagnostic, also where the text asks for
/// functions of a library: no driver has them. Throws Cancelled.
mlir::FailureOr<std::string> emitPTX(mlir::ModuleOp device, const Target &target, Cancellation *cancellation = nullptr);

/// The same from the text of the llvm stage. Fails with 'error'.
mlir::FailureOr<std::string> emitPTX(const std::string &llvmText, std::string &error);

/// What the emulator runs: LLVM IR, optimised as for PTX. Lowers 'device' in place. Fails with a diagnostic.
mlir::FailureOr<std::string> emitEmulated(mlir::ModuleOp device, const Target &target);
} // namespace logitile
