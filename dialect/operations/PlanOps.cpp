// PlanOps.cpp - checks of programs, sweeps and finishes. Schedules have a file of their own.
#include "dialect/checks/Checks.h"
#include "dialect/types/Limits.h"
using namespace mlir;
using namespace logitile;

// ---- what a region may read ---------------------------------------------------------------------

/// Whether 'input' is only the table of gathers, so that one entry per token is read.
static bool isGathered(InputOp input) {
  return !input->use_empty() &&
         llvm::all_of(input->getUses(), [](OpOperand &use) { return isa<GatherOp>(use.getOwner()) && use.getOperandNumber() == 0; });
}

/// Whether 'value' lies in memory with one value per token: a token input, or a result of a finish.
static bool isPerToken(Value value) {
  auto input = value.getDefiningOp<InputOp>();
  return value.getDefiningOp<KnownOp>() || (input && input.getKind() == InputKind::Token);
}

/// How many places a list in memory has that 'op' reads; 0 where it reads none.
int64_t logitile::placesRead(Operation *op) {
  auto program = op->getParentOfType<ProgramOp>();
  if (auto input = dyn_cast<InputOp>(op))
    return input.getPlaces().value_or(0);
  if (auto known = dyn_cast<KnownOp>(op)) {
    FinishOp finish = findFinish(program, known.getSource());
    return finish && finish.givesLists() ? finish.countPlaces() : 0;
  }
  auto picked = dyn_cast<PickedOp>(op);
  PickAttr pick = picked ? findPick(program, picked.getSource()) : PickAttr();
  return pick ? pick.getPlaces() : 0;
}

/// A pick in a program gathers from an input, at an index that is read as well.
static LogicalResult verifyGather(GatherOp pick) {
  auto table = pick.getValue().getDefiningOp<InputOp>();
  if (!table || (table.getKind() != InputKind::Vocab && table.getKind() != InputKind::Dense))
    return pick.emitOpError() << "picks from a value that is no vocab or dense input; in a program, other picks are sums of a sweep";
  if (!isPerToken(pick.getIndex()))
    return pick.emitOpError() << "has an index that is no token or known input; a finish has to make it known first";
  return success();
}

/// The sparse terms of a gradient are read from memory, so their columns and coefficients are
/// inputs.
static LogicalResult verifyRows(AdjointOp adjoint) {
  for (auto [i, value] : llvm::enumerate(llvm::concat<Value>(adjoint.getColumns(), adjoint.getCoefficients()))) {
    if (!isPerToken(value))
      return adjoint.emitOpError() << (i < adjoint.getColumns().size() ? "column " : "coefficient ") << i % adjoint.getColumns().size()
                                   << " is no token or known input; a finish has to make it known first";
  }
  if (adjoint.getFactor() && !adjoint.getFactor().getDefiningOp<KnownOp>())
    return adjoint.emitOpError() << "has a factor that is not a result of a finish; factors are read from memory";
  auto known = adjoint.getDense() ? adjoint.getDense().getDefiningOp<KnownOp>() : KnownOp();
  int64_t places = known ? placesRead(known) : 0, own = adjoint.getPlaces().value_or(0);
  if (known && places != own)
    return adjoint.emitOpError() << "has a dense gradient of " << places << " places for "
                                 << describe(adjoint.getKind(), adjoint.getName(), adjoint.getIndex()) << ", which has " << own;
  for (auto [column, coefficient] : llvm::zip_equal(adjoint.getColumns(), adjoint.getCoefficients())) {
    int64_t columns = placesRead(column.getDefiningOp()), coefficients = placesRead(coefficient.getDefiningOp());
    if (columns != coefficients)
      return adjoint.emitOpError() << "has a column of " << columns << " places with a coefficient of " << coefficients;
    if (columns > 0 && adjoint.getKind() == InputKind::Dense)
      return adjoint.emitOpError() << "gives " << describe(adjoint.getKind(), adjoint.getName())
                                   << " sparse terms that are lists; only logits and Vocab inputs have some";
  }
  return success();
}

