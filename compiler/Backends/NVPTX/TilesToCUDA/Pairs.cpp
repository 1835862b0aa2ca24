// Pairs.cpp - pairs of thread blocks whose products share the right operand: which block of the
// pair this is, and whether the two can share. Products/BoxCopies.h copies the operands.
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"
using namespace mlir;

namespace logitile::cuda {
namespace {
/// What a product is made of, where it is one of pairs.
struct PairedProduct {
  Value row;
  SmallVector<Value, 3> others; // that say which part of the right operand it takes
  Value left;
  unsigned outer; // the dimension of the left operand that rows count along

  static std::optional<PairedProduct> of(Operation *op) {
    if (algorithmOf(op) != Algorithm::WgmmaPairs)
      return std::nullopt;
    if (auto project = dyn_cast<ProjectOp>(op))
      return PairedProduct{project.getRow(), {project.getColumn()}, project.getHidden(), 0};
    auto contract = cast<ContractOp>(op);
    return PairedProduct{contract.getRow(), {contract.getColumn(), contract.getFirst(), contract.getEnd()}, contract.getLhs(),
                         contract.getTransposed() ? 1u : 0u};
  }
};
} // namespace

static bool dependsOn(Value value, Value variable) {
  auto isOne = [&](Value operand) { return dependsOn(operand, variable); };
  if (value == variable)
    return true;
  if (Operation *op = value.getDefiningOp())
    return llvm::any_of(op->getOperands(), isOne);
  auto loop = dyn_cast<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp());
  return loop && llvm::any_of(ArrayRef<Value>{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}, isOne);
}

static LogicalResult checkProduct(Operation *op, const PairedProduct &product, Value variable) {
  bool isShared = llvm::none_of(product.others, [&](Value other) { return dependsOn(other, variable); });
  if (product.row == variable && isShared)
    return success();
  return op->emitOpError() << "is 'using' wgmma_pairs, whose two blocks make neighbouring steps of the first axis of the grid; its row has to "
                              "be that axis, and nothing else may depend on it";
}

/// Both blocks come to the same result.
FailureOr<Value> KernelContext::findShared(scf::ForallOp forall) {
  Value variable = forall.getInductionVar(0);
  Int first = scalar(variable), step = bound(forall.getMixedStep()[0]), end = bound(forall.getMixedUpperBound()[0]);
  Value isShared = isLess(first + step, end); // both have a task
  WalkResult walk = forall.walk([&](Operation *op) {
    std::optional<PairedProduct> product = PairedProduct::of(op);
    if (!product)
      return WalkResult::advance();
    const View &left = view(product->left);
    FailureOr<Int> endOfRows = this->end(op, left, product->outer);
    if (failed(checkProduct(op, *product, variable)) || failed(endOfRows))
      return WalkResult::interrupt();
    for (bool isRight : {false, true})
      isShared = e.both(isShared, mapOf(op, isRight).isThere());
    if (ShapedType::isDynamic(left.extent(product->outer)))
      isShared = e.both(isShared, haveTokens(first + step * kBlocksOfPair, *endOfRows));
    return WalkResult::advance();
  });
  return walk.wasInterrupted() ? FailureOr<Value>(failure()) : isShared;
}

FailureOr<Value> KernelContext::bindPair(scf::ForallOp forall, Value isThere) {
  FailureOr<Value> isShared = findShared(forall);
  if (failed(isShared))
    return failure();
  Int rank = e.block() % kBlocksOfPair;
  Int blocks = choose(*isShared, e.integer((1 << kBlocksOfPair) - 1), rank + 1); // 1 << rank
  Int reader = choose(*isShared, e.integer(1) - rank, rank);
  pair = Pair{rank, *isShared, arith::TruncIOp::create(e, e.getI16Type(), blocks), e.mapShared(departure(e.integer(0)), e.narrow(reader))};
  Value variable = forall.getInductionVar(0);
  setScalar(variable, scalar(variable) + rank * bound(forall.getMixedStep()[0]));
  Value hasTask = isLess(scalar(variable), bound(forall.getMixedUpperBound()[0]));
  return isThere ? e.both(isThere, hasTask) : hasTask;
}
} // namespace logitile::cuda
