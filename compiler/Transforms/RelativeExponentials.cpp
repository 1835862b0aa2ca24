// RelativeExponentials.cpp - finds running maxima: states of the row that have a candidate.
#include "compiler/Transforms/RelativeExponentials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
using namespace mlir;
using namespace logitile;

/// A product with a constant becomes its other operand.
static Value withoutScale(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (product && matchPattern(product.getLhs(), m_Constant()))
    return product.getRhs();
  return product && matchPattern(product.getRhs(), m_Constant()) ? product.getLhs() : value;
}

SmallVector<math::ExpOp> logitile::findRelativeExponentials(UpdateStateOp update) {
  Block &block = update.getUpdate().front();
  const unsigned maxima = update.getCandidate().front().getTerminator()->getNumOperands();
  auto isRelative = [&](math::ExpOp exponential) {
    auto difference = withoutScale(exponential.getOperand()).getDefiningOp<arith::SubFOp>();
    auto maximum = difference ? dyn_cast<BlockArgument>(withoutScale(difference.getRhs())) : BlockArgument();
    return maximum && maximum.getOwner() == &block && maximum.getArgNumber() < maxima;
  };
  return llvm::filter_to_vector(block.getOps<math::ExpOp>(), isRelative);
}