/// No input has a gradient in two places.
static LogicalResult verifyAdjoints(GradientOp gradient, llvm::StringSet<> &differentiated) {
  for (AdjointOp adjoint : gradient.getBody().getOps<AdjointOp>()) {
    std::string input = describe(adjoint.getKind(), adjoint.getName(), adjoint.getIndex());
    if (!differentiated.insert(input).second)
      return adjoint.emitOpError() << "gives " << input << " a gradient, which it has already";
  }
  return success();
}

/// A list is read where its places are gone through.
static LogicalResult verifyPlaces(Operation *op) {
  int64_t places = isa<InputOp, PickedOp>(op) ? placesRead(op) : 0; // known lists are checked with their symbol
  auto finish = op->getParentOfType<FinishOp>();
  int64_t own = finish && finish.isOfPlaces() ? *finish.getPlaces() : 0;
  bool isOfAdjoint = llvm::all_of(op->getUsers(), [](Operation *user) { return isa<AdjointOp>(user); });
  if (places == 0 || places == own || isOfAdjoint)
    return success();
  return op->emitOpError() << "reads a list of " << places << " places in a region that runs "
                           << (own > 0 ? "for " + std::to_string(own) + " of them" : "once for each token");
}

/// One region of a part: the ops that it holds, and whether it may look along the vocabulary.
static LogicalResult verifyReads(StringRef name, Region &region, bool hasVocabulary) {
  for (Operation &op : region.front()) {
    auto input = dyn_cast<InputOp>(op);
    if (!hasVocabulary && (isa<ColumnOp>(op) || (input && input.isVaryingInput() && !isGathered(input))))
      return op.emitOpError() << "differs along the vocabulary, which '" << name << "' does not see: it has one value per token";
    if (auto pick = dyn_cast<GatherOp>(op); pick && failed(verifyGather(pick)))
      return failure();
    if (auto adjoint = dyn_cast<AdjointOp>(op); adjoint && failed(verifyRows(adjoint)))
      return failure();
    if (failed(verifyPlaces(&op)))
      return failure();
    if (!isa<InputOp, KnownOp, PickedOp, ColumnOp, GatherOp, AdjointOp, YieldOp>(op) && !isScalarMaths(&op))
      return op.emitOpError() << "has no place in '" << name
                              << "': expected input, column, gathers, or arith and math ops on f32, i32 and i1";
  }
  return success();
}

// ---- sweeps and finishes ------------------------------------------------------------------------

static LogicalResult verifyNamedTypes(Operation *op, StringRef what, ArrayAttr names, ArrayAttr types) {
  if (names.size() != types.size())
    return op->emitOpError() << "has " << names.size() << " names but " << types.size() << " types of " << what << "s";
  return verifyUnique(op, what, names);
}

/// The leading slots of the state that 'candidate' has values for.
static FailureOr<size_t> verifyMaxima(SweepOp sweep, ArrayRef<Type> state) {
  auto candidates = dyn_cast<YieldOp>(sweep.getCandidate().front().back());
  if (!candidates)
    return sweep.emitOpError() << "'candidate' must end in 'logitile.yield', not '" << sweep.getCandidate().front().back().getName() << "'";
  size_t maxima = candidates.getNumOperands();
  if (maxima > state.size())
    return sweep.emitOpError() << "'candidate' gives " << maxima << " values for " << state.size() << " slots of row state";
  for (auto [i, type] : llvm::enumerate(state.take_front(maxima)))
    if (!type.isF32())
      return sweep.emitOpError() << "slot " << i << " of the row state is " << type
                                 << ", but 'candidate' gives it one; running maxima are f32";
  return maxima;
}

/// A list has a value in 'rank'.
static LogicalResult verifyLists(SweepOp sweep) {
  for (int64_t places : sweep.getPlaces())
    if (places < 1 || places > kMostPlaces)
      return sweep.emitOpError() << "has a list of " << places << " places; a list has 1 to " << kMostPlaces;
  if (sweep.getPlaces().empty() != sweep.getRank().empty())
    return sweep.emitOpError() << (sweep.getRank().empty() ? "has lists but no 'rank'" : "has 'rank' but no lists");
  if (sweep.getRank().empty())
    return success();
  if (sweep.getPhase() != Phase::Forward)
    return sweep.emitOpError() << "has lists in phase " << stringifyPhase(sweep.getPhase()) << "; only forward sweeps have some";
  SmallVector<Type> values(sweep.getPlaces().size(), Float32Type::get(sweep.getContext()));
  return failure(failed(verifySignature(sweep, "rank", sweep.getRank(), {}, values)) || failed(verifyReads("rank", sweep.getRank(), true)));
}

