// Varying.cpp - the varying/uniform analysis: one walk, since regions are straight-line.
#include "dialect/checks/Varying.h"
using namespace mlir;
using namespace logitile;

Varying::Varying(Region &region) {
  region.walk<WalkOrder::PreOrder>([&](Operation *op) { add(*op); });
}

void Varying::add(Operation &op) {
  auto input = dyn_cast<InputOp>(op);
  if (op.getNumResults() == 1 && !isa<SumListOp>(op)) {
    auto reduce = dyn_cast<ReduceOp>(op);
    int64_t most = input ? input.getPlaces().value_or(0) : reduce ? reduce.getPlaces().value_or(0) : 0;
    auto pick = dyn_cast<GatherOp>(op); // it has the places of its index
    for (Value operand : pick ? op.getOperands().drop_front() : op.getOperands())
      most = std::max(most, placesOf(operand));
    if (most > 0)
      places[op.getResult(0)] = most;
  }
  if (isa<ReduceOp, GatherOp, SumListOp>(op))
    return;
  bool differs = isa<ColumnOp>(op) || (input && input.isVaryingInput()) ||
                 llvm::any_of(op.getOperands(), [&](Value operand) { return isVarying(operand); });
  if (differs)
    varying.insert(op.result_begin(), op.result_end());
}
