// SliceCloner.h - copies the operations that compute a value into another block.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"

namespace logitile {
/// Copies operations without regions, each of them once.
class SliceCloner {
public:
  explicit SliceCloner(mlir::OpBuilder &builder) : builder(builder) {}

  /// 'value' there.
  mlir::Value clone(mlir::Value value) {
    if (mlir::Value known = mapping.lookupOrNull(value))
      return known;
    for (mlir::Value operand : value.getDefiningOp()->getOperands())
      clone(operand);
    builder.clone(*value.getDefiningOp(), mapping);
    return mapping.lookup(value);
  }
  /// 'op', of what its operands are there.
  void cloneOp(mlir::Operation &op) { builder.clone(op, mapping); }
  void map(mlir::Value from, mlir::Value to) { mapping.map(from, to); }

  /// A copy of its own of what reads an input.
  mlir::Value copy(mlir::Operation *input) const { return builder.clone(*input)->getResult(0); }

  mlir::OpBuilder &builder;

private:
  mlir::IRMapping mapping;
};
} // namespace logitile