SmallVector<PickAttr> SweepOp::listPicks() {
  return getPicks() ? llvm::to_vector(getPicks()->getAsRange<PickAttr>()) : SmallVector<PickAttr>();
}

static std::string spell(ResultAttr result) { return ("@" + result.getFinish().getValue() + "[" + Twine(result.getNumber()) + "]").str(); }

static LogicalResult verifyPicks(SweepOp sweep) {
  for (PickAttr pick : sweep.listPicks()) {
    auto result = dyn_cast<ResultAttr>(pick.getIndex());
    auto input = dyn_cast<StringAttr>(pick.getIndex());
    if (!result && !input)
      return sweep.emitOpError() << "picks at " << pick.getIndex() << "; expected the name of an input or a result of a finish";
    std::string index = result ? spell(result) : "'" + input.str() + "'";
    if (pick.getPlaces() < 1 || pick.getPlaces() > kMostReadPlaces)
      return sweep.emitOpError() << "picks at " << pick.getPlaces() << " places of " << index << "; a list that is read has 1 to "
                                 << kMostReadPlaces;
    if (pick.getLogits().empty() || (input && input.empty()))
      return sweep.emitOpError() << "has a pick without a name of " << (pick.getLogits().empty() ? "logits" : "indices");
  }
  if (!sweep.listPicks().empty() && sweep.getPhase() != Phase::Forward && sweep.getPhase() != Phase::Backward)
    return sweep.emitOpError() << "has picks in phase " << stringifyPhase(sweep.getPhase()) << "; only forward and backward sweeps have some";
  return success();
}

LogicalResult SweepOp::verifyRegions() {
  if (getStateNames().empty() && getPlaces().empty() && listPicks().empty())
    return emitOpError() << "has no state";
  if (failed(verifyLists(*this)) || failed(verifyPicks(*this)))
    return failure();
  if (failed(verifyNamedTypes(*this, "state", getStateNames(), getStateTypes())))
    return failure();
  SmallVector<Type> state = typesOf(getStateTypes()), two = state;
  two.append(state);
  FailureOr<size_t> maxima = verifyMaxima(*this, state);
  if (failed(maxima) || failed(verifySignature(*this, "init", getInit(), {}, state)) ||
      failed(verifySignature(*this, "candidate", getCandidate(), {}, TypeRange(state).take_front(*maxima))) ||
      failed(verifySignature(*this, "update", getUpdate(), state, state)) ||
      failed(verifySignature(*this, "merge", getMerge(), two, state)))
    return failure();
  for (Operation &op : getInit().front())
    if (isa<InputOp, KnownOp, ColumnOp>(op))
      return op.emitOpError() << "stands in 'init', which gives the same state for every token and reads nothing";
  return failure(failed(verifyReads("init", getInit(), false)) || failed(verifyReads("candidate", getCandidate(), true)) ||
                 failed(verifyReads("update", getUpdate(), true)) || failed(verifyReads("merge", getMerge(), false)));
}

int64_t FinishOp::countPlaces() {
  if (getPlaces())
    return *getPlaces();
  return getList() ? SymbolTable::lookupNearestSymbolFrom<SweepOp>(*this, getSweepAttr()).getPlaces()[*getList()] : 0;
}

/// Lists that are inputs, each of the same length.
static LogicalResult verifyGiven(FinishOp finish) {
  if (finish.getGiven() && !finish.getPlaces())
    return finish.emitOpError() << "is of given lists but has no 'places', the length of each";
  if (!finish.getGiven())
    return success();
  if (finish.getSweep())
    return finish.emitOpError() << "is of given lists and of sweep @" << *finish.getSweep() << "; expected one of both";
  int64_t names = finish.getGiven()->size(), places = *finish.getPlaces();
  if (names < 2 || names % 2 != 0 || names > 2 * kMostGivenLists)
    return finish.emitOpError() << "names " << names << " inputs of given lists; expected values and indices of 1 to " << kMostGivenLists;
  if (places < 1 || places > kMostPlaces)
    return finish.emitOpError() << "is of given lists of " << places << " places; a list has 1 to " << kMostPlaces;
  if (finish.getPlace() && (*finish.getPlace() < 0 || *finish.getPlace() >= places))
    return finish.emitOpError() << "is at place " << *finish.getPlace() << ", but the given lists have " << places;
  return success();
}

