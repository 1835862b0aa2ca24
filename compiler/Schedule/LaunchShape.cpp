// LaunchShape.cpp - resolves the bundles of a launch from its program and schedule. Cloning is
// Specialise's job.
#include "compiler/Schedule/LaunchShape.h"
using namespace mlir;
using namespace logitile;

// ---- which buffer -------------------------------------------------------------------------------

BufferKey logitile::bufferOf(InputOp input) {
  if (input.getKind() == InputKind::Cotangent)
    return {BufferRole::Cotangent, input.getName()};
  if (input.getKind() == InputKind::TokenIndex)
    return {BufferRole::TokenMap};
  if (input.getKind() == InputKind::SliceOffset)
    return {BufferRole::SliceOffset};
  return {BufferRole::Input, input.getName(), input.getIndex()};
}
BufferKey logitile::bufferOf(ResultAttr result) { return {BufferRole::Result, result.getFinish().getValue(), result.getNumber()}; }
BufferKey logitile::bufferOf(PickedOp picked) {
  return {BufferRole::RowPick, picked.getSource().getFinish().getValue(), picked.getSource().getNumber()};
}
BufferKey logitile::bufferOf(Value value) {
  auto known = value.getDefiningOp<KnownOp>();
  return known ? bufferOf(known.getSource()) : bufferOf(value.getDefiningOp<InputOp>());
}

// ---- inputs -------------------------------------------------------------------------------------

/// The kind with the same axes that callers give inputs of.
static InputKind axesOf(InputKind kind) {
  switch (kind) {
  case InputKind::TokenIndex:
    return InputKind::Token;
  case InputKind::SliceOffset:
    return InputKind::Scalar;
  default:
    return kind;
  }
}

InputRef logitile::getInputRef(Operation *op) {
  if (auto known = dyn_cast<KnownOp>(op))
    return {bufferOf(known.getSource()), InputKind::Token, known.getType(), std::nullopt};
  if (auto input = dyn_cast<InputOp>(op))
    return {bufferOf(input), axesOf(input.getKind()), input.getType(), std::nullopt};
  if (auto picked = dyn_cast<PickedOp>(op))
    return {bufferOf(picked), InputKind::Token, picked.getType(), std::nullopt};
  auto pick = cast<GatherOp>(op);
  InputRef ref = getInputRef(pick.getValue().getDefiningOp());
  ref.index = bufferOf(pick.getIndex());
  return ref;
}

/// A gradient that is stored again is relative to the last reference.
InputRef LaunchShape::refOf(Operation *op) const {
  InputRef ref = getInputRef(op);
  ReferenceAttr reference = repairs ? GradientOp(gradient).getReferenceAttr() : ReferenceAttr();
  if (reference && ref.buffer == bufferOf(reference.getFirst()))
    ref.buffer = bufferOf(reference.getLast());
  return ref;
}

void LaunchShape::add(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  bool isList = placesRead(gather ? gather.getIndex().getDefiningOp() : op) > 0;
  SmallVector<InputRef> &refs = isList ? listInputs : inputs;
  InputRef ref = refOf(op);
  if (!llvm::is_contained(refs, ref))
    refs.push_back(ref);
}

/// Whether every use of 'input' picks single entries, so that the whole of it is not read.
static bool isOnlyGathered(InputOp input) {
  return (input.getKind() == InputKind::Vocab || input.getKind() == InputKind::Dense) &&
         llvm::all_of(input->getUses(), [](OpOperand &use) { return isa<GatherOp>(use.getOwner()); });
}
/// Whether every use of 'read' is the index of a gather.
static bool isOnlyIndex(Operation *read) {
  return !read->use_empty() &&
         llvm::all_of(read->getUses(), [](OpOperand &use) { return isa<GatherOp>(use.getOwner()) && use.getOperandNumber() == 1; });
}

/// Whether every use of 'read' is in a gradient that kernels do not make element by element.
static bool isOnlyPerToken(Operation *read) {
  return !read->use_empty() && llvm::all_of(read->getUses(), [](OpOperand &use) {
    auto adjoint = dyn_cast<AdjointOp>(use.getOwner());
    if (!adjoint)
      return false;
    bool perElement = adjoint.getKind() != InputKind::Token && adjoint.getKind() != InputKind::Scalar;
    return !perElement || use.get() != adjoint.getDense();
  });
}

