// CPUTarget.cpp - properties of CPUs, their passes, and the attributes of every function for its
// CPU.
#include "compiler/Backends/CPU/CPUTarget.h"
#include "compiler/Backends/CPU/Cost.h"
#include "compiler/Backends/CPU/Object.h"
#include "compiler/Backends/CPU/Passes.h"
#include "compiler/Passes.h"
#include "compiler/Schedule/FewTokens.h"
#include "compiler/Schedule/TileTable.h"
#include "compiler/Target/Products.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include <mutex>
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

static constexpr std::string_view kPrefix = "cpu";
static constexpr char kTileTable[] =
#include "compiler/Backends/CPU/tiles.json.inc"
    ;

const CPUTarget *CPUTarget::from(const Target &target) {
  return target.backend.prefix() == kPrefix ? static_cast<const CPUTarget *>(&target) : nullptr;
}

std::string CPUTarget::features() const { return std::string(getTierInfo(tier).name); }

TargetFacts CPUTarget::facts() const {
  const CpuTierInfo &info = getTierInfo(tier);
  TargetFacts facts;
  facts.packsOperands = facts.tokensAreLanes = facts.isFilledByOneVocabSplit = true;
  facts.memory.panelWidth = info.panelWidth();
  facts.multipliesBF16 = info.hasBf16Dot;
  facts.registerRows = info.tileRows;
  // A panel of tokens costs the same for one token as for all of its lanes, dot products as much as
  // there are tokens. Tile registers are that much faster than vectors.
  facts.mostFewTokens = info.panelWidth() * 3 / 2;
  facts.mostFewTokensOfBF16 = info.hasAmxTiles ? info.panelWidth() / 4 : facts.mostFewTokens;
  facts.isSlowWithSubnormals = facts.makesLists = true;
  facts.math = {info.hasFma, tier != CpuTier::Portable};
  return facts;
}

TileList CPUTarget::tileTable() const {
  CpuTier of = tier == CpuTier::AmxBf16Emulated ? CpuTier::AmxBf16 : tier;
  return {"compiler/Backends/CPU/tiles.json", kTileTable, std::string(getTierInfo(of).name)};
}

/// Panels lie along tokens and hidden entries.
std::string CPUTarget::refuseTiles(const TileSizes &sizes) const {
  return refuseUnlessMultiples(*this, sizes, {"TM", "TD"}, getTierInfo(tier).panelWidth());
}

Machine CPUTarget::machine(int64_t threads) const { return getMachine(tier, threads); }

/// Panels, unless they would be mostly empty: few tokens are multiplied by rows, and so is a
/// vocabulary that one rank update takes whole.
Algorithm CPUTarget::productAlgorithm(const Product &product) const {
  const CpuTierInfo &info = getTierInfo(tier);
  if (product.kind == ProductKind::Logits && product.hasFewTokens)
    return Algorithm::DotProducts;
  if (product.kind == ProductKind::HiddenGradient && (product.hasFewTokens || product.entries <= kUpdateRows))
    return Algorithm::RankUpdates;
  bool isBF16 = llvm::all_of(product.operands, [](Type operand) { return operand.isBF16(); });
  return info.hasAmxTiles && isBF16 ? Algorithm::AmxTiles : Algorithm::Panels;
}

int64_t CPUTarget::productDepth(Algorithm algorithm, int64_t steps) const {
  return algorithm == Algorithm::RankUpdates ? kUpdateRows : steps;
}

/// AVX-512 has it on 16 lanes.
Value CPUTarget::scaleByPowerOf2(ImplicitLocOpBuilder &b, Value x, Value power) const {
  auto vector = dyn_cast<VectorType>(x.getType());
  if (tier < CpuTier::Avx512 || !vector || vector.getNumElements() != 16)
    return Value();
  Value all = arith::ConstantOp::create(b, b.getI16IntegerAttr(-1)), nearest = arith::ConstantOp::create(b, b.getI32IntegerAttr(4));
  StringAttr instruction = b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512");
  return LLVM::CallIntrinsicOp::create(b, vector, instruction, ValueRange{x, power, x, all, nearest}).getResult(0);
}

void CPUTarget::addDevicePasses(OpPassManager &passes) const {
  passes.addPass(createConvertTilesToCPUPass());
  passes.addPass(createExpandMathPass()); // after the conversion: approximations are vector code
  passes.addPass(createCutBlocksPass());  // last: it counts the ops that code is generated for
}

MachineSpec CPUTarget::machineSpec(const llvm::Module &) const {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  const CpuTierInfo &info = getTierInfo(tier);
  MachineSpec spec;
  spec.triple = "x86_64-unknown-linux-gnu";
  spec.cpu = info.llvmCpu;
  spec.features = info.features;
  // The full pipeline of -O2 would unroll the inner loops of microkernels, whose sums then no
  // longer fit the registers.
  spec.passes = "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";
  return spec;
}

/// Functions in the place of the instructions on tiles, with their arguments: "llvm.x86.tilezero"
/// becomes "logitile_tilezero". They are runtime/cpu/EmulatedTiles.cpp.
static void emulateTiles(llvm::Module &module) {
  for (llvm::StringRef name : {"ldtilecfg", "tilerelease", "tilezero", "tileloadd64", "tilestored64", "tdpbf16ps"}) {
    llvm::Function *instruction = module.getFunction(("llvm.x86." + name).str());
    if (!instruction)
      continue;
    llvm::FunctionCallee function = module.getOrInsertFunction(("logitile_" + name).str(), instruction->getFunctionType());
    for (llvm::User *user : llvm::make_early_inc_range(instruction->users())) {
      auto *call = llvm::cast<llvm::CallInst>(user);
      call->setAttributes({});
      call->setCalledFunction(function);
    }
    instruction->eraseFromParent();
  }
}

void CPUTarget::prepare(llvm::Module &module) const {
  const CpuTierInfo &info = getTierInfo(tier);
  if (tier == CpuTier::AmxBf16Emulated)
    emulateTiles(module);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", llvm::StringRef(info.llvmCpu));
    function.addFnAttr("target-features", llvm::StringRef(info.features));
    function.addFnAttr("prefer-vector-width", std::to_string(info.lanes * 32));
  }
}

FailureOr<std::string> CPUTarget::writeCode(llvm::Module &module, std::string &error, Cancellation *cancellation) const {
  return writeObjects(module, machineSpec(module), error, cancellation);
}

namespace {
class CPUBackend : public Backend {
public:
  std::string_view prefix() const override { return kPrefix; }
  std::string listFeatures() const override { return listTiers(); }
  std::shared_ptr<const Target> parse(std::string_view features) const override {
    std::optional<CpuTier> tier = parseTier(features);
    return tier ? std::make_shared<CPUTarget>(*this, *tier) : nullptr;
  }
  void registerPasses() const override { registerLogitileCPUPasses(); }
};
} // namespace

std::unique_ptr<Backend> cpu::makeBackend() { return std::make_unique<CPUBackend>(); }
