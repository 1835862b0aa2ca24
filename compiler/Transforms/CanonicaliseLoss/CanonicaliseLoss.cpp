// CanonicaliseLoss.cpp - rewrites a loss by the rules that are part of its meaning. The rules are
// Exponentials.h and Integers.h.
#include "compiler/Passes.h"
#include "compiler/Transforms/CanonicaliseLoss/Exponentials.h"
#include "compiler/Transforms/CanonicaliseLoss/Integers.h"
#include "dialect/checks/Varying.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CANONICALISELOSSPASS
#include "compiler/Passes.h.inc"

namespace {
class Canonicaliser {
public:
  explicit Canonicaliser(LossOp loss) : writer(loss), exponentials(writer), integers(writer) {}

  void run(Block &body) {
    SmallVector<Operation *> written = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : written) {
      writer.startAt(op);
      Value result = op->getResult(0), meant = meaningOf(op);
      if (meant && meant != result)
        result.replaceAllUsesWith(meant); // 'op' stays until all is done: what is known of it is found by its address
      exponentials.note(meant ? meant : result);
    }
  }

private:
  /// What takes the place of an op; null where it stays.
  Value meaningOf(Operation *op) {
    auto x = [&](unsigned i) { return op->getOperand(i); };
    auto isFloat = [&] { return op->getResult(0).getType().isF32(); };
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case<arith::MulFOp>([&](auto) { return exponentials.product(x(0), x(1)); })
        .Case<arith::DivFOp>([&](auto) { return exponentials.quotient(x(0), x(1)); })
        .Case<math::PowFOp>([&](auto) { return exponentials.power(x(0), x(1)); })
        .Case<math::LogOp>([&](auto) { return exponentials.logarithm(x(0), Exponentials::Base::E); })
        .Case<math::Log2Op>([&](auto) { return exponentials.logarithm(x(0), Exponentials::Base::Two); })
        .Case<math::SqrtOp>([&](auto) { return exponentials.root(x(0), 0.5); })
        .Case<math::RsqrtOp>([&](auto) { return exponentials.root(x(0), -0.5); })
        .Case<arith::SelectOp>([&](arith::SelectOp select) { return isFloat() ? exponentials.selectedOrNaN(select) : Value(); })
        .Case<ReduceOp>([&](ReduceOp reduce) { return reductionOf(reduce); })
        .Case<GatherOp>([&](GatherOp pick) {
          return Varying::isTopList(pick.getValue()) ? Value() : entryOf(pick.getValue(), integers.index(pick.getIndex()));
        })
        .Case<arith::AddIOp>([&](auto) { return integers.saturated(Integers::Kind::Add, x(0), x(1)); })
        .Case<arith::SubIOp>([&](auto) { return integers.saturated(Integers::Kind::Sub, x(0), x(1)); })
        .Case<arith::MulIOp>([&](auto) { return integers.saturated(Integers::Kind::Mul, x(0), x(1)); })
        .Default([](auto) { return Value(); });
  }

  Value reductionOf(ReduceOp reduce) {
    Value x = reduce.getValue();
    switch (reduce.getCombiner()) {
    case Combiner::Max:
    case Combiner::Min: return exponentials.leastOrLargest(x, reduce.getCombiner());
    case Combiner::ArgMax:
    case Combiner::ArgMin: {
      Value ordered = exponentials.orderedLike(x);
      return ordered == x ? Value() : writer.write<ReduceOp>(reduce.getType(), reduce.getCombiner(), /*verbatim=*/false, ordered, IntegerAttr());
    }
    default: return {};
    }
  }

  Value entryOf(Value x, Value index) {
    if (Value known = exponentials.entry(x, [&](Value exponent) { return entryOf(exponent, index); }))
      return known;
    return writer.picked(x, index);
  }

  Writer writer;
  Exponentials exponentials;
  Integers integers;
};

struct CanonicaliseLossPass : impl::CanonicaliseLossPassBase<CanonicaliseLossPass> {
  void runOnOperation() override {
    LossOp loss = getOperation();
    Block &body = loss.getBody().front();
    if (!body.getOps<GradientOp>().empty())
      return; // it was differentiated after this
    Canonicaliser(loss).run(body);
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, loss->getRegions());
  }
};
} // namespace
} // namespace logitile