void LaunchShape::collect(Region &region) {
  for (Operation &op : region.getOps()) {
    if (isa<GatherOp>(op))
      add(&op);
    auto input = dyn_cast<InputOp>(op);
    bool isRead = input ? !isOnlyGathered(input) : isa<KnownOp, PickedOp>(op);
    if (!isRead || isOnlyIndex(&op) || isOnlyPerToken(&op))
      continue;
    if (!input || input.getKind() != InputKind::Logits)
      add(&op);
    else if (!llvm::is_contained(projections, input.getName()))
      projections.push_back(input.getName());
  }
}

// ---- the shape of one launch --------------------------------------------------------------------

template <typename OpT> static FailureOr<OpT> lookup(ProgramOp program, LaunchOp launch, StringRef what, std::optional<StringRef> name) {
  if (!name)
    return OpT();
  auto op = dyn_cast_or_null<OpT>(SymbolTable::lookupSymbolIn(program, *name));
  if (!op)
    return launch.emitOpError() << "names " << what << " @" << *name << ", which the program does not have";
  return op;
}

namespace {
/// What a template does with the parts of a program.
struct TemplateUse {
  explicit TemplateUse(TemplateOp source) {
    source.walk([&](Operation *op) {
      auto apply = dyn_cast<ApplyOp>(op);
      auto store = dyn_cast<StoreOp>(op);
      hasRows |= isa<InitStateOp, FinishListOp>(op);
      hasFinish |= isa<FinishListOp, FinishPlacesOp>(op);
      finishesPlaces |= isa<FinishPlacesOp>(op);
      makesOrLoads |= isa<LogitsOp>(op);
      projects |= isa<ProjectOp>(op);
      contracts |= isa<ContractOp>(op);
      hasFinish |= apply && apply.getHole() == "finish";
      hasGradient |= apply && apply.getHole() == "gradient";
      auto views = store ? dyn_cast<BundleType>(store.getView().getType()) : BundleType();
      keeps |= views && views.getKind() == BundleKind::LogitViews;
      mapsRows |= store && store.getMap() && isa<BundleType>(store.getMap().getType());
    });
  }
  bool hasRows = false, makesOrLoads = false, projects = false, contracts = false, mapsRows = false, keeps = false, hasFinish = false,
       hasGradient = false, finishesPlaces = false;
};
} // namespace

/// A launch names no part that its template has no place for: it would be left out without a word.
static LogicalResult verifyPlaces(LaunchOp launch, TemplateOp source, const TemplateUse &use) {
  auto emitRefusal = [&](StringRef what) {
    return launch.emitOpError() << what << ", for which template @" << source.getSymName() << " has no place";
  };
  if (launch.getSweep() && !use.hasRows)
    return emitRefusal("names a sweep");
  if (launch.getFinish() && !use.hasFinish)
    return emitRefusal("names a finish");
  bool multiplies = use.projects || use.contracts;
  if (launch.getAlgorithm() && !multiplies && !use.makesOrLoads)
    return emitRefusal("names an algorithm");
  if (launch.getPart() && !use.mapsRows)
    return emitRefusal("makes a part");
  if (multiplies && !launch.getAlgorithm())
    return launch.emitOpError() << "needs 'using' and an algorithm for the products of template @" << source.getSymName();
  if (launch.getStore() && !use.keeps)
    return emitRefusal("stores logits");
  if (launch.getStore() && use.makesOrLoads && !launch.getAlgorithm())
    return launch.emitOpError() << "stores logits, but makes none: that needs 'using' and an algorithm";
  auto has = [&](Attribute role) { return llvm::is_contained(source.getRoles(), role); };
  auto hasScalar = [&](ScalarRole role) { return has(ScalarRoleAttr::get(source.getContext(), role)); };
  if (launch.getAccumulate() != Accumulate::Never && !hasScalar(ScalarRole::Accumulate))
    return emitRefusal("adds to what is there");
  if (launch.getVocabSplits() && !hasScalar(ScalarRole::VocabSplitFirst))
    return emitRefusal("names vocabulary splits");
  for (NamedAttribute view : launch.viewsOrEmpty())
    if (!has(view.getName()))
      return emitRefusal("gives a buffer for '" + view.getName().getValue().str() + "'");
  return success();
}

