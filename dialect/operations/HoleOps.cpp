// HoleOps.cpp - checks of the holes of templates and of the ops that fill them in kernels: what
// regions take and give, and how the tiles fit together.
#include "dialect/checks/Checks.h"
#include "dialect/types/Limits.h"
#include "llvm/ADT/DenseSet.h"
using namespace mlir;
using namespace logitile;

// ---- holes --------------------------------------------------------------------------------------

namespace {
/// A hole of the closed set: the bundles that it takes and gives, and whether it looks along the
/// vocabulary.
struct Hole {
  StringLiteral name;
  SmallVector<BundleKind, 3> inputs, results;
  bool hasColumn;
};
} // namespace

static const Hole *findHole(StringRef name) {
  using enum BundleKind;
  static const Hole holes[] = {
      {"update", {RowState, Logits, Inputs}, {RowState}, true},
      {"merge", {RowState, RowState, Inputs}, {RowState}, false},
      {"finish", {RowState, Inputs}, {Results}, false},
      {"base", {RowState, Logits, Inputs}, {Bases, Centres}, true},
      {"gradient", {Logits, Inputs, Centres}, {Grads, VocabGrads, DenseGrads}, true},
  };
  const Hole *hole = llvm::find_if(holes, [&](const Hole &known) { return known.name == name; });
  return hole == std::end(holes) ? nullptr : hole;
}

static LogicalResult verifyKinds(ApplyOp op, StringRef verb, TypeRange types, ArrayRef<BundleKind> kinds) {
  bool fits = types.size() == kinds.size() && llvm::all_of(llvm::zip(types, kinds), [](auto pair) {
                return cast<BundleType>(std::get<0>(pair)).getKind() == std::get<1>(pair);
              });
  if (fits)
    return success();
  InFlightDiagnostic error = op.emitOpError() << "'@" << op.getHole() << "' " << verb << " (";
  llvm::interleaveComma(kinds, error, [&](BundleKind kind) { error << stringifyBundleKind(kind); });
  return error << "), got (" << types << ")";
}

/// All bundles have the same tokens; all with a vocabulary axis have the same columns, the others
/// one.
static LogicalResult verifyExtents(ApplyOp op, bool hasColumn) {
  SmallVector<BundleType> types;
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op.getInputs().getTypes()), SmallVector<Type>(op.getResults().getTypes())))
    types.push_back(cast<BundleType>(type));
  Attribute columns = dimension(op.getContext(), 1);
  if (hasColumn)
    columns = llvm::find_if(types, [](BundleType type) { return type.getKind() == BundleKind::Logits; })->getDims()[1];
  for (BundleType type : types) {
    if (type.getDims()[0] != types.front().getDims()[0])
      return op.emitOpError() << "'@" << op.getHole() << "' meets " << types.front() << " and " << type << ", which differ in their tokens";
    if (type.getDims().size() == 2 && type.getDims()[1] != columns)
      return op.emitOpError() << "'@" << op.getHole() << "' meets " << type << "; expected the columns of its logits, or 1 without logits";
  }
  return success();
}

LogicalResult ApplyOp::verify() {
  const Hole *hole = findHole(getHole());
  if (!hole)
    return emitOpError() << "no hole '@" << getHole() << "'; expected @update, @merge, @finish, @base or @gradient";
  if (failed(verifyKinds(*this, "takes", getInputs().getTypes(), hole->inputs)) ||
      failed(verifyKinds(*this, "gives", getResults().getTypes(), hole->results)))
    return failure();
  if (bool(getColumn()) != hole->hasColumn || bool(getLimit()) != hole->hasColumn)
    return emitOpError() << "'@" << getHole() << (hole->hasColumn ? "' needs 'at' and 'below'" : "' takes no 'at' and no 'below'");
  if (getLimit() && failed(verifyDim(*this, "below", *getLimit())))
    return failure();
  return verifyExtents(*this, hole->hasColumn);
}

// ---- regions on tiles ---------------------------------------------------------------------------

static SmallVector<Type> elementsOf(TypeRange tiles) {
  return llvm::to_vector(llvm::map_range(tiles, [](Type type) { return cast<TileType>(type).getElement(); }));
}

/// Region arguments and yielded values match, and all ops can become vector code.
static LogicalResult verifyScalarRegion(Operation *op, StringRef name, Region &region, TypeRange arguments, TypeRange results,
                                        bool hasColumn) {
  if (failed(verifySignature(op, name, region, arguments, results)))
    return failure();
  for (Operation &inner : region.front()) {
    if (isa<ColumnOp>(inner) && !hasColumn)
      return inner.emitOpError() << "stands in '" << name << "', which has no 'at'";
    if (!isa<YieldOp, ColumnOp>(inner) && !isScalarMaths(&inner))
      return inner.emitOpError() << "has no place in '" << name << "': expected arith and math ops on f32, i32 and i1";
  }
  return success();
}