/// A finish that goes through the places of what it reads.
static LogicalResult verifyOfPlaces(FinishOp finish) {
  if (finish.getSummed() && !finish.isOfPlaces())
    return finish.emitOpError() << "is 'summed', but does not go through places of lists";
  if (!finish.isOfPlaces())
    return success();
  if (finish.getSweep() || finish.getList() || finish.getPlace())
    return finish.emitOpError() << "goes through places of lists that it reads; it is 'of' no sweep, of no 'list' and at no 'place'";
  if (*finish.getPlaces() < 1 || *finish.getPlaces() > kMostReadPlaces)
    return finish.emitOpError() << "'places' is " << *finish.getPlaces() << "; a list that is read has 1 to " << kMostReadPlaces;
  for (Type type : typesOf(finish.getResultTypes()))
    if (finish.getSummed() && !type.isF32())
      return finish.emitOpError() << "adds up a result of " << type << "; sums are f32";
  return success();
}

LogicalResult FinishOp::verifyRegions() {
  if (failed(verifyNamedTypes(*this, "result", getResultNames(), getResultTypes())))
    return failure();
  SmallVector<Type> state;
  if (std::optional<StringRef> name = getSweep()) {
    auto sweep = SymbolTable::lookupNearestSymbolFrom<SweepOp>(*this, StringAttr::get(getContext(), *name));
    if (!sweep)
      return emitOpError() << "is 'of' @" << *name << ", which is no sweep of this program";
    if (!sweep->isBeforeInBlock(*this))
      return emitOpError() << "stands before its sweep @" << *name;
    if (getPhase() < sweep.getPhase())
      return emitOpError() << "is " << stringifyPhase(getPhase()) << ", but its sweep @" << *name << " is "
                           << stringifyPhase(sweep.getPhase());
    state = typesOf(sweep.getStateTypes());
    if (getList() && (*getList() < 0 || *getList() >= static_cast<int64_t>(sweep.getPlaces().size())))
      return emitOpError() << "is of list " << *getList() << ", but sweep @" << *name << " has " << sweep.getPlaces().size();
    if (getList() && getPlace() && (*getPlace() < 0 || *getPlace() >= sweep.getPlaces()[*getList()]))
      return emitOpError() << "is at place " << *getPlace() << ", but list " << *getList() << " has " << sweep.getPlaces()[*getList()];
  }
  if (getList() && !getSweep())
    return emitOpError() << "is of list " << *getList() << ", but of no sweep";
  if (failed(verifyGiven(*this)) || failed(verifyOfPlaces(*this)))
    return failure();
  if (getPlace() && !isOfList())
    return emitOpError() << "is at place " << *getPlace() << ", but of no list";
  if (isOfList())
    state = {Float32Type::get(getContext()), IntegerType::get(getContext(), 32)};
  return failure(failed(verifySignature(*this, "finish", getBody(), state, typesOf(getResultTypes()))) ||
                 failed(verifyReads("finish", getBody(), false)));
}

// ---- the program --------------------------------------------------------------------------------

static Phase phaseOf(Operation &part) {
  if (auto sweep = dyn_cast<SweepOp>(part))
    return sweep.getPhase();
  auto finish = dyn_cast<FinishOp>(part);
  return finish ? finish.getPhase() : Phase::Backward;
}

