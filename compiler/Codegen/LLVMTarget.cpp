// LLVMTarget.cpp - translation to LLVM IR, and what every module of LLVM IR states.
#include "compiler/Codegen/LLVMTarget.h"
#include "compiler/Passes.h"
#include "compiler/Target/Backend.h"
#include "compiler/Trace/CodeLines.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
using namespace mlir;
using namespace logitile;

/// The flag of a module that names its target: the text of the llvm stage becomes code by itself.
static constexpr llvm::StringLiteral kTargetFlag = "logitile.target";

std::unique_ptr<llvm::Module> LLVMTarget::translate(ModuleOp device, llvm::LLVMContext &context, bool keepsLines) const {
  PassManager passes(device.getContext());
  passes.enableVerifier(false); // the passes are tested with it; here it would cost a tenth of the compile time
  ExpandMathPassOptions options;
  options.target = name();
  passes.addPass(createExpandMathPass(options));
  passes.addPass(createConvertDeviceToLLVMPass());
  if (keepsLines)
    passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass({LLVM::DIEmissionKind::DebugDirectivesOnly}));
  addLLVMPasses(passes);
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  backend.registerDialects(registry);
  device.getContext()->appendDialectRegistry(registry); // before the passes: ops that have a translation are not converted
  if (failed(passes.run(device)))
    return nullptr;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(device, context, device.getSymName().value_or("logitile"));
  if (!module)
    return nullptr;
  module->addModuleFlag(llvm::Module::Error, kTargetFlag, llvm::MDString::get(context, name()));
  for (llvm::Function &function : *module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::NoUnwind);
  prepare(*module);
  return module;
}

FailureOr<std::string> LLVMTarget::emitCode(ModuleOp device, Cancellation *cancellation) const {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translate(device, context);
  if (!module)
    return failure();
  std::string error;
  FailureOr<std::string> code = writeCode(*module, error, cancellation);
  if (failed(code))
    return device.emitError() << "becomes no code for " << name() << ": " << error;
  return code;
}

std::string LLVMTarget::emitText(ModuleOp device) const {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translate(device, context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module)
    module->print(stream, nullptr);
  return text;
}

LogicalResult LLVMTarget::traceCode(ModuleOp device, std::vector<TracedStage> &stages) const {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translate(device, context, /*keepsLines=*/true);
  if (!module)
    return failure();
  stages.push_back(traceInstructions(*module, std::string(stageName(Stage::Device))));
  std::string error, name(codeStage() == Stage::Obj ? "asm" : stageName(codeStage()));
  FailureOr<std::string> assembly = logitile::writeCode(*module, machineSpec(*module), llvm::CodeGenFileType::AssemblyFile, error);
  if (failed(assembly))
    return device.emitError() << "becomes no code for " << this->name() << ": " << error;
  stages.push_back(traceAssembly(*module, *assembly, name));
  return success();
}

FailureOr<std::string> LLVMTarget::emitCode(const std::string &llvmText, Stage stage, std::string &error) {
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
  if (!name) {
    error = "the module has no flag '" + kTargetFlag.str() + "', which names the target that code is made for\n";
    return failure();
  }
  std::string reason;
  std::shared_ptr<const Target> target = findTarget(name->getString(), reason);
  const LLVMTarget *llvmTarget = target ? target->asLLVM() : nullptr;
  if (!llvmTarget || stage != target->codeStage()) {
    error = !target ? reason + "\n" : "the module is for '" + target->name() + "', which has no stage '" + std::string(stageName(stage)) + "'\n";
    return failure();
  }
  return llvmTarget->writeCode(*module, error, nullptr);
}
