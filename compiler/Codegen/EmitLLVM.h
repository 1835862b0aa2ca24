// EmitLLVM.h - a module of the device stage as LLVM IR.
#pragma once
#include "compiler/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class OpPassManager;
}

namespace logitile {
/// The passes from the device stage to the llvm dialect.
void addDeviceToLLVMPasses(mlir::OpPassManager &passes, const Target &target);

/// Lowers 'device' in place, then translates it. Every function is compiled for 'target'. Null with a diagnostic where
/// something has no translation.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp device, const Target &target, llvm::LLVMContext &context);

/// The flag of a GPU's module that names its target: the text of the llvm stage becomes PTX by itself.
inline constexpr llvm::StringLiteral kTargetFlag = "logitile.target";

/// The text of it, before LLVM's own passes; "" with a diagnostic where that fails.
std::string emitLLVMText(mlir::ModuleOp device, const Target &target);
} // namespace logitile
