// PlanOps.cpp - checks of programs, sweeps and finishes. Schedules have a file of their own.
#include "dialect/Checks.h"
#include "dialect/Limits.h"
#include "llvm/ADT/StringMap.h"
using namespace mlir;
using namespace logitile;

// ---- what a region may read -----------------------------------------------------------------------------------

/// Whether 'input' is only the table of gathers, so that one entry per token is read.
static bool isGathered(InputOp input) {
  return !input->use_empty() &&
         llvm::all_of(input->getUses(), [](OpOperand &use) { return isa<PickOp>(use.getOwner()) && use.getOperandNumber() == 0; });
}

/// A pick in a program gathers from an input, at an index that is read as well.
static LogicalResult verifyGather(PickOp pick) {
  auto table = pick.getValue().getDefiningOp<InputOp>();
  if (!table || (table.getKind() != InputKind::Vocab && table.getKind() != InputKind::Dense))
    return pick.emitOpError() << "picks from a value that is no vocab or dense input; in a program, other picks are sums of a sweep";
  auto index = pick.getIndex().getDefiningOp<InputOp>();
  if (!index || (index.getKind() != InputKind::Token && index.getKind() != InputKind::Known))
    return pick.emitOpError() << "has an index that is no token or known input; a finish has to make it known first";
  return success();
}