/// A finish takes the rows of its own sweep, and a template of its kind.
static LogicalResult verifyFinish(LaunchOp launch, FinishOp finish, const TemplateUse &use) {
  if (finish && finish.isOfPlaces() != use.finishesPlaces)
    return launch.emitOpError() << "names finish @" << finish.getSymName() << ", which is " << (finish.isOfPlaces() ? "" : "not ")
                                << "of places; its template finishes " << (use.finishesPlaces ? "places" : "tokens");
  if (!finish || finish.getSweep() == launch.getSweep())
    return success();
  auto spell = [](std::optional<StringRef> sweep) { return sweep ? ("sweep @" + *sweep).str() : std::string("no sweep"); };
  return launch.emitOpError() << "names " << spell(launch.getSweep()) << ", but finish @" << finish.getSymName() << " is of "
                              << spell(finish.getSweep());
}

FailureOr<LaunchShape> LaunchShape::get(ProgramOp program, LaunchOp launch, TemplateOp source) {
  FailureOr<SweepOp> sweep = lookup<SweepOp>(program, launch, "sweep", launch.getSweep());
  FailureOr<FinishOp> finish = lookup<FinishOp>(program, launch, "finish", launch.getFinish());
  TemplateUse use(source);
  if (failed(sweep) || failed(finish) || failed(verifyPlaces(launch, source, use)) || failed(verifyFinish(launch, *finish, use)))
    return failure();
  LaunchShape shape;
  shape.projects = use.projects || (use.makesOrLoads && launch.getAlgorithm());
  shape.loads = use.makesOrLoads && !shape.projects;
  shape.program = program;
  shape.schedule = launch->getParentOfType<ScheduleOp>();
  shape.launch = launch;
  shape.sweep = *sweep;
  shape.finish = *finish;
  shape.repairs = source.getPurpose() == Purpose::Repair;

  if (shape.sweep && shape.sweep.getAlong())
    shape.projections.push_back(*shape.sweep.getAlong());
  bool readsState = !shape.finish || !shape.finish.isOfList(); // a finish of a list takes no state to merge
  if (shape.sweep && (use.makesOrLoads || use.projects))
    for (Region *region : {&shape.sweep.getCandidate(), &shape.sweep.getUpdate()})
      shape.collect(*region);
  if (shape.sweep && readsState)
    for (Region *region : {&shape.sweep.getMerge(), &shape.sweep.getRank()})
      shape.collect(*region);
  if (shape.sweep && !shape.finish)
    for (PickAttr pick : shape.sweep.listPicks())
      if (!llvm::is_contained(shape.projections, pick.getLogits()))
        shape.projections.push_back(pick.getLogits());
  if (shape.finish)
    shape.collect(shape.finish.getBody());
  auto gradients = program.getBody().getOps<GradientOp>();
  // A sweep may make one, where it stores the early part of it.
  bool isEarly = use.keeps && launch.getStore() && !gradients.empty() && (*gradients.begin()).factoredAdjoint();
  bool makesGradient = use.hasGradient && (!use.keeps || isEarly);
  if (makesGradient && gradients.empty())
    return launch.emitOpError() << "makes a gradient, but the program has none";
  if (makesGradient) {
    shape.gradient = *gradients.begin();
    shape.collect(shape.gradient.getBody());
  }
  if (use.hasGradient && !makesGradient)
    gradients = {gradients.end(), gradients.end()};
  for (GradientOp gradient : gradients)
    for (AdjointOp adjoint : gradient.getBody().getOps<AdjointOp>()) {
      if (adjoint.getKind() == InputKind::Logits)
        shape.gradients.push_back(adjoint);
      else if (adjoint.getKind() == InputKind::Vocab)
        shape.vocabGradients.push_back(adjoint);
      else if (adjoint.getKind() == InputKind::Dense)
        shape.denseGradients.push_back(adjoint);
    }
  if (launch.getInput() && !shape.adjointOf(*launch.getInput()))
    return launch.emitOpError() << "names input '" << *launch.getInput() << "', of which the program makes no gradient";
  if (failed(shape.orderProjections()))
    return failure();
  return shape;
}

/// In the order of the schedule's projections, and with all that is stored where the launch stores.
LogicalResult LaunchShape::orderProjections() {
  SmallVector<StringRef> ordered;
  for (BufferOp buffer : schedule.getBody().getOps<BufferOp>()) {
    if (buffer.getRole() != BufferRole::Weight)
      continue;
    StringRef projection = buffer.getOwnerName();
    if ((launch.getStore() && find({BufferRole::Stored, projection})) || llvm::is_contained(projections, projection))
      ordered.push_back(projection);
  }
  for (StringRef projection : projections)
    if (!llvm::is_contained(ordered, projection))
      return launch.emitOpError() << "reads logits '" << projection << "', but the schedule has no buffer for "
                                  << describeBuffer(BufferRole::Weight, projection, std::nullopt);
  projections = ordered;
  return success();
}

