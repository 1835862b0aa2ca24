// EmitPTX.cpp - LLVM IR to PTX, which the driver assembles, or to the form that the emulator takes.
#include "compiler/Codegen/EmitPTX.h"
#include "compiler/Codegen/EmitLLVM.h"
#include "compiler/Codegen/MachineCode.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
using namespace mlir;
using namespace logitile;

/// Hands the module and the code generator to 'write', which fails with a text.
static FailureOr<std::string> generate(ModuleOp device, const Target &target,
                                       function_ref<FailureOr<std::string>(llvm::Module &, llvm::TargetMachine &, std::string &)> write) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateToLLVM(device, target, context);
  if (!module)
    return failure();
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  FailureOr<std::string> code = machine ? write(*module, *machine, error) : FailureOr<std::string>(failure());
  if (failed(code))
    return device.emitError() << "no code generator for " << target.canonicalName() << ": " << error;
  return code;
}

FailureOr<std::string> logitile::emitPTX(ModuleOp device, const Target &target) {
  FailureOr<std::string> text = generate(device, target, [](llvm::Module &module, llvm::TargetMachine &machine, std::string &error) {
    return writeCode(module, machine, llvm::CodeGenFileType::AssemblyFile, error);
  });
  if (failed(text))
    return failure();
  if (size_t at = text->find(".extern .func"); at != std::string::npos)
    return device.emitError() << "its PTX asks for a function that no driver has: " << StringRef(*text).substr(at).split('\n').first;
  return text;
}

FailureOr<std::string> logitile::emitEmulated(ModuleOp device, const Target &target) {
  return generate(device, target, [](llvm::Module &module, llvm::TargetMachine &machine, std::string &) -> FailureOr<std::string> {
    optimiseFor(module, machine);
    std::string bitcode;
    llvm::raw_string_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(module, stream);
    return bitcode;
  });
}
