// CPUTarget.h - x86-64 CPUs as a target of the compiler.
#pragma once
#include "compiler/Backends/CPU/Tier.h"
#include "compiler/Codegen/LLVMTarget.h"
#include "compiler/Target/Backend.h"

namespace logitile::cpu {
class CPUTarget : public LLVMTarget {
public:
  CPUTarget(const Backend &backend, CpuTier tier) : LLVMTarget(backend), tier(tier) {}
  /// 'target' as a CPU target; null if it is no CPU.
  static const CPUTarget *from(const Target &target);

  std::string features() const override;
  TargetFacts facts() const override;
  TileList tileTable() const override;
  std::string refuseTiles(const TileSizes &sizes) const override;
  Machine machine(int64_t threads) const override;
  Algorithm productAlgorithm(const Product &product) const override;
  int64_t productDepth(Algorithm algorithm, int64_t steps) const override;
  mlir::Value scaleByPowerOf2(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value power) const override;
  void addDevicePasses(mlir::OpPassManager &passes) const override;
  Stage codeStage() const override { return Stage::Obj; }
  MachineSpec machineSpec(const llvm::Module &module) const override;

  const CpuTier tier;

private:
  void prepare(llvm::Module &module) const override;
  llvm::FailureOr<std::string> writeCode(llvm::Module &module, std::string &error, Cancellation *cancellation) const override;
};

std::unique_ptr<Backend> makeBackend();
} // namespace logitile::cpu
