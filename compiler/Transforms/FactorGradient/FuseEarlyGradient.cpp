// FuseEarlyGradient.cpp - makes the early part of a gradient where the row state is updated. Both
// take an exponential of each logit: the state relative to the maximum of the row, the gradient
// relative to its reference. One is the other times a factor of the row.
#include "compiler/Passes.h"
#include "compiler/Support/MatchValues.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_FUSEEARLYGRADIENTPASS
#include "compiler/Passes.h.inc"

namespace {
/// 2^((value - reference) * scale).
struct RelativeExponential {
  static std::optional<RelativeExponential> of(Operation *op) {
    auto exponential = dyn_cast<math::Exp2Op>(op);
    if (exponential && !bitEnumContainsAll(exponential.getFastmath(), arith::FastMathFlags::afn))
      return std::nullopt;
    auto product = exponential ? exponential.getOperand().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    auto difference = product ? product.getLhs().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
    if (!difference)
      return std::nullopt;
    return RelativeExponential{exponential, difference.getLhs(), difference.getRhs(), product.getRhs()};
  }
  math::Exp2Op op;
  Value value, reference, scale;
};

/// One update of a row state, and the early map that reads the same tile.
class Fusion {
public:
  Fusion(UpdateStateOp update, MapOp map) : update(update), map(map), matches(matchInputs()) {}

  /// Whether both have an exponential of the same value, so that one can be made of the other.
  bool isUseful() {
    if (map.getColumn() != update.getColumn() || !areInputsKnown || !update.getEntries().empty())
      return false;
    matches = matchValues(body(), block(), matches);
    for (Operation &op : body())
      if (std::optional<RelativeExponential> wanted = RelativeExponential::of(&op); wanted && isOfRow(wanted->reference))
        if (std::optional<RelativeExponential> known = findLike(*wanted))
          pairs.push_back({*wanted, *known});
    return !pairs.empty();
  }

  void apply(RewriterBase &rewriter) {
    ImplicitLocOpBuilder b(map.getLoc(), block().getTerminator());
    SmallVector<Value> yielded(block().getTerminator()->getOperands());
    for (Value value : body().getTerminator()->getOperands())
      yielded.push_back(copyOf(b, value));
    block().getTerminator()->setOperands(yielded);
    rewriter.setInsertionPoint(update);
    auto fused = UpdateStateOp::create(rewriter, update.getLoc(), update.getResults().getTypes(), map.getResultTypes(), update.getState(),
                                       update.getInputs(), update.getColumn(), update.getLimit());
    for (auto [from, to] : llvm::zip_equal(update->getRegions(), fused->getRegions()))
      to.takeBody(from);
    rewriter.replaceOp(map, fused.getEntries());
    rewriter.replaceOp(update, fused.getResults());
  }

private:
  Block &block() { return update.getUpdate().front(); }
  Block &body() { return map.getBody().front(); }
  size_t slots() { return update.getState().size(); }

  /// What the map reads, to what the update reads of the same tiles.
  IRMapping matchInputs() {
    IRMapping inputs;
    for (auto [argument, tile] : llvm::zip_equal(body().getArguments(), map.getInputs())) {
      auto known = llvm::find(update.getInputs(), tile);
      if (known == update.getInputs().end())
        areInputsKnown = false;
      else
        inputs.map(argument, block().getArgument(slots() + (known - update.getInputs().begin())));
    }
    return inputs;
  }

  /// Whether a value of the map is one of the row.
  bool isOfRow(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && cast<TileType>(map.getInputs()[argument.getArgNumber()].getType()).getExtent(1) == 1;
  }
  /// Whether a value of the update is a running maximum.
  bool isMaximum(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() < update.getCandidate().front().getTerminator()->getNumOperands();
  }
  /// The exponential of the update whose value and scale are those of 'wanted'.
  std::optional<RelativeExponential> findLike(const RelativeExponential &wanted) {
    for (Operation &op : block())
      if (std::optional<RelativeExponential> known = RelativeExponential::of(&op))
        if (known->value == matches.lookupOrNull(wanted.value) && isEqual(known->scale, wanted.scale) && isMaximum(known->reference))
          return known;
    return std::nullopt;
  }
  bool isEqual(Value known, Value wanted) {
    FloatAttr number, other;
    return known == matches.lookupOrNull(wanted) ||
           (matchPattern(known, m_Constant(&number)) && matchPattern(wanted, m_Constant(&other)) && number == other);
  }

  /// A value of the map in the update. An exponential that has one like it is that times
  /// 2^((maximum - reference) * scale), which is computed once for each row.
  Value copyOf(ImplicitLocOpBuilder &b, Value value) {
    if (Value known = matches.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    const auto *pair = llvm::find_if(pairs, [&](const auto &pair) { return pair.first.op == op; });
    if (pair == pairs.end()) {
      for (Value operand : op->getOperands())
        copyOf(b, operand);
      return b.clone(*op, matches)->getResult(0);
    }
    auto [wanted, known] = *pair;
    Value distance = arith::SubFOp::create(b, known.reference, copyOf(b, wanted.reference));
    Value factor = math::Exp2Op::create(b, arith::MulFOp::create(b, distance, known.scale), wanted.op.getFastmath());
    Value product = arith::MulFOp::create(b, known.op.getResult(), factor);
    matches.map(value, product);
    return product;
  }

  UpdateStateOp update;
  MapOp map;
  bool areInputsKnown = true;
  IRMapping matches;
  SmallVector<std::pair<RelativeExponential, RelativeExponential>, 1> pairs;
};

UpdateStateOp findUpdate(MapOp map) {
  for (Operation *op = map->getPrevNode(); op; op = op->getPrevNode())
    if (auto update = dyn_cast<UpdateStateOp>(op))
      return update;
  return {};
}

struct FuseEarlyGradientPass : impl::FuseEarlyGradientPassBase<FuseEarlyGradientPass> {
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation().walk([&](MapOp map) {
      if (map.getEarly())
        maps.push_back(map);
    });
    IRRewriter rewriter(&getContext());
    for (MapOp map : maps)
      if (UpdateStateOp update = findUpdate(map))
        if (Fusion fusion(update, map); fusion.isUseful())
          fusion.apply(rewriter);
  }
};
} // namespace
} // namespace logitile
