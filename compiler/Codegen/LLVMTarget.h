// LLVMTarget.h - targets whose code comes from LLVM IR: the device stage becomes LLVM IR, and LLVM
// IR becomes code.
#pragma once
#include "compiler/Codegen/MachineCode.h"
#include "compiler/Target/Target.h"
#include "compiler/Trace/StageTrace.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class LLVMContext;
}

namespace logitile {
/// The interface of targets whose code LLVM generates. A derived class says what is specific to the
/// LLVM IR of its functions, and which kind of code is written.
class LLVMTarget : public Target {
public:
  using Target::Target;
  const LLVMTarget *asLLVM() const final { return this; }
  /// How LLVM makes code for functions of 'module'.
  virtual MachineSpec machineSpec(const llvm::Module &module) const = 0;

  /// Code for 'device'. It also fails if LLVM cannot generate code for an operation in 'device'.
  llvm::FailureOr<std::string> emitCode(mlir::ModuleOp device, Cancellation *cancellation) const final;
  /// The text of the stage `llvm`, before LLVM's own passes. Lowers 'device' in place. "" with a
  /// diagnostic where that fails.
  std::string emitText(mlir::ModuleOp device) const;
  /// Appends the stage `llvm` and the stage of the code to 'stages'. Each of their lines has the
  /// lines that it was made from. traceModule must have traced 'device' before: then the locations
  /// in 'device' are lines of its own text. Lowers 'device' in place. Fails with a diagnostic.
  llvm::LogicalResult traceCode(mlir::ModuleOp device, std::vector<TracedStage> &stages) const;
  /// Code from the text of the stage `llvm`. Fails with 'error'.
  static llvm::FailureOr<std::string> emitCode(const std::string &llvmText, Stage stage, std::string &error);

protected:
  /// Passes that follow the conversion to the llvm dialect.
  virtual void addLLVMPasses(mlir::OpPassManager &) const {}
  /// Sets the attributes of a module and its functions that state the target.
  virtual void prepare(llvm::Module &module) const = 0;
  /// Fails with 'error'; throws Cancelled.
  virtual llvm::FailureOr<std::string> writeCode(llvm::Module &module, std::string &error, Cancellation *cancellation) const = 0;

private:
  std::unique_ptr<llvm::Module> translate(mlir::ModuleOp device, llvm::LLVMContext &context, bool keepsLines = false) const;
};
} // namespace logitile
