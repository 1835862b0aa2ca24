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

KeptBase::KeptBase(Block &bound, Block &reader, IRMapping inputs)
    : tanh(tanhOf(bound)), candidate(bound.getTerminator()->getOperand(0)), base(tanh ? tanh.getOperand() : candidate),
      matches(matchValues(bound, reader, inputs)) {}