/// The single entries of a gradient are read from memory, so their columns and coefficients are inputs.
static LogicalResult verifyRows(AdjointOp adjoint) {
  for (auto [i, value] : llvm::enumerate(llvm::concat<Value>(adjoint.getColumns(), adjoint.getCoefficients()))) {
    auto input = value.getDefiningOp<InputOp>();
    if (!input || (input.getKind() != InputKind::Token && input.getKind() != InputKind::Known))
      return adjoint.emitOpError() << (i < adjoint.getColumns().size() ? "column " : "coefficient ") << i % adjoint.getColumns().size()
                                   << " is no token or known input; a finish has to make it known first";
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

/// One region of a part: the ops that it holds, and whether it may look along the vocabulary.
static LogicalResult verifyReads(StringRef name, Region &region, bool hasVocabulary) {
  for (Operation &op : region.front()) {
    auto input = dyn_cast<InputOp>(op);
    if (!hasVocabulary && (isa<ColumnOp>(op) || (input && input.isVaryingInput() && !isGathered(input))))
      return op.emitOpError() << "differs along the vocabulary, which '" << name << "' does not see: it has one value per token";
    if (auto pick = dyn_cast<PickOp>(op); pick && failed(verifyGather(pick)))
      return failure();
    if (auto adjoint = dyn_cast<AdjointOp>(op); adjoint && failed(verifyRows(adjoint)))
      return failure();
    if (!isa<InputOp, ColumnOp, PickOp, AdjointOp, YieldOp>(op) && !isScalarMaths(&op))
      return op.emitOpError() << "has no place in '" << name
                              << "': expected input, column, gathers, or arith and math ops on f32, i32 and i1";
  }
  return success();
}

// ---- sweeps and finishes --------------------------------------------------------------------------------------

static LogicalResult verifyNamedTypes(Operation *op, StringRef what, ArrayAttr names, ArrayAttr types) {
  if (names.size() != types.size())
    return op->emitOpError() << "has " << names.size() << " names but " << types.size() << " types of " << what << "s";
  return verifyUnique(op, what, names);
}

/// The leading entries of the state that 'bound' gives candidates for.
static FailureOr<size_t> verifyMaxima(SweepOp sweep, ArrayRef<Type> state) {
  auto candidates = dyn_cast<YieldOp>(sweep.getBound().front().back());
  if (!candidates)
    return sweep.emitOpError() << "'bound' must end in 'logitile.yield', not '" << sweep.getBound().front().back().getName() << "'";
  size_t maxima = candidates.getNumOperands();
  if (maxima > state.size())
    return sweep.emitOpError() << "'bound' gives " << maxima << " candidates for " << state.size() << " entries of state";
  for (auto [i, type] : llvm::enumerate(state.take_front(maxima)))
    if (!type.isF32())
      return sweep.emitOpError() << "entry " << i << " of the state is " << type
                                 << ", but 'bound' gives it a candidate; running maxima are f32";
  return maxima;
}

LogicalResult SweepOp::verifyRegions() {
  if (getStateNames().empty())
    return emitOpError() << "has no state";
  if (failed(verifyNamedTypes(*this, "state", getStateNames(), getStateTypes())))
    return failure();
  SmallVector<Type> state = typesOf(getStateTypes()), two = state;
  two.append(state);
  FailureOr<size_t> maxima = verifyMaxima(*this, state);
  if (failed(maxima) || failed(verifySignature(*this, "init", getInit(), {}, state)) ||
      failed(verifySignature(*this, "bound", getBound(), {}, TypeRange(state).take_front(*maxima))) ||
      failed(verifySignature(*this, "update", getUpdate(), state, state)) ||
      failed(verifySignature(*this, "merge", getMerge(), two, state)))
    return failure();
  for (Operation &op : getInit().front())
    if (isa<InputOp, ColumnOp>(op))
      return op.emitOpError() << "stands in 'init', which gives the same state for every token and reads nothing";
  return failure(failed(verifyReads("init", getInit(), false)) || failed(verifyReads("bound", getBound(), true)) ||
                 failed(verifyReads("update", getUpdate(), true)) || failed(verifyReads("merge", getMerge(), false)));
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
  }
  return failure(failed(verifySignature(*this, "finish", getBody(), state, typesOf(getResultTypes()))) ||
                 failed(verifyReads("finish", getBody(), false)));
}

// ---- the program ----------------------------------------------------------------------------------------------

namespace {
/// What a finish left: its type and when it is there.
struct Known {
  Type type;
  Phase phase;
};
} // namespace

static Phase phaseOf(Operation &part) {
  if (auto sweep = dyn_cast<SweepOp>(part))
    return sweep.getPhase();
  auto finish = dyn_cast<FinishOp>(part);
  return finish ? finish.getPhase() : Phase::Adjoint;
}

/// A part reads only what its phase has: what earlier finishes left, logits after the prologue, upstream gradients after
/// the forward phase.
static LogicalResult verifyPhase(Operation &part, const llvm::StringMap<Known> &known) {
  Phase phase = phaseOf(part);
  WalkResult walk = part.walk([&](InputOp input) {
    auto complain = [&](auto &&...text) {
      InFlightDiagnostic error = input.emitOpError() << "reads " << describe(input.getKind(), input.getName());
      (error << ... << text);
      return WalkResult::interrupt();
    };
    if (phase == Phase::Prologue && input.getKind() == InputKind::Logits)
      return complain(" in the prologue, which has no logits");
    if (phase <= Phase::Forward && input.getKind() == InputKind::Upstream)
      return complain(" in phase ", stringifyPhase(phase), "; upstream gradients come with the adjoint phase");
    if (input.getKind() != InputKind::Known)
      return WalkResult::advance();
    auto it = known.find(input.getName());
    if (it == known.end())
      return complain(", which no earlier finish gives");
    if (it->second.type != input.getType())
      return complain(" as ", input.getType(), ", but its finish gives ", it->second.type);
    if (phase <= Phase::Forward && phase < it->second.phase)
      return complain(" in phase ", stringifyPhase(phase), ", but its finish is ", stringifyPhase(it->second.phase));
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// The parts in order; fills in what they leave.
static LogicalResult verifyParts(ProgramOp program, llvm::StringMap<Known> &known) {
  llvm::StringSet<> differentiated;
  bool hasSchedule = false;
  for (Operation &part : program.getBody().front()) {
    if (!isa<SweepOp, FinishOp, GradientOp, ScheduleOp>(part))
      return part.emitOpError() << "has no place in a program: expected sweep, finish, gradient or schedule";
    if (isa<ScheduleOp>(part) && std::exchange(hasSchedule, true))
      return part.emitOpError() << "is the second one of program @" << program.getSymName();
    if (failed(verifyPhase(part, known)))
      return failure();
    auto gradient = dyn_cast<GradientOp>(part);
    if (gradient && (failed(verifyReads("gradient", gradient.getBody(), true)) || failed(verifyAdjoints(gradient, differentiated))))
      return failure();
    auto finish = dyn_cast<FinishOp>(part);
    if (!finish)
      continue;
    for (auto [name, type] : llvm::zip_equal(finish.getResultNames().getAsRange<StringAttr>(), typesOf(finish.getResultTypes())))
      if (!known.try_emplace(name.getValue(), Known{type, finish.getPhase()}).second)
        return finish.emitOpError() << "gives known '" << name.getValue() << "', which an earlier finish gives already";
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
    return emitOpError() << "counts [" << *getSweeps() << "] sweeps; expected two numbers, forward and adjoint";
  llvm::StringMap<Known> known;
  if (failed(verifyParts(*this, known)) || failed(verifyInputNames(*this)))
    return failure();
  llvm::StringSet<> outputs;
  for (OutputAttr output : getOutputs().getAsRange<OutputAttr>()) {
    StringRef name = output.getName();
    if (!outputs.insert(name).second)
      return emitOpError() << "names output '" << name << "' twice";
    auto it = known.find(name);
    if (it == known.end())
      return emitOpError() << "output '" << name << "' is the result of no finish";
    bool isKeptBool = output.getType().isInteger(1) && it->second.type.isInteger(32); // per-token values have 32 bits
    if (it->second.type != output.getType() && !isKeptBool)
      return emitOpError() << "output '" << name << "' is " << output.getType() << ", but its finish gives " << it->second.type;
  }
  for (StringRef index : getChecked().getAsValueRange<StringAttr>())
    if (!known.contains(index) || !known.lookup(index).type.isInteger(32))
      return emitOpError() << "checked index '" << index << "' is no i32 result of a finish";
  return success();
}
