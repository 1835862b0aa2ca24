// Varying.cpp - the varying/uniform analysis: one walk, since regions are straight-line.
#include "dialect/Varying.h"
using namespace mlir;
using namespace logitile;

Varying::Varying(Region &region) {
  region.walk<WalkOrder::PreOrder>([&](Operation *op) { visit(*op); });
}

void Varying::visit(Operation &op) {
  if (isa<ReduceOp, GatherOp>(op))
    return;
  auto input = dyn_cast<InputOp>(op);
  bool differs = isa<ColumnOp>(op) || (input && input.isVaryingInput()) ||
                 llvm::any_of(op.getOperands(), [&](Value operand) { return isVarying(operand); });
  if (differs)
    varying.insert(op.result_begin(), op.result_end());
}
