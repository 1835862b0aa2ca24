// TileOps.cpp - checks of the ops on tiles. What symbols may be used is checked by the entry, in Entries.cpp.
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
using namespace mlir;
using namespace logitile;

static bool isBundle(Value value) { return isa<BundleType>(value.getType()); }

/// A bundle of tiles where values are expected, of memory where memory is.
static LogicalResult verifyBundle(Operation *op, StringRef name, Value value, bool wantsValue) {
  auto bundle = dyn_cast<BundleType>(value.getType());
  if (!bundle || isValueBundle(bundle.getKind()) == wantsValue)
    return success();
  return op->emitOpError() << "'" << name << "' is " << bundle << "; expected a bundle of " << (wantsValue ? "tiles" : "memory");
}
static LogicalResult verifyBothBundles(Operation *op, StringRef one, Value a, StringRef other, Value b) {
  if (isBundle(a) == isBundle(b))
    return success();
  return op->emitOpError() << "'" << one << "' is " << a.getType() << " but '" << other << "' is " << b.getType() << "; bundles meet bundles";
}
/// A map gives one i32 per token.
static LogicalResult verifyMap(Operation *op, Value map) {
  if (!map)
    return success();
  auto view = cast<ViewType>(map.getType());
  if (view.getDims().size() == 1 && view.getElement().isInteger(32))
    return success();
  return op->emitOpError() << "'map' is " << view << "; expected one i32 per token";
}
static LogicalResult verifyAt(Operation *op, Value view, size_t indices) {
  auto type = dyn_cast<ViewType>(view.getType());
  if (!type || type.getDims().size() == indices)
    return success();
  return op->emitOpError() << "gives " << indices << " indices for " << type << " of " << type.getDims().size() << " dimensions";
}

// ---- memory -----------------------------------------------------------------------------------------------------

LogicalResult LoadOp::verify() {
  return failure(failed(verifyBundle(*this, "view", getView(), false)) || failed(verifyBundle(*this, "result", getResult(), true)) ||
                 failed(verifyBothBundles(*this, "view", getView(), "result", getResult())) ||
                 failed(verifyMap(*this, getMap())) || failed(verifyAt(*this, getView(), getAt().size())));
}
LogicalResult StoreOp::verify() {
  return failure(failed(verifyBundle(*this, "value", getValue(), true)) || failed(verifyBundle(*this, "view", getView(), false)) ||
                 failed(verifyBothBundles(*this, "value", getValue(), "view", getView())) || failed(verifyMap(*this, getMap())) ||
                 failed(verifyAt(*this, getView(), getAt().size())));
}
LogicalResult GatherOp::verify() {
  auto index = cast<TileType>(getIndex().getType()), result = cast<TileType>(getResult().getType());
  if (!index.getElement().isInteger(32))
    return emitOpError() << "'index' has element type " << index.getElement() << ", expected i32";
  if (index.getDims() != result.getDims())
    return emitOpError() << "'index' is " << index << " but the result is " << result;
  bool perToken = cast<ViewType>(getView().getType()).getDims().size() == 2;
  if (perToken != bool(getRow()))
    return emitOpError() << (perToken ? "needs 'at' for a view with one row per token" : "gives 'at' for a view without tokens");
  return verifyMap(*this, getMap());
}

// ---- contractions -------------------------------------------------------------------------------------------------

static Attribute dimOf(Value value, unsigned dim) {
  if (auto view = dyn_cast<ViewType>(value.getType()))
    return view.getDims()[dim];
  return cast<TileType>(value.getType()).getDims()[dim];
}
/// Two dimensions are equal, by symbol or by extent.
static LogicalResult verifySame(Operation *op, StringRef what, StringRef one, Value a, unsigned i, StringRef other, Value b, unsigned j) {
  if (dimOf(a, i) == dimOf(b, j))
    return success();
  InFlightDiagnostic error = op->emitOpError() << what << " ";
  auto print = [&](Attribute dim) {
    if (auto symbol = dyn_cast<SymbolicDimAttr>(dim))
      error << symbol.getName();
    else if (ShapedType::isDynamic(cast<IntegerAttr>(dim).getInt()))
      error << "?";
    else
      error << cast<IntegerAttr>(dim).getInt();
  };
  print(dimOf(a, i));
  error << " of '" << one << "' must equal " << what << " ";
  print(dimOf(b, j));
  return error << " of '" << other << "'";
}
static LogicalResult verifyMatrix(Operation *op, StringRef name, Value view) {
  auto type = dyn_cast<ViewType>(view.getType());
  if (!type || type.getDims().size() == 2)
    return success();
  return op->emitOpError() << "'" << name << "' is " << type << "; expected 2 dimensions";
}