/// A part reads only what its phase has: logits after the prologue, cotangents after the forward
/// phase. MLIR knows no phases, and an input is no SSA value that could be missing.
static LogicalResult verifyPhase(Operation &part) {
  Phase phase = phaseOf(part);
  WalkResult walk = part.walk([&](InputOp input) {
    auto emitRefusal = [&](auto &&...text) {
      InFlightDiagnostic error = input.emitOpError() << "reads " << describe(input.getKind(), input.getName());
      (error << ... << text);
      return WalkResult::interrupt();
    };
    if (phase == Phase::Prologue && input.getKind() == InputKind::Logits)
      return emitRefusal(" in the prologue, which has no logits");
    if (phase <= Phase::Forward && input.getKind() == InputKind::Cotangent)
      return emitRefusal(" in phase ", stringifyPhase(phase), "; cotangents come with the backward phase");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Computed indices of picks are lists that an earlier finish gives.
static LogicalResult verifyPickedLists(ProgramOp program, SweepOp sweep) {
  for (PickAttr pick : sweep.listPicks()) {
    auto index = dyn_cast<ResultAttr>(pick.getIndex());
    FinishOp finish = index ? findFinish(program, index) : FinishOp();
    bool isList = finish && finish->isBeforeInBlock(sweep) && finish.givesLists() && typeOf(finish, index).isInteger(32);
    if (index && (!isList || finish.countPlaces() != pick.getPlaces()))
      return sweep.emitOpError() << "picks at " << spell(index) << ", which is no list of " << pick.getPlaces()
                                 << " indices of an earlier finish";
  }
  return success();
}

static LogicalResult verifyParts(ProgramOp program) {
  llvm::StringSet<> differentiated;
  bool hasSchedule = false;
  for (Operation &part : program.getBody().front()) {
    if (!isa<SweepOp, FinishOp, GradientOp, ScheduleOp>(part))
      return part.emitOpError() << "has no place in a program: expected sweep, finish, gradient or schedule";
    if (isa<ScheduleOp>(part) && std::exchange(hasSchedule, true))
      return part.emitOpError() << "is the second one of program @" << program.getSymName();
    auto sweep = dyn_cast<SweepOp>(part);
    if (failed(verifyPhase(part)) || (sweep && failed(verifyPickedLists(program, sweep))))
      return failure();
    auto gradient = dyn_cast<GradientOp>(part);
    if (gradient && (failed(verifyReads("gradient", gradient.getBody(), true)) || failed(verifyAdjoints(gradient, differentiated))))
      return failure();
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (getVocab() <= 0)
    return emitOpError() << "vocabulary size " << getVocab() << " must be positive";
  if (getVocab() > kMostExtent)
    return emitOpError() << "vocabulary size " << getVocab() << " is too large; " << kMostExtent << " is the most";
  if (getWidth() <= 0 || getWidth() > getVocab())
    return emitOpError() << "sees " << getWidth() << " columns of a vocabulary of " << getVocab() << " entries; expected 1 to " << getVocab();
  if (getSweeps() && getSweeps()->size() != 2)
    return emitOpError() << "counts [" << *getSweeps() << "] sweeps; expected two numbers, forward and backward";
  llvm::StringSet<> outputs;
  for (OutputAttr output : getOutputs().getAsRange<OutputAttr>())
    if (!outputs.insert(output.getName()).second)
      return emitOpError() << "names output '" << output.getName() << "' twice";
  return failure(failed(verifyParts(*this)) || failed(verifyInputNames(*this)));
}

// ---- results of finishes ------------------------------------------------------------------------

FinishOp logitile::findFinish(ProgramOp program, ResultAttr result) {
  auto finish = dyn_cast_or_null<FinishOp>(SymbolTable::lookupSymbolIn(program, result.getFinish().getAttr()));
  bool hasIt = finish && result.getNumber() >= 0 && result.getNumber() < static_cast<int64_t>(finish.getResultTypes().size());
  return hasIt ? finish : FinishOp();
}

SweepOp logitile::findReferenceSweep(ProgramOp program) {
  for (GradientOp gradient : program.getBody().getOps<GradientOp>())
    if (ReferenceAttr reference = gradient.getReferenceAttr())
      return dyn_cast_or_null<SweepOp>(SymbolTable::lookupSymbolIn(program, findFinish(program, reference.getFirst()).getSweepAttr()));
  return {};
}

PickAttr logitile::findPick(ProgramOp program, ResultAttr source) {
  auto sweep = dyn_cast_or_null<SweepOp>(SymbolTable::lookupSymbolIn(program, source.getFinish().getAttr()));
  SmallVector<PickAttr> picks = sweep ? sweep.listPicks() : SmallVector<PickAttr>();
  bool hasIt = source.getNumber() >= 0 && source.getNumber() < static_cast<int64_t>(picks.size());
  return hasIt ? picks[source.getNumber()] : PickAttr();
}

Type logitile::typeOf(FinishOp finish, ResultAttr result) { return cast<TypeAttr>(finish.getResultTypes()[result.getNumber()]).getValue(); }

/// What a gradient is relative to is results of the program.
static LogicalResult verifyReference(ProgramOp program, GradientOp gradient) {
  ReferenceAttr reference = gradient.getReferenceAttr();
  if (!reference)
    return success();
  Builder b(program.getContext());
  for (auto [result, type] : {std::pair<ResultAttr, Type>(reference.getFirst(), b.getF32Type()), {reference.getLast(), b.getF32Type()},
                              {reference.getRaised(), b.getI32Type()}}) {
    FinishOp finish = findFinish(program, result);
    if (!finish || finish.givesLists() || typeOf(finish, result) != type)
      return gradient.emitOpError() << "is relative to " << spell(result) << ", which is no " << type << " result of a finish";
  }
  return success();
}

/// Outputs and checked indices are results of the program.
LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &) {
  for (GradientOp gradient : getBody().getOps<GradientOp>())
    if (failed(verifyReference(*this, gradient)))
      return failure();
  for (OutputAttr output : getOutputs().getAsRange<OutputAttr>()) {
    FinishOp finish = findFinish(*this, output.getResult());
    if (!finish)
      return emitOpError() << "output '" << output.getName() << "' is " << spell(output.getResult()) << ", which no finish gives";
    Type type = typeOf(finish, output.getResult());
    bool isKeptBool = output.getType().isInteger(1) && type.isInteger(32); // per-token values have 32 bits
    if (type != output.getType() && !isKeptBool)
      return emitOpError() << "output '" << output.getName() << "' is " << output.getType() << ", but its finish gives " << type;
  }
  for (ResultAttr index : getChecked().getAsRange<ResultAttr>()) {
    FinishOp finish = findFinish(*this, index);
    if (!finish || finish.givesLists() || !typeOf(finish, index).isInteger(32))
      return emitOpError() << "checked index " << spell(index) << " is no i32 result of a finish";
  }
  return success();
}

/// The finish stands before the part that reads, and has run when the part runs. MLIR neither looks
/// a symbol up nor orders its uses: what dominance and types of operands check of SSA values is
/// checked here.
LogicalResult KnownOp::verifySymbolUses(SymbolTableCollection &) {
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!program)
    return emitOpError() << "reads " << spell(getSource()) << "; only programs have results of finishes";
  Operation *part = program.getBody().front().findAncestorOpInBlock(**this);
  FinishOp finish = findFinish(program, getSource());
  auto emitRefusal = [&] { return emitOpError() << "reads " << spell(getSource()); };
  if (!finish || !finish->isBeforeInBlock(part))
    return emitRefusal() << ", which no earlier finish gives";
  if (finish.givesLists()) {
    auto reader = (*this)->getParentOfType<FinishOp>();
    bool isAtPlaces = reader && reader.isOfPlaces() && *reader.getPlaces() == finish.countPlaces();
    bool isOfAdjoint =
        !(*this)->use_empty() && llvm::all_of((*this)->getUsers(), [](Operation *user) { return isa<AdjointOp>(user); });
    if (!isAtPlaces && !isOfAdjoint)
      return emitRefusal() << ", which has one value for each place of a list";
  }
  if (Type type = typeOf(finish, getSource()); type != getType())
    return emitRefusal() << " as " << getType() << ", but its finish gives " << type;
  Phase phase = phaseOf(*part);
  if (phase <= Phase::Forward && phase < finish.getPhase())
    return emitRefusal() << " in phase " << stringifyPhase(phase) << ", but its finish is " << stringifyPhase(finish.getPhase());
  return success();
}

/// The sweep stands before the part that reads: see KnownOp.
LogicalResult PickedOp::verifySymbolUses(SymbolTableCollection &) {
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!program)
    return emitOpError() << "reads " << spell(getSource()) << "; only programs have picks of sweeps";
  Operation *part = program.getBody().front().findAncestorOpInBlock(**this);
  auto sweep = dyn_cast_or_null<SweepOp>(SymbolTable::lookupSymbolIn(program, getSource().getFinish().getAttr()));
  if (!findPick(program, getSource()) || !sweep->isBeforeInBlock(part))
    return emitOpError() << "reads " << spell(getSource()) << ", which no earlier sweep picks";
  return success();
}
