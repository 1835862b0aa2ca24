// SliceCloner.h - copies the operations that compute a value into another block.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"

namespace logitile {
/// Copies operations without regions. Each operation is copied only once.
class SliceCloner {
public:
  explicit SliceCloner(mlir::OpBuilder &builder) : builder(builder) {}

  /// The copy of 'value'. Copies the operations that compute it if needed.
  mlir::Value clone(mlir::Value value) {
    if (mlir::Value known = mapping.lookupOrNull(value))
      return known;
    for (mlir::Value operand : value.getDefiningOp()->getOperands())
      clone(operand);
    builder.clone(*value.getDefiningOp(), mapping);
    return mapping.lookup(value);
  }
  /// Copies 'op' with the copies of its operands.
  void cloneOp(mlir::Operation &op) { builder.clone(op, mapping); }
  void map(mlir::Value from, mlir::Value to) { mapping.map(from, to); }

  /// A separate copy of an op that reads an input.
  mlir::Value copy(mlir::Operation *input) const { return builder.clone(*input)->getResult(0); }

  mlir::OpBuilder &builder;

private:
  mlir::IRMapping mapping;
};
} // namespace logitile
