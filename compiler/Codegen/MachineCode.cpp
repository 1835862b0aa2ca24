// MachineCode.cpp - creates code generators and runs LLVM's passes.
#include "compiler/Codegen/MachineCode.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>
using namespace logitile;

/// Two by name: "all targets" would link twenty back ends.
static void initialiseTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// The first PTX version that has the chip, hints on copies, and arguments as long as those of the functions.
static std::string ptxFeatures(const Target &target, const llvm::Module &module) {
  const llvm::DataLayout &layout = module.getDataLayout();
  bool isLong = llvm::any_of(module, [&](const llvm::Function &function) {
    int64_t bytes = 0;
    for (const llvm::Argument &argument : function.args())
      bytes += layout.getTypeAllocSize(argument.getType());
    return bytes > kParameterBytes;
  });
  if (isLong && target.sm < 100) // those have later versions
    return "+ptx81";
  return target.sm < 89 ? "+ptx74" : "";
}

std::unique_ptr<llvm::TargetMachine> logitile::createMachine(const Target &target, const llvm::Module &module, std::string &error) {
  initialiseTargets();
  bool isCpu = target.kind == DeviceKind::Cpu;
  llvm::Triple triple(isCpu ? "x86_64-unknown-linux-gnu" : "nvptx64-nvidia-cuda");
  const llvm::Target *generator = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!generator)
    return nullptr;
  std::string cpu = isCpu ? std::string(getTierInfo(target.tier).llvmCpu) : "sm_" + std::to_string(target.sm) + target.suffix;
  std::string features = isCpu ? std::string(getTierInfo(target.tier).features) : ptxFeatures(target, module);
  llvm::TargetOptions options;
  if (!isCpu) // else every product of a sum is fused with it, and sums of rounding errors count on each rounding
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(generator->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_,
                                                                             llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// The full pipeline of -O2 would unroll the inner loops of microkernels, whose sums then no longer fit the registers.
void logitile::optimiseFor(llvm::Module &module, llvm::TargetMachine &machine) {
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
  bool isGpu = module.getTargetTriple().isNVPTX(); // places that threads read again and again are computed before loops
  llvm::cantFail(builder.parsePassPipeline(passes, isGpu ? "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
                                                           "loop-mssa(licm))"
                                                         : "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"));
  passes.run(module, modules);
}

namespace {
/// Passes of the code generators ask it before they run. It leaves out three of them on GPUs, by the names that they ask with:
/// - Straight-line strength reduction walks through the whole block for every address. It took nine tenths of the time of a kernel.
/// - Loop strength reduction keeps an address in a register of its own for every access, although a GPU adds a constant for free.
///   That took a fifth of all registers.
/// - Reassociation of sums of several operands took a twentieth of the time, and the PTX is the same without it.
class Gate : public llvm::OptPassGate {
public:
  Gate(llvm::Module &module, Cancellation *cancellation)
      : context(module.getContext()), isGpu(module.getTargetTriple().isNVPTX()), cancellation(cancellation) {
    context.setOptPassGate(*this);
  }
  ~Gate() override { context.setOptPassGate(llvm::getGlobalPassGate()); }

  /// An exception leaves LLVM as one for want of memory does: passes have nothing half done when they ask.
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    if (cancellation && cancellation->isRequested())
      throw Cancelled();
    return !isGpu || (pass != "slsr" && pass != "Loop Strength Reduction" && pass != "nary-reassociate");
  }
  bool isEnabled() const override { return isGpu || cancellation; }

private:
  llvm::LLVMContext &context;
  const bool isGpu;
  Cancellation *const cancellation;
};
} // namespace

llvm::FailureOr<std::string> logitile::writeCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType file,
                                                 std::string &error, Cancellation *cancellation) {
  optimiseFor(module, machine);
  Gate gate(module, cancellation);
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager emitter;
  if (machine.addPassesToEmitFile(emitter, stream, nullptr, file, /*DisableVerify=*/true)) {
    error = "it cannot write this kind of file";
    return llvm::failure();
  }
  emitter.run(module);
  return std::string(code.data(), code.size());
}