SmallVector<StringRef> LaunchShape::storedProjections(bool inF32) const {
  return llvm::filter_to_vector(projections, [&](StringRef projection) {
    BufferOp stored = find({BufferRole::Stored, projection});
    return stored && cast<ViewType>(stored.getType()).getElement().isF32() == inF32;
  });
}
SmallVector<StringRef> LaunchShape::storedLogits() const {
  return LaunchOp(launch).getStore() ? storedProjections(/*inF32=*/true) : SmallVector<StringRef>();
}
SmallVector<StringRef> LaunchShape::halfLogits() const {
  return loads || LaunchOp(launch).getStore() ? storedProjections(/*inF32=*/false) : SmallVector<StringRef>();
}
SweepOp LaunchShape::firstSweep() const {
  auto sweeps = ProgramOp(program).getBody().getOps<SweepOp>();
  return sweeps.empty() ? SweepOp() : *sweeps.begin();
}

bool LaunchShape::isRounded(StringRef projection) const {
  BufferOp gradient = find({BufferRole::LogitGradient, projection});
  return gradient && !cast<ViewType>(gradient.getType()).getElement().isF32();
}

static bool isListTerm(Value column) { return placesRead(column.getDefiningOp()) > 0; }

/// Columns and coefficients of the single entries of 'adjoint', alternating: of those that are
/// lists, or of the others.
void LaunchShape::appendTerms(AdjointOp adjoint, bool areLists, Keys &keys) const {
  for (auto [column, coefficient] : llvm::zip_equal(adjoint.getColumns(), adjoint.getCoefficients()))
    if (isListTerm(column) == areLists)
      for (Value value : {column, coefficient})
        keys.push_back(bufferOf(value));
}

AdjointOp LaunchShape::adjointOf(StringRef input) const {
  for (GradientOp gradient : ProgramOp(program).getBody().getOps<GradientOp>())
    for (AdjointOp adjoint : gradient.getBody().getOps<AdjointOp>())
      if (adjoint.getName() == input)
        return adjoint;
  return {};
}

SmallVector<unsigned> LaunchShape::termCounts(BundleKind kind) const {
  SmallVector<unsigned> counts;
  if (kind == BundleKind::ClearedViews)
    return llvm::map_to_vector(gradients, [](AdjointOp adjoint) -> unsigned { return adjoint.getColumns().size(); });
  for (AdjointOp adjoint : gradients) {
    unsigned lists = llvm::count_if(adjoint.getColumns(), isListTerm), others = adjoint.getColumns().size() - lists;
    bool takes = kind == BundleKind::ListedViews || isRounded(adjoint.getName()) == (kind == BundleKind::ExtractedViews);
    counts.push_back(takes ? 2 * (kind == BundleKind::ListedViews ? lists : others) : 0);
  }
  return counts;
}

int64_t LaunchShape::viewsOf(const InputRef &listInput) {
  return listInput.isGathered() ? listInput.kind == InputKind::Dense ? 3 : 2 : 1;
}

/// Indices of each pick, and where the logits there go.
LaunchShape::Keys LaunchShape::pickKeys() const {
  Keys keys;
  for (auto [number, pick] : llvm::enumerate(sweep ? SweepOp(sweep).listPicks() : SmallVector<PickAttr>())) {
    auto result = dyn_cast<ResultAttr>(pick.getIndex());
    keys.push_back(result ? bufferOf(result) : BufferKey{BufferRole::Input, cast<StringAttr>(pick.getIndex()).getValue()});
    keys.push_back({BufferRole::RowPick, SweepOp(sweep).getSymName(), static_cast<int64_t>(number)});
  }
  return keys;
}

/// Columns of sparse terms, whose entries do not count in what is stored.
LaunchShape::Keys LaunchShape::clearedKeys() const {
  Keys keys;
  for (AdjointOp adjoint : gradients)
    for (Value column : adjoint.getColumns())
      keys.push_back(bufferOf(column));
  return keys;
}
LaunchShape::Keys LaunchShape::factorKeys() const {
  std::optional<StringRef> input = LaunchOp(launch).getInput();
  AdjointOp adjoint = input ? adjointOf(*input) : AdjointOp();
  return adjoint && adjoint.getFactor() ? Keys{bufferOf(adjoint.getFactor())} : Keys();
}

