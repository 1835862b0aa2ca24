// EmitLLVM.cpp - translation to LLVM IR and what every function states about its CPU. Machine code is EmitObject.cpp.
#include "compiler/Codegen/EmitLLVM.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
using namespace mlir;
using namespace logitile;

void logitile::addDeviceToLLVMPasses(OpPassManager &passes, const Target &target) {
  ExpandMathPassOptions options;
  if (target.kind == DeviceKind::Cpu)
    options.tier = tierOption(target.tier);
  passes.addPass(createExpandMathPass(options));
  passes.addPass(createConvertDeviceToLLVMPass());
}

static bool isProduct(const llvm::CallInst &call) {
  const llvm::Function *function = call.getCalledFunction();
  return function && function->getName().starts_with("llvm.nvvm.mma.");
}

/// Inline PTX may be an instruction of a whole warp, as products of tensor cores are: no pass may make its execution depend on
/// more conditions.
static void keepInPlace(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && (call->isInlineAsm() || isProduct(*call))) {
        call->setConvergent();
        call->setDoesNotThrow();
      }
}

std::unique_ptr<llvm::Module> logitile::translateToLLVM(ModuleOp device, const Target &target, llvm::LLVMContext &context) {
  PassManager passes(device.getContext());
  passes.enableVerifier(false); // the passes are tested with it; here it would cost a tenth of the compile time
  addDeviceToLLVMPasses(passes, target);
  if (target.kind == DeviceKind::Emulator) // its reports name lines
    passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  if (failed(passes.run(device)))
    return nullptr;
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  device.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(device, context, device.getSymName().value_or("logitile"));
  if (!module)
    return nullptr;
  if (target.kind != DeviceKind::Cpu) {
    module->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
    module->addModuleFlag(llvm::Module::Error, kTargetFlag, llvm::MDString::get(context, target.canonicalName()));
    keepInPlace(*module);
  }
  for (llvm::Function &function : *module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (target.kind != DeviceKind::Cpu)
      continue;
    const CpuTierInfo &tier = getTierInfo(target.tier);
    function.addFnAttr("target-cpu", llvm::StringRef(tier.llvmCpu));
    function.addFnAttr("target-features", llvm::StringRef(tier.features));
    function.addFnAttr("prefer-vector-width", std::to_string(tier.lanes * 32));
  }
  return module;
}

std::string logitile::emitLLVMText(ModuleOp device, const Target &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateToLLVM(device, target, context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module)
    module->print(stream, nullptr);
  return text;
}
