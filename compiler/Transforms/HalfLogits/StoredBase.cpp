// StoredBase.cpp - finds the base by its structure.
#include "compiler/Transforms/HalfLogits/StoredBase.h"
#include "compiler/Support/MatchValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
using namespace mlir;
using namespace logitile;

math::TanhOp StoredBase::tanhOf(Block &candidates) {
  Operation *yield = candidates.getTerminator();
  return yield->getNumOperands() == 1 ? yield->getOperand(0).getDefiningOp<math::TanhOp>() : math::TanhOp();
}

Value StoredBase::of(Block &candidates) {
  math::TanhOp tanh = tanhOf(candidates);
  return tanh ? tanh.getOperand() : candidates.getTerminator()->getOperand(0);
}

StoredBase::StoredBase(Block &candidates, Block &reader)
    : tanh(tanhOf(candidates)), candidate(candidates.getTerminator()->getOperand(0)), base(of(candidates)),
      matches(matchValues(candidates, reader)) {}
