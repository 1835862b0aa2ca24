// Facts.h - facts of a scalar function that hold for every operand, from the table of scalar
// operations.
#pragma once
#include "compiler/Expression/Graph.h"

namespace logitile {
/// Flags; the fields of Node of the same names say what each means.
namespace Fact {
enum : unsigned {
  None = 0,
  Weight = 1,            // isWeight
  WeightIfOperand = 2,   // isWeight if its operand is one
  Positive = 4,          // isPositive
  PositiveIfOperand = 8, // isPositive if its operand is
  Unbounded = 16,        // isUnbounded if its operand is
  Overflows = 32,        // may be infinite or NaN where its operand is finite
};
} // namespace Fact

/// The facts of a function of one f32; Fact::None for any other operation.
unsigned factsOf(NodeOp op);
unsigned factsOf(mlir::Operation *op);
} // namespace logitile
