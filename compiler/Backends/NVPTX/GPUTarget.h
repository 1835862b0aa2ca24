// GPUTarget.h - NVIDIA GPUs, and their emulator, as targets of the compiler.
#pragma once
#include "compiler/Backends/NVPTX/GPU.h"
#include "compiler/Codegen/LLVMTarget.h"
#include "compiler/Target/Backend.h"
#include "compiler/Target/Products.h"

namespace logitile::cuda {
class GPUTarget : public LLVMTarget {
public:
  GPUTarget(const Backend &backend, Gpu gpu) : LLVMTarget(backend), gpu(std::move(gpu)) {}
  /// 'target' as a GPU target, emulated or not; null if it is neither.
  static const GPUTarget *from(const Target &target);

  std::string features() const override { return gpu.features(); }
  TargetFacts facts() const override;
  TileList tileTable() const override;
  std::string refuseTiles(const TileSizes &sizes) const override;
  Machine machine(int64_t threads) const override;
  std::vector<std::pair<std::string_view, double>> chipFigures() const override;
  Algorithm productAlgorithm(const Product &product) const override;
  ColumnLimit limitLogitColumns(const LogitTiles &tiles) const override;
  double rateShareOfLogits(const LogitTiles &tiles) const override;
  int64_t gradientColumns(mlir::Type operand, int64_t hidden, int64_t most) const override;
  int64_t blocksTogether(Algorithm algorithm) const override;
  mlir::Value approximateExp2(mlir::ImplicitLocOpBuilder &b, mlir::Value x) const override;
  void addDevicePasses(mlir::OpPassManager &passes) const override;
  Stage codeStage() const override { return Stage::Ptx; }
  MachineSpec machineSpec(const llvm::Module &module) const override;
  KernelWork predictWork(KernelOp kernel) const override;

  const Gpu gpu;

protected:
  /// Whether products run on tiles of four warps together, with operands in shared memory.
  bool hasWarpgroups() const { return gpu.info().hasOwnInstructions; }
  void addLLVMPasses(mlir::OpPassManager &passes) const override;
  void prepare(llvm::Module &module) const override;
  llvm::FailureOr<std::string> writeCode(llvm::Module &module, std::string &error, Cancellation *cancellation) const override;
};

/// A GPU that the host emulates. The emulator runs LLVM bitcode: the LLVM IR from which PTX would
/// be generated.
class EmulatedTarget : public GPUTarget {
public:
  using GPUTarget::GPUTarget;
  Stage codeStage() const override { return Stage::Llvm; }

private:
  void addLLVMPasses(mlir::OpPassManager &passes) const override;
  llvm::FailureOr<std::string> writeCode(llvm::Module &module, std::string &error, Cancellation *cancellation) const override;
};

/// "cuda:..." and "emu:...".
std::unique_ptr<Backend> makeBackend();
std::unique_ptr<Backend> makeEmulatorBackend();
} // namespace logitile::cuda
