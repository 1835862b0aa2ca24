// EmitLLVM.h - a module of the device stage as LLVM IR.
#pragma once
#include "compiler/Target.h"
#include "mlir/IR/BuiltinOps.h"
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

/// The text of it, before LLVM's own passes; "" with a diagnostic where that fails.
std::string emitLLVMText(mlir::ModuleOp device, const Target &target);
} // namespace logitile
