// TileOps.cpp - checks of the ops that move and contract tiles. Holes and their regions are
// HoleOps.cpp; which symbols may be used is checked by the kernel, in KernelOps.cpp.
#include "dialect/checks/Checks.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

// ---- shared checks ------------------------------------------------------------------------------

static bool isBundle(Value value) { return isa<BundleType>(value.getType()); }

static LogicalResult verifyBothBundles(Operation *op, StringRef one, Value a, StringRef other, Value b) {
  if (isBundle(a) == isBundle(b))
    return success();
  return op->emitOpError() << "'" << one << "' is " << a.getType() << " but '" << other << "' is " << b.getType()
                           << "; bundles meet bundles";
}
/// A bundle, where 'value' is one, is of this kind.
static LogicalResult verifyKind(Operation *op, StringRef name, Value value, BundleKind kind) {
  auto bundle = dyn_cast<BundleType>(value.getType());
  if (!bundle || bundle.getKind() == kind)
    return success();
  return op->emitOpError() << "'" << name << "' is " << bundle << ", expected a bundle of " << stringifyBundleKind(kind);
}
/// A map gives one i32 per token.
static LogicalResult verifyMap(Operation *op, Value map) {
  if (!map)
    return success();
  if (isBundle(map))
    return verifyKind(op, "map", map, BundleKind::RowMaps);
  auto view = cast<ViewType>(map.getType());
  if (view.getDims().size() == 1 && view.getElement().isInteger(32))
    return success();
  return op->emitOpError() << "'map' is " << view << "; expected one i32 per token";
}
static LogicalResult verifyMatrix(Operation *op, StringRef name, Value view) {
  auto type = dyn_cast<ViewType>(view.getType());
  if (!type || type.getDims().size() == 2)
    return success();
  return op->emitOpError() << "'" << name << "' is " << type << "; expected 2 dimensions";
}

static ArrayRef<Attribute> dimsOf(Value value) {
  return llvm::TypeSwitch<Type, ArrayRef<Attribute>>(value.getType()).Case<TileType, ViewType, BundleType>([](auto type) {
    return type.getDims();
  });
}
static std::string spell(Attribute dim) {
  if (auto symbol = dyn_cast<SymbolicDimAttr>(dim))
    return symbol.getName().str();
  int64_t extent = cast<IntegerAttr>(dim).getInt();
  return ShapedType::isDynamic(extent) ? "?" : std::to_string(extent);
}
/// Two dimensions are equal, by symbol or by extent.
static LogicalResult verifySame(Operation *op, StringRef what, StringRef one, Value a, unsigned i, StringRef other, Value b, unsigned j) {
  Attribute left = dimsOf(a)[i], right = dimsOf(b)[j];
  if (left == right)
    return success();
  return op->emitOpError() << what << " " << spell(left) << " of '" << one << "' must equal " << what << " " << spell(right) << " of '"
                           << other << "'";
}
/// A result that sums over rows has one.
static LogicalResult verifyOneRow(Operation *op, StringRef name, Value tile) {
  Attribute rows = dimsOf(tile)[0];
  if (rows == dimension(op->getContext(), 1))
    return success();
  return op->emitOpError() << "'" << name << "' is " << tile.getType() << " of " << spell(rows) << " rows, expected 1";
}

// ---- memory -------------------------------------------------------------------------------------

namespace {
/// What a bundle of memory holds, and how many indices a tile of it takes.
struct MemoryBundle {
  BundleKind views, tiles;
  unsigned indices;
};
constexpr MemoryBundle kMemory[] = {
    {BundleKind::LogitViews, BundleKind::Logits, 2},
    {BundleKind::BaseViews, BundleKind::Bases, 2},
    {BundleKind::CentreViews, BundleKind::Centres, 2},
    {BundleKind::FactorViews, BundleKind::Factors, 1},
    {BundleKind::StoredViews, BundleKind::Logits, 2},
    {BundleKind::GradViews, BundleKind::Grads, 2},
    {BundleKind::VocabGradViews, BundleKind::VocabGrads, 2},
    {BundleKind::DenseGradViews, BundleKind::DenseGrads, 2},
    {BundleKind::InputViews, BundleKind::Inputs, 2},
    {BundleKind::StateViews, BundleKind::RowState, 2},
    {BundleKind::ResultViews, BundleKind::Results, 1},
};
} // namespace

