// KernelControl.h - the part of a kernel that is the same on every target: scalars, index arithmetic, and which task of the
// grid the code is for. What happens to tiles is the business of the targets.
#pragma once
#include "compiler/Conversion/CodeBuilder.h"
#include "dialect/Logitile.h"

namespace logitile {
class KernelControl {
public:
  KernelControl(KernelOp kernel, CodeBuilder &builder) : kernel(kernel), builder(builder) {}
  virtual ~KernelControl() = default;

  KernelOp kernel;

  mlir::LogicalResult convertBlock(mlir::Block &block);

  // ---- values -----------------------------------------------------------------------------------------------------
  Int scalar(mlir::Value value) const { return Int(builder, scalars.at(value)); }
  mlir::Value condition(mlir::Value value) const { return scalars.at(value); }
  void setScalar(mlir::Value value, mlir::Value to) { scalars[value] = to; }
  bool isScalar(mlir::Value value) const { return scalars.contains(value); }
  /// A bound or step of a loop.
  Int bound(mlir::OpFoldResult bound) const;
  /// Fails with an error at 'op' where the kernel has no argument for the number of tokens.
  mlir::FailureOr<Int> tokens(mlir::Operation *op);

protected:
  /// The next word of a launch as the scalar 'argument'.
  void bindScalar(mlir::BlockArgument argument, Int word);
  /// Binds the variables of 'forall' for task number 'task', which counts through the axes, the last one fastest.
  mlir::LogicalResult convertForall(mlir::scf::ForallOp forall, Int task);
  mlir::LogicalResult convertIndexOp(mlir::Operation &op);
  virtual mlir::LogicalResult convertOp(mlir::Operation &op) = 0;

private:
  CodeBuilder &builder;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars; // i64 for an index, i1 for a condition
};
} // namespace logitile
