// KeptBase.cpp - finds the base by its structure.
#include "compiler/Transforms/HalfLogits/KeptBase.h"
#include "compiler/Support/MatchValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
using namespace mlir;
using namespace logitile;

math::TanhOp KeptBase::tanhOf(Block &bound) {
  Operation *candidates = bound.getTerminator();
  return candidates->getNumOperands() == 1 ? candidates->getOperand(0).getDefiningOp<math::TanhOp>() : math::TanhOp();
}

Value KeptBase::of(Block &bound) {
  math::TanhOp tanh = tanhOf(bound);
  return tanh ? tanh.getOperand() : bound.getTerminator()->getOperand(0);
}

KeptBase::KeptBase(Block &bound, Block &reader)
    : tanh(tanhOf(bound)), candidate(bound.getTerminator()->getOperand(0)), base(of(bound)),
      matches(matchValues(bound, reader)) {}