LogicalResult ProjectOp::verify() {
  if (failed(verifyBothBundles(*this, "hidden", getHidden(), "weight", getWeight())) ||
      failed(verifyBothBundles(*this, "hidden", getHidden(), "result", getResult())))
    return failure();
  if (isBundle(getHidden()))
    return success();
  return failure(failed(verifyMatrix(*this, "hidden", getHidden())) || failed(verifyMatrix(*this, "weight", getWeight())) ||
                 failed(verifySame(*this, "hidden size", "hidden", getHidden(), 1, "weight", getWeight(), 1)));
}
LogicalResult ContractOp::verify() {
  if (failed(verifyMatrix(*this, "lhs", getLhs())) || failed(verifyMatrix(*this, "rhs", getRhs())))
    return failure();
  if (failed(verifySame(*this, "shared extent", "lhs", getLhs(), getTransposed() ? 0 : 1, "rhs", getRhs(), 0)))
    return failure();
  if (bool(getPlus()) != bool(getWhen()))
    return emitOpError() << "'plus' and 'when' come together";
  if (getPlus() && failed(verifySame(*this, "extent", "rhs", getRhs(), 1, "plus", getPlus(), 1)))
    return failure();
  return verifyMap(*this, getMap());
}

/// A sum that never starts from 'plus' has none.
template <typename OpT>
static LogicalResult dropPlus(OpT op, PatternRewriter &rewriter) {
  if (!op.getWhen() || !matchPattern(op.getWhen(), m_Zero()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.getPlusMutable().clear();
    op.getWhenMutable().clear();
  });
  return success();
}
LogicalResult ContractOp::canonicalize(ContractOp op, PatternRewriter &rewriter) { return dropPlus(op, rewriter); }
LogicalResult SumRowsOp::canonicalize(SumRowsOp op, PatternRewriter &rewriter) { return dropPlus(op, rewriter); }

/// Columns and coefficients alternate.
static LogicalResult verifyTerms(Operation *op, ValueRange terms) {
  if (llvm::any_of(terms, isBundle))
    return terms.size() == 1 ? success() : op->emitOpError() << "takes one bundle of terms or a list of views";
  if (terms.size() % 2 != 0)
    return op->emitOpError() << "has " << terms.size() << " views of terms; columns and coefficients come in pairs";
  for (auto [i, term] : llvm::enumerate(terms)) {
    auto view = cast<ViewType>(term.getType());
    bool fits = view.getDims().size() == 1 && (i % 2 == 0 ? view.getElement().isInteger(32) : view.getElement().isF32());
    if (!fits)
      return op->emitOpError() << "term view " << i << " is " << view << "; expected one " << (i % 2 == 0 ? "i32 column" : "f32 coefficient") << " per token";
  }
  return success();
}
LogicalResult ContractTermsOp::verify() { return failure(failed(verifyMatrix(*this, "rhs", getRhs())) || failed(verifyTerms(*this, getTerms()))); }
LogicalResult TermsOp::verify() { return verifyTerms(*this, getTerms()); }

LogicalResult SumRowsOp::verify() {
  if (failed(verifyMatrix(*this, "view", getView())))
    return failure();
  if (bool(getPlus()) != bool(getWhen()))
    return emitOpError() << "'plus' and 'when' come together";
  if (getPlus() && failed(verifySame(*this, "columns", "view", getView(), 1, "plus", getPlus(), 1)))
    return failure();
  auto result = cast<TileType>(getResult().getType());
  if (result.getDims()[0] != dimension(getContext(), 1))
    return emitOpError() << "gives " << result << "; a sum of rows has 1 row";
  return success();
}
LogicalResult SumTokensOp::verify() {
  if (failed(verifyBothBundles(*this, "tile", getTile(), "result", getResult())) || isBundle(getTile()))
    return success(isBundle(getTile()) == isBundle(getResult()));
  auto result = cast<TileType>(getResult().getType());
  if (result.getDims()[0] != dimension(getContext(), 1))
    return emitOpError() << "gives " << result << "; a sum over tokens has 1 row";
  return verifySame(*this, "columns", "tile", getTile(), 1, "result", getResult(), 1);
}

// ---- holes and regions ----------------------------------------------------------------------------------------------