/// A tile and the memory that it is loaded from or stored to.
static LogicalResult verifyTransfer(Operation *op, Value view, StringRef tileName, Value tile, size_t indices, Value map) {
  if (failed(verifyBothBundles(op, "view", view, tileName, tile)) || failed(verifyMap(op, map)))
    return failure();
  if (auto bundle = dyn_cast<BundleType>(view.getType())) {
    const MemoryBundle *memory = llvm::find_if(kMemory, [&](const MemoryBundle &known) { return known.views == bundle.getKind(); });
    if (memory == std::end(kMemory))
      return op->emitOpError() << "'view' is " << bundle << ", of which no tile is loaded or stored";
    if (failed(verifyKind(op, tileName, tile, memory->tiles)))
      return failure();
    if (indices != memory->indices)
      return op->emitOpError() << "gives " << indices << " indices for " << bundle << ", which takes " << memory->indices;
    return success();
  }
  auto type = cast<ViewType>(view.getType());
  if (type.getDims().size() != indices)
    return op->emitOpError() << "gives " << indices << " indices for " << type << " of " << type.getDims().size() << " dimensions";
  Attribute one = dimension(op->getContext(), 1);
  if (indices == 1 && !llvm::is_contained(dimsOf(tile), one))
    return op->emitOpError() << "'view' has 1 dimension, but '" << tileName << "' is " << tile.getType() << " without an extent of 1";
  return success();
}

LogicalResult LoadOp::verify() { return verifyTransfer(*this, getView(), "result", getResult(), getAt().size(), getMap()); }
LogicalResult StoreOp::verify() {
  if (auto view = dyn_cast<ViewType>(getView().getType()); view && isa<RoundedType>(view.getElement()))
    return emitOpError() << "writes to " << view << ", whose elements are rounded when they are read; such a view is only read";
  return verifyTransfer(*this, getView(), "value", getValue(), getAt().size(), getMap());
}

LogicalResult LoadGatherOp::verify() {
  auto index = cast<TileType>(getIndex().getType()), result = cast<TileType>(getResult().getType());
  if (!index.getElement().isInteger(32))
    return emitOpError() << "'index' has element type " << index.getElement() << ", expected i32";
  if (index.getDims() != result.getDims())
    return emitOpError() << "'index' is " << index << " but the result is " << result;
  if (index.getDims()[1] != dimension(getContext(), 1))
    return emitOpError() << "'index' is " << index << "; expected one index per token";
  bool perToken = cast<ViewType>(getView().getType()).getDims().size() == 2;
  if (perToken != bool(getRow()))
    return emitOpError() << (perToken ? "needs 'at' for a view with one row per token" : "gives 'at' for a view without tokens");
  if (getMap() && !perToken)
    return emitOpError() << "gives 'through' for a view without tokens";
  return verifyMap(*this, getMap());
}

// ---- contractions -------------------------------------------------------------------------------

LogicalResult ProjectOp::verify() {
  if (failed(verifyBothBundles(*this, "hidden", getHidden(), "weight", getWeight())) ||
      failed(verifyBothBundles(*this, "hidden", getHidden(), "result", getResult())) || failed(verifyDim(*this, "by", getDepth())))
    return failure();
  if (isBundle(getHidden()))
    return failure(failed(verifyKind(*this, "hidden", getHidden(), BundleKind::Hiddens)) ||
                   failed(verifyKind(*this, "weight", getWeight(), BundleKind::Weights)) ||
                   failed(verifyKind(*this, "result", getResult(), BundleKind::Logits)));
  return failure(failed(verifyMatrix(*this, "hidden", getHidden())) || failed(verifyMatrix(*this, "weight", getWeight())) ||
                 failed(verifySame(*this, "hidden size", "hidden", getHidden(), 1, "weight", getWeight(), 1)));
}

LogicalResult LogitsOp::verify() {
  return failure(failed(verifyKind(*this, "hidden", getHidden(), BundleKind::Hiddens)) ||
                 failed(verifyKind(*this, "weight", getWeight(), BundleKind::Weights)) ||
                 failed(verifyKind(*this, "stored", getStored(), BundleKind::StoredViews)) ||
                 failed(verifyKind(*this, "result", getResult(), BundleKind::Logits)) || failed(verifyDim(*this, "by", getDepth())));
}

/// The sum that a kernel adds to: a matrix with the columns of 'other'.
static LogicalResult verifyPlus(Operation *op, Value plus, Value when, StringRef name, Value other) {
  if (bool(plus) != bool(when))
    return op->emitOpError() << "has '" << (plus ? "plus" : "when") << "' without '" << (plus ? "when" : "plus") << "'";
  if (!plus)
    return success();
  return failure(failed(verifyMatrix(op, "plus", plus)) || failed(verifySame(op, "columns", name, other, 1, "plus", plus, 1)));
}

