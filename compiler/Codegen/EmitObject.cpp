// EmitObject.cpp - LLVM IR to machine code for x86-64. Loading it is the runtime's ObjectLoader.
#include "compiler/Codegen/EmitObject.h"
#include "compiler/Codegen/EmitLLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>
using namespace mlir;
using namespace logitile;

/// x86 only, by name: "all targets" would link twenty back ends.
static void initialiseX86() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const CpuTierInfo &tier, std::string &error) {
  initialiseX86();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *x86 = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!x86)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(
      x86->createTargetMachine(triple, llvm::StringRef(tier.llvmCpu), llvm::StringRef(tier.features), llvm::TargetOptions(),
                               llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// The full pipeline of -O2 would unroll the inner loops of microkernels, whose sums then no longer fit the registers.
static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"));
  passes.run(module, modules);
}

static FailureOr<std::string> writeObject(llvm::Module &module, const CpuTierInfo &tier, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(tier, error);
  if (!machine)
    return failure();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  optimise(module, *machine);

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    error = "it cannot write object files";
    return failure();
  }
  emitter.run(module);
  return std::string(object.data(), object.size());
}

FailureOr<std::string> logitile::emitObject(ModuleOp device, const Target &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateToLLVM(device, target, context);
  if (!module)
    return failure();
  std::string error;
  FailureOr<std::string> object = writeObject(*module, getTierInfo(target.tier), error);
  if (failed(object))
    return device.emitError() << "no code generator for x86-64: " << error;
  return object;
}

FailureOr<std::string> logitile::emitObject(const std::string &llvmText, std::string &error) {
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
  return writeObject(*module, getTierInfo(CpuTier::Portable), error); // every function says which CPU it is for
}
