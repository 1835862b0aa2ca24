// ScalarRegions.cpp - clones scalar ops for lanes, on demand.
#include "compiler/Conversion/ScalarRegions.h"
#include "compiler/Conversion/ExpandMath.h"
#include "dialect/Logitile.h"
using namespace mlir;
using namespace logitile;

void Widener::setColumn(Region &region, Int column) {
  Value number;
  for (auto op : region.getOps<ColumnOp>()) {
    if (!number)
      number = e.spread(e.narrow(column), lanes);
    map(op.getResult(), number);
  }
}

/// Null: the code is the op itself.
Value Widener::expand(Operation *op, ValueRange operands) {
  auto uniform = dyn_cast<UniformOp>(op);
  if (uniform && lanes == 0)
    return Value(); // ExpandMath.cpp expands those of all columns
  Value number = uniform && draw ? draw(uniform, operands) : Value();
  return number ? number : expandLogitileOp(e, op, operands);
}

Value Widener::get(Value scalar) {
  if (Value known = mapping.lookupOrNull(scalar))
    return known;
  Operation *op = scalar.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto vector = dyn_cast<VectorType>(CodeBuilder::widen(scalar.getType(), lanes));
    Value wide = e.constant(vector ? TypedAttr(DenseElementsAttr::get(vector, Attribute(constant.getValue()))) : constant.getValue());
    map(scalar, wide);
    return wide;
  }
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return get(operand); });
  Location around = e.getLoc(); // of the operation on tiles that the region belongs to
  e.setLoc(op->getLoc());
  Value wide = expand(op, operands);
  if (!wide) {
    OperationState state(op->getLoc(), op->getName(), operands, CodeBuilder::widen(scalar.getType(), lanes), op->getAttrs());
    wide = e.create(state)->getResult(0);
  }
  e.setLoc(around);
  map(scalar, wide);
  return wide;
}

void Widener::emitReady(Region &region) {
  for (Operation &op : region.front().without_terminator()) {
    bool isReady = !isa<ColumnOp, arith::ConstantOp>(op) && llvm::all_of(op.getOperands(), [&](Value operand) {
      return mapping.contains(operand) || operand.getDefiningOp<arith::ConstantOp>();
    });
    if (isReady)
      get(op.getResult(0));
  }
}

CodeBuilder::Values Widener::get(ValueRange scalars) {
  return llvm::map_to_vector(scalars, [&](Value scalar) { return get(scalar); });
}

CodeBuilder::Values Widener::getYielded(Region &region) { return get(region.front().getTerminator()->getOperands()); }