/// A tile that is repeated along an axis has an extent of 1 there, any other one the extent of
/// 'shape'.
static LogicalResult verifyRepeats(Operation *op, StringRef name, ValueRange tiles, ArrayRef<Attribute> shape, StringRef whole) {
  Attribute one = dimension(op->getContext(), 1);
  for (auto [i, tile] : llvm::enumerate(tiles))
    for (auto [dim, extent] : llvm::zip_equal(cast<TileType>(tile.getType()).getDims(), shape))
      if (dim != one && dim != extent)
        return op->emitOpError() << "'" << name << "' " << i << " is " << tile.getType() << ", which does not fit into " << whole;
  return success();
}
static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << "'" << type << "'";
  return text;
}

LogicalResult InitStateOp::verifyRegions() {
  TypeRange types = getState().getTypes();
  if (getInit().empty()) {
    auto bundle = types.size() == 1 ? dyn_cast<BundleType>(types.front()) : BundleType();
    if (bundle && bundle.getKind() == BundleKind::RowState)
      return success();
    return emitOpError() << "gives (" << types << ") without a region; expected one bundle of row_state, or the sweep's init region";
  }
  if (!llvm::all_of(types, llvm::IsaPred<TileType>))
    return emitOpError() << "gives (" << types << ") from a region; expected tiles";
  return verifyScalarRegion(*this, "init", getInit(), {}, elementsOf(types), /*hasColumn=*/false);
}

LogicalResult MapOp::verifyRegions() {
  if (getResults().empty())
    return emitOpError() << "has no results";
  auto shape = cast<TileType>(getResults().front().getType());
  for (Type type : getResults().getTypes())
    if (cast<TileType>(type).getDims() != shape.getDims())
      return emitOpError() << "gives " << shape << " and " << type << ", which differ in shape";
  if (failed(verifyRepeats(*this, "inputs", getInputs(), shape.getDims(), "the result " + spell(shape))))
    return failure();
  TypeRange state = getResults().getTypes(), inputs = getInputs().getTypes();
  if (getMerges() && (inputs.size() < 2 * state.size() || inputs.take_front(state.size()) != state ||
                      inputs.slice(state.size(), state.size()) != state))
    return emitOpError() << "merges into (" << state << ") from (" << inputs << "); expected two states of these types first";
  return verifyScalarRegion(*this, "map", getBody(), elementsOf(getInputs().getTypes()), elementsOf(getResults().getTypes()),
                            bool(getColumn()));
}

/// Rows are columns of one extent of tokens; inputs are tiles of it.
static LogicalResult verifyRowsAndInputs(UpdateStateOp op) {
  MLIRContext *context = op.getContext();
  Attribute one = dimension(context, 1), columns = one;
  if (op.getState().empty())
    return op.emitOpError() << "has no rows";
  auto rows = cast<TileType>(op.getState().front().getType());
  for (Type type : op.getState().getTypes())
    if (cast<TileType>(type).getDims()[1] != one || cast<TileType>(type).getDims()[0] != rows.getDims()[0])
      return op.emitOpError() << "'state' is (" << op.getState().getTypes() << "); expected one value for each of the same tokens";
  for (Value input : op.getInputs())
    if (Attribute extent = cast<TileType>(input.getType()).getDims()[1]; extent != one)
      columns = columns == one ? extent : columns;
  auto whole = TileType::get(context, {rows.getDims()[0], columns}, Float32Type::get(context));
  for (Type type : op.getEntries().getTypes())
    if (columns == one || cast<TileType>(type).getDims() != whole.getDims())
      return op.emitOpError() << "'entries' has " << type << "; expected tiles of all elements, as " << spell(whole);
  return verifyRepeats(op, "inputs", op.getInputs(), whole.getDims(), spell(whole));
}