LaunchShape::Keys LaunchShape::listedKeys() const {
  Keys keys;
  for (AdjointOp adjoint : gradients)
    appendTerms(adjoint, /*areLists=*/true, keys);
  return keys;
}

/// What a finish reads at each place: indices, what they index, and the map of its rows, where
/// there are these.
LaunchShape::Keys LaunchShape::placeKeys() const {
  Keys keys;
  for (const InputRef &ref : listInputs) {
    if (ref.isGathered())
      keys.push_back(*ref.index);
    keys.push_back(ref.buffer);
    if (viewsOf(ref) == 3)
      keys.push_back({BufferRole::InputMap, ref.buffer.owner});
  }
  return keys;
}

/// What inputs are read from: each with the buffer of its index and the map of its rows, where it
/// has them.
LaunchShape::Keys LaunchShape::inputKeys() const {
  Keys keys;
  for (const InputRef &ref : inputs) {
    keys.push_back(ref.buffer);
    if (ref.isGathered())
      keys.push_back(*ref.index);
    if (ref.kind == InputKind::Dense)
      keys.push_back({BufferRole::InputMap, ref.buffer.owner});
  }
  return keys;
}

LaunchShape::Keys LaunchShape::termKeys(bool extracted) const {
  Keys keys;
  if (std::optional<StringRef> input = LaunchOp(launch).getInput()) {
    AdjointOp adjoint = adjointOf(*input);
    bool ofLogits = adjoint && adjoint.getKind() == InputKind::Logits;
    if (adjoint && (ofLogits ? extracted && isRounded(*input) : !extracted))
      appendTerms(adjoint, /*areLists=*/false, keys);
    if (adjoint && !ofLogits && !extracted)
      appendTerms(adjoint, /*areLists=*/true, keys);
    return keys;
  }
  for (AdjointOp adjoint : gradients)
    if (isRounded(adjoint.getName()) == extracted)
      appendTerms(adjoint, /*areLists=*/false, keys);
  return keys;
}

static SmallVector<StringRef> inputsOf(ArrayRef<AdjointOp> adjoints) {
  return llvm::map_to_vector(adjoints, [](AdjointOp adjoint) -> StringRef { return adjoint.getName(); });
}

LaunchShape::Keys LaunchShape::keysOf(BundleKind kind) const {
  auto each = [](auto &&owners, BufferRole role) {
    return llvm::map_to_vector(owners, [&](StringRef owner) { return BufferKey{role, owner}; });
  };
  auto numbered = [](BufferRole role, StringRef part, int64_t n) {
    return llvm::map_to_vector(llvm::seq(n), [&](int64_t i) { return BufferKey{role, part, i}; });
  };
  auto either = [&](BufferRole made, BufferRole given) {
    return llvm::map_to_vector(projections,
                               [&](StringRef projection) { return BufferKey{find({made, projection}) ? made : given, projection}; });
  };
  switch (kind) {
  case BundleKind::Hiddens:
    return loads ? Keys() : either(BufferRole::PackedRows, BufferRole::Hidden);
  case BundleKind::Weights:
    return loads ? Keys() : either(BufferRole::RoundedWeight, BufferRole::Weight);
  case BundleKind::LogitViews:
    return each(storedLogits(), BufferRole::Stored);
  case BundleKind::BaseViews:
    return loads ? Keys() : Keys(each(halfLogits(), BufferRole::Stored));
  case BundleKind::CentreViews:
    return llvm::filter_to_vector(each(halfLogits(), BufferRole::Centre), [&](const BufferKey &key) { return bool(find(key)); });
  case BundleKind::StoredViews:
    return projects ? Keys() : Keys(each(projections, BufferRole::Stored));
  case BundleKind::GradViews:
    return each(inputsOf(gradients), BufferRole::LogitGradient);
  case BundleKind::VocabGradViews:
    return each(inputsOf(vocabGradients), BufferRole::InputBlocks);
  case BundleKind::DenseGradViews:
    return each(inputsOf(denseGradients), BufferRole::InputGradient);
  case BundleKind::InputViews:
    return inputKeys();
  case BundleKind::StateViews:
    return sweep ? numbered(BufferRole::RowState, SweepOp(sweep).getSymName(), SweepOp(sweep).getStateTypes().size()) : Keys();
  case BundleKind::ListViews:
    return listKeys();
  case BundleKind::PickViews:
    return pickKeys();
  case BundleKind::PlaceViews:
    return placeKeys();
  case BundleKind::ListedViews:
    return listedKeys();
  case BundleKind::ClearedViews:
    return clearedKeys();
  case BundleKind::FactorViews:
    return factorKeys();
  case BundleKind::ResultViews:
    return finish ? numbered(BufferRole::Result, FinishOp(finish).getSymName(), FinishOp(finish).getResultTypes().size()) : Keys();
  case BundleKind::SparseViews:
    return termKeys(/*extracted=*/false);
  case BundleKind::ExtractedViews:
    return LaunchOp(launch).getPart() ? Keys() : termKeys(/*extracted=*/true);
  case BundleKind::RowMaps:
    return LaunchOp(launch).getPart() ? Keys() : Keys{{BufferRole::TokenMap}};
  default: // bundles of values
    return {};
  }
}

