// EmitPTX.cpp - LLVM IR to PTX, which the driver assembles, or to the form that the emulator takes.
#include "compiler/Codegen/EmitPTX.h"
#include "compiler/Codegen/EmitLLVM.h"
#include "compiler/Codegen/MachineCode.h"
#include "compiler/Codegen/SplitCode.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
using namespace mlir;
using namespace logitile;

/// Appends the functions of 'more' to 'text'. Both begin with a head of the same lines, and memory that launches size is
/// declared in both. False where 'more' has no such head.
static bool appendFunctions(std::string &text, StringRef more) {
  constexpr StringLiteral kLastOfHead = ".address_size 64\n", kDeclaration = ".extern .shared";
  auto [head, functions] = more.split(kLastOfHead);
  auto [before, declaration] = functions.split(kDeclaration);
  text += before;
  text += declaration.split('\n').second;
  return head.size() < more.size();
}

/// Fails with 'error' also where the text asks for functions of a library.
static FailureOr<std::string> writePTX(llvm::Module &module, const Target &target, std::string &error, Cancellation *cancellation) {
  FailureOr<std::vector<std::string>> parts = writeParts(module, target, llvm::CodeGenFileType::AssemblyFile, error, cancellation);
  if (failed(parts))
    return failure();
  std::string text = std::move(parts->front());
  for (StringRef part : llvm::drop_begin(*parts))
    if (!appendFunctions(text, part)) {
      error = "a part of its PTX does not begin as PTX does";
      return failure();
    }
  if (size_t at = text.find(".extern .func"); at != std::string::npos) {
    error = "its PTX asks for a function that no driver has: " + StringRef(text).substr(at).split('\n').first.str();
    return failure();
  }
  return text;
}

/// Hands the module to 'write', which fails with a text.
static FailureOr<std::string> generate(ModuleOp device, const Target &target,
                                       function_ref<FailureOr<std::string>(llvm::Module &, const Target &, std::string &)> write) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateToLLVM(device, target, context);
  if (!module)
    return failure();
  std::string error;
  FailureOr<std::string> code = write(*module, target, error);
  if (failed(code))
    return device.emitError() << "becomes no code for " << target.canonicalName() << ": " << error;
  return code;
}

static FailureOr<std::string> writeEmulated(llvm::Module &module, const Target &target, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, module, error);
  if (!machine)
    return failure();
  optimiseFor(module, *machine);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

FailureOr<std::string> logitile::emitPTX(ModuleOp device, const Target &target, Cancellation *cancellation) {
  return generate(device, target, [&](llvm::Module &module, const Target &target, std::string &error) {
    return writePTX(module, target, error, cancellation);
  });
}
FailureOr<std::string> logitile::emitEmulated(ModuleOp device, const Target &target) { return generate(device, target, writeEmulated); }

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
  return writePTX(*module, *target, error, nullptr);
}
