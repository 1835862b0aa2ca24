// InterpreterTarget.cpp - facts and code. Most facts are those of a plain processor that reads the
// memory of the host.
#include "test/backends/interpreter/InterpreterTarget.h"
#include "compiler/Plan/LaunchPlan.h"
#include "compiler/Schedule/TileTable.h"
#include "mlir/Pass/PassManager.h"
#include "test/backends/interpreter/Kernel.h"
using namespace mlir;

namespace logitile::interpreter {
namespace {
/// Small tiles, so that small calls have several of them on each axis.
constexpr char kTiles[] = R"({"scalar": [{"values": 4, "TM": 8, "TN": 16, "TD": 8, "TKproject": 8, "TKhidden": 16, "TKweight": 8}]})";

class InterpreterTarget : public Target {
public:
  InterpreterTarget(const Backend &backend, bool hasFixedTiles) : Target(backend), hasFixedTiles(hasFixedTiles) {}
  std::string features() const override { return std::string(hasFixedTiles ? kFixedFeatures : kFeatures); }
  TargetFacts facts() const override {
    TargetFacts facts;
    facts.hasFixedTiles = hasFixedTiles;
    return facts;
  }
  TileList tileTable() const override { return {"the interpreter's table", kTiles, std::string(kFeatures)}; }
  std::string refuseTiles(const TileSizes &) const override { return ""; }
  /// A core does a hundred million operations a second. With fixed tiles there are sixteen.
  Machine machine(int64_t) const override {
    Machine machine;
    machine.units = hasFixedTiles ? 16 : 1;
    machine.flops = machine.memoryRate = machine.nearRate = machine.farRate = 1e8 * static_cast<double>(machine.units);
    machine.nearBytes = machine.farBytes = int64_t(1) << 20;
    return machine;
  }

  void addDevicePasses(OpPassManager &) const override {} // kernels stay as they are
  Stage codeStage() const override { return Stage::Device; }
  FailureOr<std::string> emitCode(ModuleOp device, Cancellation *) const override {
    for (KernelOp kernel : device.getOps<KernelOp>())
      if (failed(checkKernel(kernel)))
        return failure();
    std::string text;
    llvm::raw_string_ostream(text) << device;
    return text;
  }

private:
  const bool hasFixedTiles;
};

class InterpreterBackend : public Backend {
public:
  std::string_view prefix() const override { return kPrefix; }
  std::string listFeatures() const override { return std::string(kFeatures) + ", " + std::string(kFixedFeatures); }
  std::shared_ptr<const Target> parse(std::string_view features) const override {
    bool isFixed = features == kFixedFeatures;
    return isFixed || features == kFeatures ? std::make_shared<InterpreterTarget>(*this, isFixed) : nullptr;
  }
};
} // namespace

std::unique_ptr<Backend> makeBackend() { return std::make_unique<InterpreterBackend>(); }
} // namespace logitile::interpreter