LogicalResult ApplyOp::verify() {
  struct Hole {
    StringLiteral name;
    SmallVector<BundleKind, 3> inputs;
    SmallVector<BundleKind, 3> results;
    bool hasColumn;
  };
  const Hole holes[] = {
      {"update", {BundleKind::Rows, BundleKind::Logits, BundleKind::Inputs}, {BundleKind::Rows}, true},
      {"merge", {BundleKind::Rows, BundleKind::Rows, BundleKind::Inputs}, {BundleKind::Rows}, false},
      {"finish", {BundleKind::Rows, BundleKind::Inputs}, {BundleKind::Results}, false},
      {"gradient", {BundleKind::Logits, BundleKind::Inputs}, {BundleKind::Grads, BundleKind::VocabGrads, BundleKind::DenseGrads}, true},
  };
  const Hole *hole = llvm::find_if(holes, [&](const Hole &hole) { return hole.name == getHole(); });
  if (hole == std::end(holes))
    return emitOpError() << "no hole '@" << getHole() << "'; expected @update, @merge, @finish or @gradient";
  auto fits = [](TypeRange types, ArrayRef<BundleKind> kinds) {
    return types.size() == kinds.size() &&
           llvm::all_of(llvm::zip(types, kinds), [](auto pair) { return cast<BundleType>(std::get<0>(pair)).getKind() == std::get<1>(pair); });
  };
  MLIRContext *context = getContext();
  auto spell = [&](ArrayRef<BundleKind> kinds) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(kinds, os, [&](BundleKind kind) {
      std::string word;
      llvm::raw_string_ostream type(word);
      SmallVector<Attribute> dims(isValueBundle(kind) ? 2 : 0, dimension(context, 1));
      if (kind == BundleKind::Rows || kind == BundleKind::Results)
        dims.pop_back();
      type << BundleType::get(context, kind, dims, Type());
      StringRef name = StringRef(word).split('.').second;
      os << name.take_until([](char c) { return c == '<'; });
    });
    return text;
  };
  if (!fits(getInputs().getTypes(), hole->inputs))
    return emitOpError() << "'@" << getHole() << "' takes (" << spell(hole->inputs) << "), got (" << getInputs().getTypes() << ")";
  if (!fits(getResults().getTypes(), hole->results))
    return emitOpError() << "'@" << getHole() << "' gives (" << spell(hole->results) << "), got (" << getResults().getTypes() << ")";
  if (bool(getColumn()) != hole->hasColumn)
    return emitOpError() << "'@" << getHole() << (hole->hasColumn ? "' needs 'at' and 'below'" : "' takes no 'at'");
  return success();
}

static SmallVector<Type> elementsOf(ValueRange tiles) {
  return llvm::to_vector(llvm::map_range(tiles.getTypes(), [](Type type) { return cast<TileType>(type).getElement(); }));
}
/// Region arguments and yielded values match, and all ops can become vector code.
static LogicalResult verifyScalarRegion(Operation *op, StringRef name, Region &region, TypeRange arguments, TypeRange results) {
  Block &block = region.front();
  if (TypeRange(block.getArgumentTypes()) != arguments)
    return op->emitOpError() << "'" << name << "' takes (" << block.getArgumentTypes() << "), expected (" << arguments << ")";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError() << "'" << name << "' must end in 'logitile.yield'";
  if (yield.getOperandTypes() != results)
    return yield.emitOpError() << "of '" << name << "' gives (" << yield.getOperandTypes() << "), expected (" << results << ")";
  for (Operation &inner : block)
    if (!isa<YieldOp, ColumnOp, WeighOp, SigmoidOp, SoftplusOp>(inner) && !inner.hasTrait<OpTrait::ConstantLike>() &&
        !OpTrait::hasElementwiseMappableTraits(&inner))
      return inner.emitOpError() << "is not elementwise; the region of '" << name << "' holds scalar arith and math ops";
  return success();
}

LogicalResult MapOp::verifyRegions() {
  return verifyScalarRegion(*this, "map", getBody(), elementsOf(getInputs()), elementsOf(getResults()));
}
LogicalResult UpdateRowsOp::verifyRegions() {
  SmallVector<Type> state = elementsOf(getRows()), inputs = elementsOf(getInputs()), two = state, all = state;
  two.append(state);
  two.append(inputs);
  all.append(inputs);
  Block &bound = getBound().front();
  size_t maxima = bound.empty() ? 0 : bound.back().getNumOperands();
  if (maxima > state.size())
    return emitOpError() << "'bound' gives " << maxima << " candidates for " << state.size() << " entries of state";
  return failure(failed(verifyScalarRegion(*this, "init", getInit(), {}, state)) ||
                 failed(verifyScalarRegion(*this, "bound", getBound(), inputs, TypeRange(state).take_front(maxima))) ||
                 failed(verifyScalarRegion(*this, "update", getUpdate(), all, state)) ||
                 failed(verifyScalarRegion(*this, "merge", getMerge(), two, state)));
}