/// Maxima are found before the update, which does not change them. So what entries depend on is
/// known before the update of the first column: the inputs and the maxima.
static LogicalResult verifyUpdate(UpdateStateOp op) {
  Block &update = op.getUpdate().front();
  ValueRange yielded = update.getTerminator()->getOperands();
  unsigned slots = op.getState().size(), maxima = op.getCandidate().front().getTerminator()->getNumOperands();
  for (BlockArgument maximum : update.getArguments().take_front(maxima))
    if (yielded[maximum.getArgNumber()] != maximum)
      return op.emitOpError() << "'update' changes state " << maximum.getArgNumber() << ", which is a maximum of candidates";
  for (BlockArgument slot : update.getArguments().take_front(slots).drop_front(maxima)) {
    llvm::DenseSet<Value> changing{slot};
    auto changes = [&](Value value) { return changing.contains(value); };
    for (Operation &made : update.without_terminator())
      if (llvm::any_of(made.getOperands(), changes))
        changing.insert(made.getResult(0));
    if (llvm::any_of(yielded.drop_front(slots), changes))
      return op.emitOpError() << "'update' yields an entry that depends on state " << slot.getArgNumber()
                              << ", which differs from column to column";
  }
  return success();
}

LogicalResult UpdateStateOp::verifyRegions() {
  SmallVector<Type> state = elementsOf(getState().getTypes()), inputs = elementsOf(getInputs().getTypes()), two = state, all = state;
  two.append(state);
  two.append(inputs);
  all.append(inputs);
  SmallVector<Type> updated = state;
  updated.append(elementsOf(getEntries().getTypes()));
  if (getLimit() <= 0)
    return emitOpError() << "'below' is " << getLimit() << ", which must be positive";
  size_t maxima = getCandidate().front().back().getNumOperands();
  if (maxima > state.size())
    return emitOpError() << "'candidate' gives " << maxima << " values for " << state.size() << " slots of row state";
  if (failed(verifyRowsAndInputs(*this)) || failed(verifyScalarRegion(*this, "init", getInit(), {}, state, /*hasColumn=*/false)) ||
      failed(verifyScalarRegion(*this, "candidate", getCandidate(), inputs, TypeRange(state).take_front(maxima), /*hasColumn=*/true)) ||
      failed(verifyScalarRegion(*this, "update", getUpdate(), all, updated, /*hasColumn=*/true)) ||
      failed(verifyScalarRegion(*this, "merge", getMerge(), two, state, /*hasColumn=*/false)))
    return failure();
  if (failed(verifyUpdate(*this)))
    return failure();
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (cast<TileType>(input.getType()).getDims()[1] != dimension(getContext(), 1) &&
        !getMerge().getArgument(2 * state.size() + i).use_empty())
      return emitOpError() << "'merge' uses input " << i << " of " << input.getType() << ", which has a vocabulary axis";
  return success();
}

// ---- lists --------------------------------------------------------------------------------------

/// One bundle of lists and no region in a template, views and a region in a kernel.
static FailureOr<bool> isInTemplate(Operation *op, TypeRange lists, Region &region) {
  bool isBundle = lists.size() == 1 && isa<BundleType>(lists.front());
  if (isBundle && cast<BundleType>(lists.front()).getKind() != BundleKind::ListViews)
    return op->emitOpError() << "takes " << lists.front() << "; expected list_views";
  if (isBundle != region.empty())
    return op->emitOpError() << (isBundle ? "has a region in a template" : "has no region for its lists");
  return isBundle;
}
/// Of words: value and index in one.
static LogicalResult verifyListView(Operation *op, Type type) {
  auto view = dyn_cast<ViewType>(type);
  if (view && view.getDims().size() == 2 && view.getElement().isInteger(64))
    return success();
  return op->emitOpError() << "has a list in " << type << "; expected a view of i64 with 2 dimensions";
}
static LogicalResult verifyPlaces(Operation *op, int64_t places) {
  if (places >= 1 && places <= kMostPlaces)
    return success();
  return op->emitOpError() << "has a list of " << places << " places; a list has 1 to " << kMostPlaces;
}

LogicalResult UpdateListsOp::verifyRegions() {
  FailureOr<bool> isBundle = isInTemplate(*this, getLists().getTypes(), getRank());
  if (failed(isBundle) || failed(verifyDim(*this, "tokens", getTokens())))
    return failure();
  if (*isBundle)
    return success();
  ArrayRef<int64_t> places = getPlaces().value_or(ArrayRef<int64_t>());
  if (places.size() != getLists().size())
    return emitOpError() << "has " << getLists().size() << " lists but 'places' of " << places.size();
  for (auto [list, count] : llvm::zip_equal(getLists().getTypes(), places))
    if (failed(verifyListView(*this, list)) || failed(verifyPlaces(*this, count)))
      return failure();
  SmallVector<Type> values(places.size(), Float32Type::get(getContext()));
  return verifyScalarRegion(*this, "rank", getRank(), elementsOf(getInputs().getTypes()), values, /*hasColumn=*/true);
}

