// MachineCode.cpp - creates code generators and runs LLVM's passes.
#include "compiler/Codegen/MachineCode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
using namespace logitile;

std::unique_ptr<llvm::TargetMachine> logitile::createMachine(const MachineSpec &spec, std::string &error) {
  llvm::Triple triple(spec.triple);
  const llvm::Target *generator = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!generator)
    return nullptr;
  llvm::TargetOptions options;
  if (!spec.fusesProducts)
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(generator->createTargetMachine(triple, spec.cpu, spec.features, options, llvm::Reloc::PIC_,
                                                                             llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

void logitile::optimiseFor(llvm::Module &module, llvm::TargetMachine &machine, const MachineSpec &spec) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
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
  llvm::cantFail(builder.parsePassPipeline(passes, spec.passes));
  passes.run(module, modules);
}

namespace {
/// Passes of the code generators ask it before they run.
class Gate : public llvm::OptPassGate {
public:
  Gate(llvm::Module &module, llvm::ArrayRef<llvm::StringLiteral> leftOut, Cancellation *cancellation)
      : context(module.getContext()), leftOut(leftOut), cancellation(cancellation) {
    context.setOptPassGate(*this);
  }
  ~Gate() override { context.setOptPassGate(llvm::getGlobalPassGate()); }

  /// An exception leaves LLVM as one for want of memory does: passes have nothing half done when
  /// they ask.
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    if (cancellation && cancellation->isRequested())
      throw Cancelled();
    return !llvm::is_contained(leftOut, pass);
  }
  bool isEnabled() const override { return !leftOut.empty() || cancellation; }

private:
  llvm::LLVMContext &context;
  const llvm::ArrayRef<llvm::StringLiteral> leftOut;
  Cancellation *const cancellation;
};
} // namespace

llvm::FailureOr<std::string> logitile::writeCode(llvm::Module &module, const MachineSpec &spec, llvm::CodeGenFileType file,
                                                 std::string &error, Cancellation *cancellation) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(spec, error);
  if (!machine)
    return llvm::failure();
  optimiseFor(module, *machine, spec);
  Gate gate(module, spec.leftOut, cancellation);
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr, file, /*DisableVerify=*/true)) {
    error = "it cannot write this kind of file";
    return llvm::failure();
  }
  emitter.run(module);
  return std::string(code.data(), code.size());
}