LogicalResult ContractOp::verify() {
  if (failed(verifyMatrix(*this, "lhs", getLhs())) || failed(verifyMatrix(*this, "rhs", getRhs())))
    return failure();
  return failure(failed(verifySame(*this, "shared extent", "lhs", getLhs(), getTransposed() ? 0 : 1, "rhs", getRhs(), 0)) ||
                 failed(verifyPlus(*this, getPlus(), getWhen(), "rhs", getRhs())) || failed(verifyDim(*this, "by", getDepth())) ||
                 failed(verifyMap(*this, getMap())));
}

/// A sum that never starts from 'plus' has none.
template <typename OpT> static LogicalResult dropPlus(OpT op, PatternRewriter &rewriter) {
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

// ---- sparse terms -------------------------------------------------------------------------------

/// One bundle of terms, or views in which columns and coefficients alternate; lists of them where
/// the op takes these.
static LogicalResult verifyTerms(Operation *op, ValueRange terms, bool takesLists = false) {
  if (llvm::any_of(terms, isBundle)) {
    auto bundle = terms.size() == 1 ? cast<BundleType>(terms.front().getType()) : BundleType();
    using enum BundleKind;
    if (bundle && llvm::is_contained({SparseViews, ExtractedViews, ClearedViews}, bundle.getKind()))
      return success();
    return op->emitOpError() << "has terms (" << terms.getTypes()
                             << "); expected one bundle of sparse_views, extracted_views or cleared_views, or views";
  }
  if (terms.size() % 2 != 0)
    return op->emitOpError() << "has " << terms.size() << " views of terms; columns and coefficients come in pairs";
  for (auto [i, term] : llvm::enumerate(terms)) {
    auto view = cast<ViewType>(term.getType());
    bool isColumn = i % 2 == 0, isList = takesLists && view.getDims().size() == 2 &&
                                         view.getDims()[1] == cast<ViewType>(terms[i ^ 1].getType()).getDims().back();
    if ((view.getDims().size() != 1 && !isList) || !(isColumn ? view.getElement().isInteger(32) : view.getElement().isF32()))
      return op->emitOpError() << "term view " << i << " is " << view << "; expected one " << (isColumn ? "i32 column" : "f32 coefficient")
                               << " per token";
  }
  return success();
}

LogicalResult ContractSparseOp::verify() {
  return failure(failed(verifyMatrix(*this, "rhs", getRhs())) || failed(verifyTerms(*this, getTerms())));
}

LogicalResult ScaleRowsOp::verify() { return verifyKind(*this, "factors", getFactors(), BundleKind::Factors); }

LogicalResult AnyTokenOp::verify() {
  ViewType flags = cast<ViewType>(getFlags().getType());
  if (flags.getDims().size() != 1 || !flags.getElement().isInteger(32))
    return emitOpError() << "'flags' is " << flags << "; expected a view of i32 with one dimension";
  return verifyDim(*this, "tokens", getTokens());
}

/// Of terms that are cleared there is no more.
static LogicalResult verifyColumns(SparseTermsOp op) {
  for (Type type : op.getTerms().getTypes())
    if (auto view = dyn_cast<ViewType>(type); view && (view.getDims().size() != 1 || !view.getElement().isInteger(32)))
      return op.emitOpError() << "clears entries at " << view << "; expected one i32 column per token";
  return success();
}

LogicalResult SparseTermsOp::verify() {
  bool clears = getAction() == TermAction::Clear && !llvm::any_of(getTerms(), isBundle);
  if (failed(clears ? verifyColumns(*this) : verifyTerms(*this, getTerms(), /*takesLists=*/getAction() == TermAction::Sum)) ||
      failed(verifyKind(*this, "tile", getTile(), BundleKind::Grads)))
    return failure();
  if (isBundle(getTile()) && !llvm::all_of(getTerms(), isBundle))
    return emitOpError() << "'tile' is " << getTile().getType() << " but its terms are (" << getTerms().getTypes()
                         << "); bundles meet bundles";
  if (getAction() == TermAction::Sum)
    return verifyOneRow(*this, "tile", getTile());
  return success();
}

// ---- sums ---------------------------------------------------------------------------------------

LogicalResult SumRowsOp::verify() {
  return failure(failed(verifyMatrix(*this, "view", getView())) || failed(verifyPlus(*this, getPlus(), getWhen(), "view", getView())) ||
                 failed(verifyOneRow(*this, "result", getResult())));
}

LogicalResult SumTokensOp::verify() {
  if (failed(verifyBothBundles(*this, "tile", getTile(), "result", getResult())) ||
      failed(verifyKind(*this, "tile", getTile(), BundleKind::VocabGrads)) ||
      failed(verifyKind(*this, "result", getResult(), BundleKind::VocabGrads)))
    return failure();
  return failure(failed(verifyOneRow(*this, "result", getResult())) ||
                 failed(verifySame(*this, "columns", "tile", getTile(), 1, "result", getResult(), 1)));
}
