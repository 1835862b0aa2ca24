// GPUTarget.cpp - facts of GPUs, their passes, and how LLVM makes their code.
#include "compiler/Backends/NVPTX/GPUTarget.h"
#include "compiler/Backends/NVPTX/Cost.h"
#include "compiler/Backends/NVPTX/KernelWork.h"
#include "compiler/Backends/NVPTX/OperationPlaces.h"
#include "compiler/Backends/NVPTX/PTX.h"
#include "compiler/Backends/NVPTX/Passes.h"
#include "compiler/Backends/NVPTX/Sharing.h"
#include "compiler/Backends/NVPTX/UncheckedOps.h"
#include "compiler/Passes.h"
#include "compiler/Schedule/TileTable.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>
using namespace mlir;
using namespace logitile;
using namespace logitile::cuda;

static constexpr std::string_view kPrefix = "cuda", kEmulatorPrefix = "emu";
static constexpr char kTileTable[] =
#include "compiler/Backends/NVPTX/tiles.json.inc"
    ;

const GPUTarget *GPUTarget::from(const Target &target) {
  bool isGpu = target.backend.prefix() == kPrefix || target.backend.prefix() == kEmulatorPrefix;
  return isGpu ? static_cast<const GPUTarget *>(&target) : nullptr;
}

TargetFacts GPUTarget::facts() const {
  TargetFacts facts;
  facts.memory.rowAlignment = cuda::kVectorBytes;
  facts.sharesHostMemory = false;
  facts.math.hasApproximateExp2 = true;
  facts.hasCheapCalls = false;
  facts.multipliesBF16 = facts.multipliesF16 = true;
  facts.makesLists = true;
  facts.storesFactoredGradients = true;
  facts.hasFixedTiles = true; // tensor cores cut tiles of these sizes only
  if (hasWarpgroups()) {
    facts.mostWeightRows = 128; // with 256 hidden entries, their sums fill the registers of a thread
    facts.largestCluster = kBlocksOfPair;
  }
  return facts;
}

TileList GPUTarget::tileTable() const { return {"compiler/Backends/NVPTX/tiles.json", kTileTable, gpu.architecture()}; }

/// Tensor cores take 16 x 16 x 16 at a time, and a warp copies 32 entries.
std::string GPUTarget::refuseTiles(const TileSizes &sizes) const {
  std::string reason = refuseUnlessMultiples(*this, sizes, {"TM", "TN", "TD"}, 32);
  return reason.empty() ? refuseUnlessMultiples(*this, sizes, {"TKproject", "TKhidden", "TKweight"}, 16) : reason;
}

Machine GPUTarget::machine(int64_t) const { return getMachine(gpu); }

std::vector<std::pair<std::string_view, double>> GPUTarget::chipFigures() const {
  const GpuChip &chip = *gpu.chip;
  const Machine reached = getMachine(gpu);
  return {{"multiprocessors", chip.multiprocessors},
          {"hertz", chip.hertz},
          {"shared_bytes", gpu.info().sharedBytes},
          {"cache_bytes", chip.cacheBytes},
          {"memory_rate", chip.memoryRate},
          {"tensor_rate", chip.tensorRate},
          {"library_rate", chip.libraryShare * chip.tensorRate},
          {"reached_memory_rate", reached.memoryRate},
          {"launch_seconds", reached.launchSeconds}};
}

/// Source of the bound: NVIDIA, "Parallel Thread Execution ISA", ex2.approx.ftz.f32.
Value GPUTarget::approximateExp2(ImplicitLocOpBuilder &b, Value x) const {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), ValueRange{x}).getResult(0);
}

void GPUTarget::addDevicePasses(OpPassManager &passes) const {
  passes.addPass(createConvertTilesToCUDAPass());
  passes.addPass(createExpandMathPass());
}

KernelWork GPUTarget::predictWork(KernelOp kernel) const { return logitile::predictWork(kernel, gpu.info()); }

// ---- LLVM IR ------------------------------------------------------------------------------------

