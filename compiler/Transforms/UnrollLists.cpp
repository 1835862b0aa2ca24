// UnrollLists.cpp - repeats the operations of a loss on a list for each place.
#include "compiler/Passes.h"
#include "dialect/checks/Varying.h"
#include "dialect/types/Limits.h"
#include "mlir/IR/IRMapping.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_UNROLLLISTSPASS
#include "compiler/Passes.h.inc"

namespace {
class Unroller {
public:
  explicit Unroller(LossOp loss) : loss(loss), varying(loss.getBody()), builder(loss.getContext()) {}

  LogicalResult run() {
    Block &body = loss.getBody().front();
    if (!body.getOps<GradientOp>().empty())
      return loss.emitOpError() << "has a gradient already; lists are written out before";
    for (Value value : body.getTerminator()->getOperands())
      if (int64_t places = varying.isTopList(value) ? 0 : varying.placesOf(value))
        return loss.emitOpError() << "gives a list of " << places << " places that it reads, which has to be written out for each place";
    for (Operation &op : llvm::make_early_inc_range(body))
      if (failed(unroll(op)))
        return failure();
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    return success();
  }

private:
  LogicalResult unroll(Operation &op) {
    builder.setInsertionPoint(&op);
    auto sum = dyn_cast<SumListOp>(op);
    int64_t places = op.getNumResults() == 1 ? varying.placesOf(op.getResult(0)) : 0;
    if (sum)
      places = varying.placesOf(sum.getList());
    if (places == 0 || (isa<ReduceOp>(op) && !isRead(op)))
      return success();
    if (isa<ReduceOp>(op))
      builder.setInsertionPointAfter(&op);
    if (places > kMostUnrolled)
      return op.emitOpError() << "is a list of " << places << " places, which has to be written out for each of them; " << kMostUnrolled
                              << " are the most";
    if (sum)
      sum.getResult().replaceAllUsesWith(total(sum));
    else
      for (int64_t place : llvm::seq(places))
        entries[op.getResult(0)].push_back(copyAt(op, place));
    if (!isa<ReduceOp>(op)) // single places are picked from it
      replaced.push_back(&op);
    return success();
  }

  /// Whether a list of largest entries is read as a whole: beside an output, and beside single
  /// places of it.
  static bool isRead(Operation &reduce) {
    return llvm::any_of(reduce.getUses(), [](OpOperand &use) {
      bool isPlace = isa<GatherOp>(use.getOwner()) && use.getOperandNumber() == 0;
      return !isPlace && !isa<YieldOp>(use.getOwner());
    });
  }

  Value copyAt(Operation &op, int64_t place) {
    if (isa<ReduceOp>(op)) {
      Value number = arith::ConstantOp::create(builder, op.getLoc(), builder.getI32IntegerAttr(place));
      return GatherOp::create(builder, op.getLoc(), op.getResult(0), number);
    }
    if (auto input = dyn_cast<InputOp>(op))
      return InputOp::create(builder, op.getLoc(), input.getType(), input.getKind(), input.getNameAttr(), builder.getI64IntegerAttr(place),
                             /*places=*/IntegerAttr());
    IRMapping mapping;
    for (Value operand : op.getOperands())
      if (auto known = entries.find(operand); known != entries.end())
        mapping.map(operand, known->second[place]);
    return builder.clone(op, mapping)->getResult(0);
  }

  /// In pairs: the depth of a chain has a limit.
  Value total(SumListOp sum) {
    SmallVector<Value> terms = entries.at(sum.getList());
    while (terms.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < terms.size(); i += 2)
        next.push_back(arith::AddFOp::create(builder, sum.getLoc(), terms[i], terms[i + 1]));
      if (terms.size() % 2 == 1)
        next.push_back(terms.back());
      terms = next;
    }
    return terms.front();
  }

  LossOp loss;
  Varying varying;
  OpBuilder builder;
  DenseMap<Value, SmallVector<Value>> entries; // of each list
  SmallVector<Operation *> replaced;
};

/// Whether the gradient of a Dense input is wanted of which entries are picked at a list: kernels
/// make it for single picks only.
bool picksFromWanted(LossOp loss) {
  auto isWanted = [&](InputOp input) {
    return input.getKind() == InputKind::Dense && loss.getWrt() &&
           llvm::is_contained(loss.getWrt()->getAsValueRange<StringAttr>(), input.getName());
  };
  Varying varying(loss.getBody());
  llvm::DenseSet<Value> made; // of such inputs
  for (Operation &op : loss.getBody().front()) {
    auto input = dyn_cast<InputOp>(op);
    auto pick = dyn_cast<GatherOp>(op);
    bool isMade = llvm::any_of(op.getOperands(), [&](Value operand) { return made.contains(operand); });
    if (pick && made.contains(pick.getValue()) && varying.placesOf(pick.getIndex()) > 0)
      return true;
    if ((input && isWanted(input)) || (isMade && !isa<StopGradientOp>(op) && op.getNumResults() == 1 && varying.isVarying(op.getResult(0))))
      made.insert(op.getResult(0));
  }
  return false;
}

struct UnrollListsPass : impl::UnrollListsPassBase<UnrollListsPass> {
  void runOnOperation() override {
    RequestAttr request = getRequest(getOperation());
    bool isSliced = request && request.getSlice();
    for (LossOp loss : getOperation().getOps<LossOp>())
      if ((isSliced || picksFromWanted(loss)) && failed(Unroller(loss).run()))
        return signalPassFailure();
  }
};
} // namespace
} // namespace logitile