/// Values and indices of each of the 'splits' lists, as long as the list.
static LogicalResult verifyGiven(FinishListOp finish) {
  MLIRContext *context = finish.getContext();
  auto dim = dyn_cast<IntegerAttr>(finish.getSplits());
  int64_t splits = dim ? dim.getInt() : 0, count = finish.getLists().size();
  if (count != 2 * splits || splits > kMostGivenLists)
    return finish.emitOpError() << "takes " << count << " views of given lists, but 'splits' is " << splits
                                << "; each has values and indices, and " << kMostGivenLists << " lists are the most";
  for (auto [i, type] : llvm::enumerate(finish.getLists().getTypes())) {
    auto view = dyn_cast<ViewType>(type);
    Type element = i % 2 == 0 ? Type(Float32Type::get(context)) : IntegerType::get(context, 32);
    if (!view || view.getElement() != element || view.getDims().size() != 2 || view.getDims()[1] != dimension(context, *finish.getPlaces()))
      return finish.emitOpError() << "has " << (i % 2 == 0 ? "values" : "indices") << " of a given list in " << type
                                  << "; expected a view of " << element << " with a column for each of " << *finish.getPlaces() << " places";
  }
  return success();
}

LogicalResult FinishListOp::verifyRegions() {
  FailureOr<bool> isBundle = isInTemplate(*this, getLists().getTypes(), getBody());
  if (failed(isBundle) || failed(verifyDim(*this, "tokens", getTokens())) || failed(verifyDim(*this, "splits", getSplits())))
    return failure();
  if (*isBundle)
    return success();
  if (!getPlaces())
    return emitOpError() << "needs 'places', the length of its list";
  if (failed(verifyPlaces(*this, *getPlaces())) ||
      failed(takesGiven() ? verifyGiven(*this) : verifyListView(*this, getLists().front().getType())))
    return failure();
  if (getPlace() && (*getPlace() < 0 || *getPlace() >= *getPlaces()))
    return emitOpError() << "'place' is " << *getPlace() << ", but the list has " << *getPlaces() << " places";
  SmallVector<Type> arguments{Float32Type::get(getContext()), IntegerType::get(getContext(), 32)}, results;
  arguments.append(elementsOf(getInputs().getTypes()));
  for (Type type : getResults().getTypes()) {
    auto view = dyn_cast<ViewType>(type);
    if (getPlace() && (!view || view.getDims().size() != 1))
      return emitOpError() << "gives results at one place to " << type << "; expected a view with one value per token";
    if (!getPlace() && (!view || view.getDims().size() != 2 || view.getDims()[1] != dimension(getContext(), *getPlaces())))
      return emitOpError() << "gives results to " << type << "; expected a view with a column for each of " << *getPlaces() << " places";
    results.push_back(view.getElement());
  }
  return verifyScalarRegion(*this, "finish", getBody(), arguments, results, /*hasColumn=*/false);
}

// ---- lists that are read ------------------------------------------------------------------------

static bool isOneBundle(ValueRange values, BundleKind kind) {
  auto bundle = values.size() == 1 ? dyn_cast<BundleType>(values.front().getType()) : BundleType();
  return bundle && bundle.getKind() == kind;
}
static bool isAnyBundle(ValueRange values) {
  return llvm::any_of(values, [](Value value) { return isa<BundleType>(value.getType()); });
}
/// A row for each token and a column for each place.
static bool isList(Type type, Type element) {
  auto view = cast<ViewType>(type);
  return view.getDims().size() == 2 && view.getElement() == element;
}

/// Indices and what belongs to each of them: views of equal length.
static LogicalResult verifyPairs(Operation *op, StringRef what, ValueRange views) {
  MLIRContext *context = op->getContext();
  if (views.empty() || views.size() % 2 != 0)
    return op->emitOpError() << "has " << views.size() << " views of " << what << "; indices and numbers come in pairs";
  for (size_t i = 0; i < views.size(); i += 2) {
    Type indices = views[i].getType(), numbers = views[i + 1].getType();
    if (!isList(indices, IntegerType::get(context, 32)) || !isList(numbers, Float32Type::get(context)) ||
        cast<ViewType>(indices).getDims()[1] != cast<ViewType>(numbers).getDims()[1])
      return op->emitOpError() << "has " << what << " in " << indices << " and " << numbers
                               << "; expected views of i32 and f32 with a column for each of the same number of places";
  }
  return success();
}