/// The first PTX version that has the chip, hints on copies, and arguments as long as those of the
/// functions.
static std::string ptxFeatures(int sm, const llvm::Module &module) {
  const llvm::DataLayout &layout = module.getDataLayout();
  bool isLong = llvm::any_of(module, [&](const llvm::Function &function) {
    int64_t bytes = 0;
    for (const llvm::Argument &argument : function.args())
      bytes += layout.getTypeAllocSize(argument.hasByValAttr() ? argument.getParamByValType() : argument.getType());
    return bytes > kParameterBytes;
  });
  if (isLong && sm < 100) // those have later versions
    return "+ptx81";
  return sm < 89 ? "+ptx74" : "";
}

MachineSpec GPUTarget::machineSpec(const llvm::Module &module) const {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  // Straight-line strength reduction walks through the whole block for every address. It took nine
  // tenths of the time of a kernel. Loop strength reduction keeps an address in a register of its
  // own for every access, although a GPU adds a constant for free. That took a fifth of all
  // registers.
  // Reassociation of sums of several operands took a twentieth of the time, and the vectoriser of
  // loads and stores an eighth. The PTX is the same without them.
  static constexpr llvm::StringLiteral kLeftOut[] = {"slsr", "Loop Strength Reduction", "nary-reassociate", "load-store-vectorizer"};
  MachineSpec spec;
  spec.triple = "nvptx64-nvidia-cuda";
  spec.cpu = gpu.architecture();
  spec.features = ptxFeatures(gpu.info().sm, module);
  spec.fusesProducts = false; // else every product of a sum is fused with it, and sums of rounding errors count on each rounding
  // Places that threads read again and again are computed before loops.
  spec.passes = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm))";
  spec.leftOut = kLeftOut;
  return spec;
}

static bool isProduct(const llvm::CallInst &call) {
  const llvm::Function *function = call.getCalledFunction();
  return function && function->getName().starts_with("llvm.nvvm.mma.");
}

/// Inline PTX may be an instruction of a whole warp, as products of tensor cores are: no pass may
/// make its execution depend on more conditions.
static void keepInPlace(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && (call->isInlineAsm() || isProduct(*call))) {
        call->setConvergent();
        call->setDoesNotThrow();
      }
}

void GPUTarget::prepare(llvm::Module &module) const {
  module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  keepInPlace(module);
}

FailureOr<std::string> GPUTarget::writeCode(llvm::Module &module, std::string &error, Cancellation *cancellation) const {
  return writePTX(module, machineSpec(module), error, cancellation);
}

/// Products of warpgroups are no intrinsics of LLVM: they become inline PTX.
void GPUTarget::addLLVMPasses(OpPassManager &passes) const {
  if (gpu.info().hasOwnInstructions)
    passes.addPass(createConvertNVVMToLLVMPass());
}

void EmulatedTarget::addLLVMPasses(OpPassManager &passes) const {
  GPUTarget::addLLVMPasses(passes);
  addOperationPlaces(passes); // its reports name them
}

FailureOr<std::string> EmulatedTarget::writeCode(llvm::Module &module, std::string &error, Cancellation *) const {
  MachineSpec spec = machineSpec(module);
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(spec, error);
  if (!machine)
    return failure();
  optimiseFor(module, *machine, spec);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

// ---- backends -----------------------------------------------------------------------------------

namespace {
template <typename TargetOfGpu>
class GPUBackend : public Backend {
public:
  explicit GPUBackend(std::string_view prefix) : name(prefix) {}
  std::string_view prefix() const override { return name; }
  std::string_view kind() const override { return kPrefix; }
  std::string listFeatures() const override { return listGpus(); }
  std::shared_ptr<const Target> parse(std::string_view features) const override {
    std::optional<Gpu> gpu = Gpu::parse(features);
    return gpu ? std::make_shared<TargetOfGpu>(*this, *gpu) : nullptr;
  }
  void registerDialects(DialectRegistry &registry) const override { registerNVVMDialectTranslation(registry); }
  LogicalResult checkParsed(Operation *op) const override { return cuda::checkParsed(op); }
  void registerPasses() const override { registerLogitileNVPTXPasses(); }

private:
  const std::string_view name;
};
} // namespace

std::unique_ptr<Backend> cuda::makeBackend() { return std::make_unique<GPUBackend<GPUTarget>>(kPrefix); }
std::unique_ptr<Backend> cuda::makeEmulatorBackend() { return std::make_unique<GPUBackend<EmulatedTarget>>(kEmulatorPrefix); }
