// Facts.h - facts of a scalar function that hold for every operand, from the table of scalar
// operations; and which operations make weights of weights.
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

/// When an operation is a weight: a value whose zero makes a product zero (docs/design/spec.md).
enum class WeightRule {
  Never,
  Always,
  First,   // if its first operand is one
  Both,    // if both are
  Scaled,  // if one is, and the other is a constant
  Branches // of a selection: if one is, and the other is one or a constant
};
/// Of nodes and of ops the same. Only ops are picks and extremes of weights, and powers of 2:
/// a graph moves picks to inputs, makes picks of extremes, and has `exp` alone.
WeightRule weightRuleOf(NodeOp op);
WeightRule weightRuleOf(mlir::Operation *op);
/// What a rule says about an operation, by what is known of each of its operands.
bool isWeightBy(WeightRule rule, llvm::function_ref<bool(unsigned)> isWeight, llvm::function_ref<bool(unsigned)> isConstant);
} // namespace logitile