LogicalResult PickEntriesOp::verify() {
  if (failed(verifyDim(*this, "tokens", getTokens())) || failed(verifyDim(*this, "below", getVocab())))
    return failure();
  if (isAnyBundle(getPicks()) || isAnyBundle(getLogits())) {
    if (isOneBundle(getPicks(), BundleKind::PickViews) && isOneBundle(getLogits(), BundleKind::Logits))
      return success();
    return emitOpError() << "takes (" << getLogits().getTypes() << ") to (" << getPicks().getTypes() << "); expected logits to pick_views";
  }
  if (failed(verifyPairs(*this, "picks", getPicks())))
    return failure();
  if (getPicks().size() != 2 * getLogits().size())
    return emitOpError() << "has " << getLogits().size() << " tiles of logits for " << getPicks().size() / 2 << " picks";
  return success();
}

LogicalResult ScatterTermsOp::verify() {
  if (failed(verifyDim(*this, "tokens", getTokens())) || failed(verifyDim(*this, "columns", getColumns())))
    return failure();
  if (isAnyBundle(getTerms()) || isAnyBundle(getGradients())) {
    if (isOneBundle(getTerms(), BundleKind::ListedViews) && isOneBundle(getGradients(), BundleKind::GradViews))
      return success();
    return emitOpError() << "takes (" << getTerms().getTypes() << ") to (" << getGradients().getTypes()
                         << "); expected listed_views to grad_views";
  }
  if (getGradients().size() != 1 || cast<ViewType>(getGradients().front().getType()).getDims().size() != 2)
    return emitOpError() << "adds to (" << getGradients().getTypes() << "); expected one matrix";
  return verifyPairs(*this, "terms", getTerms());
}

/// Each list has a view, an index and a table, or these and the map of its rows.
static LogicalResult verifyReads(FinishPlacesOp finish, SmallVectorImpl<Type> &values) {
  size_t next = 0;
  ValueRange views = finish.getLists();
  Attribute places = dimension(finish.getContext(), *finish.getPlaces());
  ArrayRef<int64_t> reads = *finish.getReads();
  for (int64_t count : reads) {
    if (count < 1 || count > 3 || next + count > views.size())
      return finish.emitOpError() << "has 'reads' [" << reads << "] of " << views.size() << " views; expected 1 to 3 for each list";
    auto first = cast<ViewType>(views[next].getType()), table = cast<ViewType>(views[next + (count > 1)].getType());
    if (first.getDims().size() != 2 || first.getDims()[1] != places || (count > 1 && !first.getElement().isInteger(32)))
      return finish.emitOpError() << "reads a list in " << first << "; expected a view with a column for each of " << *finish.getPlaces()
                                  << " places" << (count > 1 ? ", of i32" : "");
    if (count > 1 && table.getDims().size() != static_cast<size_t>(count - 1))
      return finish.emitOpError() << "reads entries of " << table << "; expected " << count - 1 << " dimensions";
    values.push_back(isa<RoundedType>(table.getElement()) || isa<FloatType>(table.getElement()) ? Type(Float32Type::get(finish.getContext()))
                                                                                               : table.getElement());
    next += count;
  }
  if (next != views.size())
    return finish.emitOpError() << "has 'reads' [" << reads << "] of " << views.size() << " views";
  return success();
}

LogicalResult FinishPlacesOp::verifyRegions() {
  if (failed(verifyDim(*this, "tokens", getTokens())))
    return failure();
  if (isAnyBundle(getLists()) || isAnyBundle(getResults())) {
    if (isOneBundle(getLists(), BundleKind::PlaceViews) && isOneBundle(getResults(), BundleKind::ResultViews) && getBody().empty())
      return success();
    return emitOpError() << "takes (" << getLists().getTypes() << ") to (" << getResults().getTypes()
                         << "); expected place_views to result_views, without a region";
  }
  if (!getPlaces() || !getReads() || getBody().empty() || getResults().empty())
    return emitOpError() << "needs 'places', the length of its lists, 'reads', a view for each result, and a region";
  if (*getPlaces() < 1 || *getPlaces() > kMostReadPlaces)
    return emitOpError() << "'places' is " << *getPlaces() << "; a list that is read has 1 to " << kMostReadPlaces;
  SmallVector<Type> arguments, results;
  if (failed(verifyReads(*this, arguments)))
    return failure();
  arguments.append(elementsOf(getInputs().getTypes()));
  for (Type type : getResults().getTypes()) {
    auto view = cast<ViewType>(type);
    bool isFine = getSummed() ? view.getDims().size() == 1 && view.getElement().isF32()
                              : view.getDims().size() == 2 && view.getDims()[1] == dimension(getContext(), *getPlaces());
    if (!isFine)
      return emitOpError() << "gives results to " << type << "; expected "
                           << (getSummed() ? "a view of f32 with one value per token" : "a view with a column for each place");
    results.push_back(view.getElement());
  }
  return verifyScalarRegion(*this, "finish", getBody(), arguments, results, /*hasColumn=*/false);
}
