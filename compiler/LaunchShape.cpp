// LaunchShape.cpp - resolves the bundles of a launch from its program and schedule. Cloning is Specialise's job.
#include "compiler/LaunchShape.h"
using namespace mlir;
using namespace logitile;

// ---- names of buffers -------------------------------------------------------------------------------------------

bool buffers::isReadInEveryCall(StringRef name) {
  return llvm::is_contained({kFacts, kTokenSlots, kWrongTokens, kTokenMap}, name);
}

std::string buffers::input(InputKind kind, StringRef name, int64_t index) {
  if (kind == InputKind::Upstream || kind == InputKind::Known)
    return (stringifyInputKind(kind) + "." + name).str();
  return index < 0 ? name.str() : (name + "[" + Twine(index) + "]").str();
}
std::string buffers::hidden(StringRef pair) { return (pair + ".hidden").str(); }
std::string buffers::weight(StringRef pair) { return (pair + ".weight").str(); }
std::string buffers::rounded(StringRef operand) { return ("rounded." + operand).str(); }
std::string buffers::packedRows(StringRef pair) { return ("packed." + pair + ".rows").str(); }
std::string buffers::packedColumns(StringRef pair) { return ("packed." + pair + ".columns").str(); }
std::string buffers::centre(StringRef pair) { return ("centre." + pair).str(); }
std::string buffers::kept(StringRef pair) { return ("kept." + pair).str(); }
std::string buffers::grad(StringRef pair) { return ("grad." + pair).str(); }
std::string buffers::blocks(StringRef vocab) { return ("blocks." + vocab).str(); }
std::string buffers::gradient(StringRef input) { return ("gradient." + input).str(); }
std::string buffers::rows(StringRef sweep, StringRef entry) { return ("rows." + sweep + "." + entry).str(); }
std::string buffers::sum(StringRef input) { return ("sum." + input).str(); }
std::string buffers::map(StringRef array) { return ("map." + array).str(); }

// ---- inputs -----------------------------------------------------------------------------------------------------

InputRef logitile::getInputRef(InputOp input) {
  InputRef ref;
  ref.kind = input.getKind();
  ref.name = input.getName();
  ref.index = input.getIndex().value_or(-1);
  ref.type = input.getType();
  return ref;
}
InputRef logitile::getGatherRef(PickOp pick) {
  InputRef ref = getInputRef(pick.getValue().getDefiningOp<InputOp>());
  InputRef by = getInputRef(pick.getIndex().getDefiningOp<InputOp>());
  ref.byKind = by.kind;
  ref.byName = by.name;
  ref.byIndex = by.index;
  return ref;
}

void LaunchShape::add(InputRef ref) {
  if (!llvm::is_contained(inputs, ref))
    inputs.push_back(ref);
}

/// Whether every use of 'input' picks single entries, so that the whole of it is not read.
static bool isOnlyGathered(InputOp input) {
  return (input.getKind() == InputKind::Vocab || input.getKind() == InputKind::Dense) &&
         llvm::all_of(input->getUses(), [](OpOperand &use) { return isa<PickOp>(use.getOwner()); });
}
/// Whether every use of 'input' is the index of a gather.
static bool isOnlyIndex(InputOp input) {
  return !input->use_empty() &&
         llvm::all_of(input->getUses(), [](OpOperand &use) { return isa<PickOp>(use.getOwner()) && use.getOperandNumber() == 1; });
}

/// Whether every use of 'input' is in a gradient that kernels do not make element by element.
static bool isOnlyPerToken(InputOp input) {
  return !input->use_empty() && llvm::all_of(input->getUses(), [](OpOperand &use) {
    auto adjoint = dyn_cast<AdjointOp>(use.getOwner());
    if (!adjoint)
      return false;
    bool perElement = adjoint.getKind() != InputKind::Token && adjoint.getKind() != InputKind::Scalar;
    return !perElement || use.get() != adjoint.getDense();
  });
}

void LaunchShape::collect(Region &region) {
  for (Operation &op : region.getOps()) {
    if (auto pick = dyn_cast<PickOp>(op))
      add(getGatherRef(pick));
    auto input = dyn_cast<InputOp>(op);
    if (!input || isOnlyGathered(input) || isOnlyIndex(input) || isOnlyPerToken(input))
      continue;
    if (input.getKind() != InputKind::Logits)
      add(getInputRef(input));
    else if (!llvm::is_contained(projections, input.getName()))
      projections.push_back(input.getName());
  }
}

// ---- the shape of one launch --------------------------------------------------------------------------------------

