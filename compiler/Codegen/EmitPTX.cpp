// EmitPTX.cpp - LLVM IR to PTX. The driver assembles it.
#include "compiler/Codegen/EmitPTX.h"
#include "compiler/Codegen/EmitLLVM.h"
#include "compiler/Codegen/MachineCode.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
using namespace mlir;
using namespace logitile;

FailureOr<std::string> logitile::emitPTX(ModuleOp device, const Target &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateToLLVM(device, target, context);
  if (!module)
    return failure();
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  FailureOr<std::string> text = failure();
  if (machine)
    text = writeCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile, error);
  if (failed(text))
    return device.emitError() << "no code generator for " << target.canonicalName() << ": " << error;
  if (size_t at = text->find(".extern .func"); at != std::string::npos)
    return device.emitError() << "its PTX asks for a function that no driver has: " << StringRef(*text).substr(at).split('\n').first;
  return text;
}
