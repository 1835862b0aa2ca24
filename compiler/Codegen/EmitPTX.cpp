// EmitPTX.cpp - LLVM IR to PTX, which the driver assembles, or to the form that the emulator takes.
#include "compiler/Codegen/EmitPTX.h"
#include "compiler/Codegen/EmitLLVM.h"
#include "compiler/Codegen/MachineCode.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
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
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, *module, error);
  FailureOr<std::string> code = machine ? write(*module, *machine, error) : FailureOr<std::string>(failure());
  if (failed(code))
    return device.emitError() << "becomes no code for " << target.canonicalName() << ": " << error;
  return code;
}

/// Fails with 'error' also where the text asks for functions of a library.
static FailureOr<std::string> writePTX(llvm::Module &module, llvm::TargetMachine &machine, std::string &error) {
  FailureOr<std::string> text = writeCode(module, machine, llvm::CodeGenFileType::AssemblyFile, error);
  if (failed(text))
    return failure();
  if (size_t at = text->find(".extern .func"); at != std::string::npos) {
    error = "its PTX asks for a function that no driver has: " + StringRef(*text).substr(at).split('\n').first.str();
    return failure();
  }
  return text;
}

FailureOr<std::string> logitile::emitPTX(ModuleOp device, const Target &target) { return generate(device, target, writePTX); }

FailureOr<std::string> logitile::emitPTX(const std::string &llvmText, std::string &error) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly({llvmText, "llvm"}, problem, context);
  llvm::raw_string_ostream stream(error);
  if (!module) {
    problem.print(nullptr, stream, /*ShowColors=*/false);
    return failure();
  }
  if (llvm::verifyModule(*module, &stream))
    return failure();
  auto *name = llvm::dyn_cast_or_null<llvm::MDString>(module->getModuleFlag(kTargetFlag));
  std::optional<Target> target = name ? Target::parse(name->getString().str()) : std::nullopt;
  if (!target || target->kind == DeviceKind::Cpu) {
    error = "the module has no flag '" + kTargetFlag.str() + "' that names a GPU; PTX is made for one\n";
    return failure();
  }
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(*target, *module, error);
  return machine ? writePTX(*module, *machine, error) : FailureOr<std::string>(failure());
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