template <typename OpT>
static FailureOr<OpT> lookup(ProgramOp program, LaunchOp launch, StringRef what, std::optional<StringRef> name) {
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
      hasRows |= isa<InitRowsOp>(op);
      projects |= isa<ProjectOp>(op);
      hasFinish |= apply && apply.getHole() == "finish";
      hasGradient |= apply && apply.getHole() == "gradient";
      auto views = store ? dyn_cast<BundleType>(store.getView().getType()) : BundleType();
      keeps |= views && views.getKind() == BundleKind::LogitViews;
    });
  }
  bool hasRows = false, projects = false, keeps = false, hasFinish = false, hasGradient = false;
};
} // namespace

/// A launch names no part that its template has no place for: it would be left out without a word.
static LogicalResult verifyPlaces(LaunchOp launch, TemplateOp source, const TemplateUse &use) {
  auto complain = [&](StringRef what) { return launch.emitOpError() << what << ", for which template @" << source.getSymName() << " has no place"; };
  if (launch.getSweep() && !use.hasRows)
    return complain("names a sweep");
  if (launch.getFinish() && !use.hasFinish)
    return complain("names a finish");
  if (launch.getKeep() && !use.keeps)
    return complain("keeps logits");
  auto roles = source.getRoles().getAsValueRange<StringAttr>();
  if (launch.getAgain() != Again::Never && !llvm::is_contained(roles, "again"))
    return complain("adds to what is there");
  if (launch.getSlabs() && !llvm::is_contained(roles, "slab_first"))
    return complain("names slabs");
  for (NamedAttribute view : launch.viewsOrEmpty())
    if (!llvm::is_contained(roles, view.getName().getValue()))
      return complain("gives a buffer for '" + view.getName().getValue().str() + "'");
  return success();
}