/// The lists that the launch fills or puts in order, or those that are given.
LaunchShape::Keys LaunchShape::listKeys() const {
  Keys keys;
  for (int64_t list : lists())
    keys.push_back({BufferRole::RowList, SweepOp(sweep).getSymName(), list});
  if (finish && FinishOp(finish).getGiven())
    for (StringRef input : FinishOp(finish).getGiven()->getAsValueRange<StringAttr>())
      keys.push_back({BufferRole::Input, input});
  return keys;
}
SmallVector<int64_t> LaunchShape::lists() const {
  if (!sweep)
    return {};
  if (!finish)
    return llvm::to_vector(llvm::seq<int64_t>(SweepOp(sweep).getPlaces().size()));
  std::optional<int64_t> list = FinishOp(finish).getList();
  return list ? SmallVector<int64_t>{*list} : SmallVector<int64_t>();
}

FailureOr<SmallVector<BufferOp>> LaunchShape::buffersOf(BundleKind kind) const {
  SmallVector<BufferOp> buffers;
  for (const BufferKey &key : keysOf(kind)) {
    BufferOp buffer = find(key);
    if (!buffer)
      return LaunchOp(launch).emitOpError() << "needs a buffer for " << describeBuffer(key.role, key.owner, key.number)
                                            << ", which the schedule does not define";
    if (kind != BundleKind::InputViews || !llvm::is_contained(buffers, buffer))
      buffers.push_back(buffer);
  }
  return buffers;
}

LogicalResult LaunchShape::expand(BundleType type, SmallVectorImpl<Type> &types) const {
  MLIRContext *context = type.getContext();
  ArrayRef<Attribute> dims = type.getDims();
  Attribute one = dimension(context, 1);
  auto tiles = [&](size_t count) { types.append(count, TileType::get(context, dims, type.getElement())); };
  auto perToken = [&](ArrayAttr elements) {
    for (Type element : elements.getAsValueRange<TypeAttr>())
      types.push_back(TileType::get(context, {dims[0], one}, element));
  };
  switch (type.getKind()) {
  case BundleKind::Logits:
    tiles(projections.size());
    return success();
  case BundleKind::Grads:
    tiles(gradients.size());
    return success();
  case BundleKind::VocabGrads:
    tiles(vocabGradients.size());
    return success();
  case BundleKind::DenseGrads:
    tiles(denseGradients.size());
    return success();
  case BundleKind::RowState:
    if (sweep)
      perToken(SweepOp(sweep).getStateTypes());
    return success();
  case BundleKind::Results:
    if (finish)
      perToken(FinishOp(finish).getResultTypes());
    return success();
  case BundleKind::Bases:
    tiles(loads ? 0 : halfLogits().size());
    return success();
  case BundleKind::Centres:
    types.append(keysOf(BundleKind::CentreViews).size(), TileType::get(context, {dims[0], one}, Float32Type::get(context)));
    return success();
  case BundleKind::Factors:
    types.append(factorKeys().size(), TileType::get(context, {dims[0], one}, Float32Type::get(context)));
    return success();
  case BundleKind::Inputs:
    for (const InputRef &ref : inputs) {
      bool hasRow = ref.kind != InputKind::Scalar && (ref.kind != InputKind::Vocab || ref.isGathered());
      bool hasColumn = (ref.kind == InputKind::Vocab || ref.kind == InputKind::Dense) && !ref.isGathered();
      types.push_back(TileType::get(context, {hasRow ? dims[0] : one, hasColumn ? dims[1] : one}, ref.type));
    }
    return success();
  default: {
    FailureOr<SmallVector<BufferOp>> buffers = buffersOf(type.getKind());
    if (failed(buffers))
      return failure();
    for (BufferOp buffer : *buffers)
      types.push_back(buffer.getType());
    return success();
  }
  }
}