/// A finish takes the rows of its own sweep.
static LogicalResult verifyFinish(LaunchOp launch, FinishOp finish) {
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
  if (failed(sweep) || failed(finish) || failed(verifyPlaces(launch, source, use)) || failed(verifyFinish(launch, *finish)))
    return failure();
  LaunchShape shape;
  shape.projects = use.projects;
  shape.program = program;
  shape.schedule = launch->getParentOfType<ScheduleOp>();
  shape.launch = launch;
  shape.sweep = *sweep;
  shape.finish = *finish;

  if (shape.sweep && shape.sweep.getAlong())
    shape.projections.push_back(*shape.sweep.getAlong());
  if (shape.sweep)
    for (Region *region : {&shape.sweep.getBound(), &shape.sweep.getUpdate(), &shape.sweep.getMerge()})
      shape.collect(*region);
  if (shape.finish)
    shape.collect(shape.finish.getBody());
  auto gradients = program.getBody().getOps<GradientOp>();
  if (use.hasGradient && gradients.empty())
    return launch.emitOpError() << "makes a gradient, but the program has none";
  if (use.hasGradient) {
    shape.gradient = *gradients.begin();
    shape.collect(shape.gradient.getBody());
  }
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

/// In the order of the schedule's pairs, and with all that is kept where the launch keeps.
LogicalResult LaunchShape::orderProjections() {
  SmallVector<StringRef> ordered;
  for (BufferOp buffer : schedule.getBody().getOps<BufferOp>()) {
    StringRef pair = buffer.getName();
    if (!pair.consume_back(".weight") || buffer.getScope() != Scope::Input)
      continue;
    bool keeps = launch.getKeep() && succeeded(viewOf(buffers::kept(pair), /*complain=*/false));
    if (keeps || llvm::is_contained(projections, pair))
      ordered.push_back(pair);
  }
  for (StringRef pair : projections)
    if (!llvm::is_contained(ordered, pair))
      return launch.emitOpError() << "reads logits '" << pair << "', but the schedule has no input buffer '" << buffers::weight(pair) << "'";
  projections = ordered;
  return success();
}

FailureOr<ViewType> LaunchShape::viewOf(StringRef name, bool complain) const {
  for (BufferOp buffer : ScheduleOp(schedule).getBody().getOps<BufferOp>())
    if (buffer.getName() == name)
      return cast<ViewType>(buffer.getType());
  if (complain)
    LaunchOp(launch).emitOpError() << "needs buffer '" << name << "', which the schedule does not define";
  return failure();
}

SmallVector<StringRef> LaunchShape::keptProjections() const {
  SmallVector<StringRef> kept;
  for (StringRef pair : projections)
    if (succeeded(viewOf(buffers::kept(pair), /*complain=*/false)))
      kept.push_back(pair);
  return kept;
}

bool LaunchShape::isRounded(StringRef pair) const {
  FailureOr<ViewType> view = viewOf(buffers::grad(pair), /*complain=*/false);
  return succeeded(view) && !view->getElement().isF32();
}

/// Columns and coefficients of the single entries of 'adjoint', alternating.
void LaunchShape::appendTerms(AdjointOp adjoint, SmallVectorImpl<std::string> &names) const {
  for (auto [column, coefficient] : llvm::zip_equal(adjoint.getColumns(), adjoint.getCoefficients()))
    for (Value value : {column, coefficient}) {
      InputRef ref = getInputRef(value.getDefiningOp<InputOp>());
      names.push_back(buffers::input(ref.kind, ref.name, ref.index));
    }
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
  for (AdjointOp adjoint : gradients)
    counts.push_back(isRounded(adjoint.getName()) == (kind == BundleKind::TakenViews) ? 2 * adjoint.getColumns().size() : 0);
  return counts;
}

SmallVector<std::string> LaunchShape::buffersOf(BundleKind kind) const {
  SmallVector<std::string> names;
  auto forEach = [&](auto &&range, auto name) {
    for (auto &&element : range)
      names.push_back(name(element));
  };
  auto nameOf = [](AdjointOp adjoint) { return adjoint.getName(); };
  switch (kind) {
  case BundleKind::Hiddens:
    forEach(projections, [&](StringRef pair) {
      std::string packed = buffers::packedRows(pair);
      return succeeded(viewOf(packed, /*complain=*/false)) ? packed : buffers::hidden(pair);
    });
    break;
  case BundleKind::Weights:
    forEach(projections, [&](StringRef pair) {
      std::string weight = buffers::weight(pair), rounded = buffers::rounded(weight);
      return succeeded(viewOf(rounded, /*complain=*/false)) ? rounded : weight;
    });
    break;
  case BundleKind::LogitViews:
    if (!projects || LaunchOp(launch).getKeep())
      forEach(keptProjections(), buffers::kept);
    break;
  case BundleKind::GradViews:
    forEach(gradients, [&](AdjointOp adjoint) { return buffers::grad(nameOf(adjoint)); });
    break;
  case BundleKind::VocabGradViews:
    forEach(vocabGradients, [&](AdjointOp adjoint) { return buffers::blocks(nameOf(adjoint)); });
    break;
  case BundleKind::DenseGradViews:
    forEach(denseGradients, [&](AdjointOp adjoint) { return buffers::gradient(nameOf(adjoint)); });
    break;
  case BundleKind::InputViews:
    for (const InputRef &ref : inputs) {
      for (std::string name : {buffers::input(ref.kind, ref.name, ref.index),
                               ref.isGathered() ? buffers::input(ref.byKind, ref.byName, ref.byIndex) : std::string(),
                               ref.kind == InputKind::Dense ? buffers::map(ref.name) : std::string()})
        if (!name.empty() && !llvm::is_contained(names, name))
          names.push_back(name);
    }
    break;
  case BundleKind::RowViews:
    if (sweep)
      forEach(SweepOp(sweep).getStateNames().getAsValueRange<StringAttr>(),
              [&](StringRef entry) { return buffers::rows(SweepOp(sweep).getSymName(), entry); });
    break;
  case BundleKind::ResultViews:
    if (finish)
      forEach(FinishOp(finish).getResultNames().getAsValueRange<StringAttr>(),
              [&](StringRef name) { return buffers::input(InputKind::Known, name); });
    break;
  case BundleKind::TermViews:
  case BundleKind::TakenViews: {
    bool taken = kind == BundleKind::TakenViews;
    if (std::optional<StringRef> input = LaunchOp(launch).getInput()) {
      AdjointOp adjoint = adjointOf(*input);
      bool ofLogits = adjoint && adjoint.getKind() == InputKind::Logits;
      if (adjoint && (ofLogits ? taken && isRounded(*input) : !taken))
        appendTerms(adjoint, names);
      break;
    }
    for (AdjointOp adjoint : gradients)
      if (isRounded(adjoint.getName()) == taken)
        appendTerms(adjoint, names);
    break;
  }
  default:
    break;
  }
  return names;
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
  case BundleKind::Rows:
    if (sweep)
      perToken(SweepOp(sweep).getStateTypes());
    return success();
  case BundleKind::Results:
    if (finish)
      perToken(FinishOp(finish).getResultTypes());
    return success();
  case BundleKind::Inputs:
    for (const InputRef &ref : inputs) {
      bool hasRow = ref.kind != InputKind::Scalar && (ref.kind != InputKind::Vocab || ref.isGathered());
      bool hasColumn = (ref.kind == InputKind::Vocab || ref.kind == InputKind::Dense) && !ref.isGathered();
      types.push_back(TileType::get(context, {hasRow ? dims[0] : one, hasColumn ? dims[1] : one}, ref.type));
    }
    return success();
  default:
    for (const std::string &name : buffersOf(type.getKind())) {
      FailureOr<ViewType> view = viewOf(name);
      if (failed(view))
        return failure();
      types.push_back(*view);
    }
    return success();
  }
}
