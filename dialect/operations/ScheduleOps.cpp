// ScheduleOps.cpp - checks of schedules: buffers, runs, loops and launches. The specialise pass
// checks what a launch needs.
#include "dialect/Logitile.h"
#include "dialect/types/Limits.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;
using namespace logitile;

// ---- the schedule -------------------------------------------------------------------------------

static LogicalResult verifyExtents(ScheduleOp schedule) {
  if (schedule.getFirst() < 0 || schedule.getEnd() <= schedule.getFirst())
    return schedule.emitOpError() << "covers no number of tokens: [" << schedule.getFirst() << ", " << schedule.getEnd() << ")";
  if (schedule.getVocabSplit() <= 0)
    return schedule.emitOpError() << "vocabulary split of " << schedule.getVocabSplit() << " vocabulary entries must be positive";
  int64_t vocab = cast<ProgramOp>(schedule->getParentOp()).getWidth();
  if (schedule.getStored() < 0 || schedule.getStored() > vocab)
    return schedule.emitOpError() << "keeps " << schedule.getStored() << " of " << vocab << " vocabulary entries";
  return success();
}

/// A range of vocabulary splits, of a loop or a launch, ends with the vocabulary.
static LogicalResult verifyVocabSplits(Operation *op, ScheduleOp schedule, int64_t end) {
  int64_t vocab = cast<ProgramOp>(schedule->getParentOp()).getWidth();
  int64_t count = llvm::divideCeil(vocab, schedule.getVocabSplit());
  if (end <= count)
    return success();
  return op->emitOpError() << "ends after vocabulary split " << end << ", but a vocabulary of " << vocab << " has " << count
                           << " vocabulary splits of " << schedule.getVocabSplit() << " entries";
}

/// Names and vocabulary splits of all launches.
static LogicalResult verifyLaunches(ScheduleOp schedule) {
  llvm::StringSet<> kernels;
  WalkResult walk = schedule.walk([&](LaunchOp launch) {
    if (!kernels.insert(launch.getKernel()).second) {
      launch.emitOpError() << "names kernel '" << launch.getKernel() << "' a second time";
      return WalkResult::interrupt();
    }
    if (std::optional<ArrayRef<int64_t>> vocabSplits = launch.getVocabSplits();
        vocabSplits && failed(verifyVocabSplits(launch, schedule, (*vocabSplits)[1])))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Passes and the runtime find buffers by role, owner and number, so these tell buffers apart.
static LogicalResult verifyRoles(ScheduleOp schedule) {
  llvm::DenseMap<std::tuple<BufferRole, StringRef, int64_t>, BufferOp> seen;
  for (BufferOp buffer : schedule.getBody().getOps<BufferOp>()) {
    int64_t number = buffer.getNumber().value_or(-1);
    auto [it, isNew] = seen.try_emplace({buffer.getRole(), buffer.getOwnerName(), number}, buffer);
    if (!isNew)
      return buffer.emitOpError() << "holds what @" << it->second.getSymName() << " holds: " << describeBuffer(buffer);
  }
  return success();
}

LogicalResult ScheduleOp::verifyRegions() {
  if (failed(verifyExtents(*this)))
    return failure();
  llvm::DenseSet<unsigned> phases;
  for (Operation &op : getBody().front()) {
    if (!isa<BufferOp, RunOp>(op))
      return op.emitOpError() << "has no place in a schedule: expected buffer or run";
    auto run = dyn_cast<RunOp>(op);
    if (run && !phases.insert(static_cast<unsigned>(run.getPhase())).second)
      return run.emitOpError() << "is the second run " << stringifyPhase(run.getPhase()) << " of its schedule";
  }
  WalkResult loops = walk([&](LoopOp loop) {
    return loop.getEnd() && failed(verifyVocabSplits(loop, *this, *loop.getEnd())) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(loops.wasInterrupted() || failed(verifyLaunches(*this)) || failed(verifyRoles(*this)));
}

BufferOp ScheduleOp::findBuffer(BufferRole role, StringRef owner, std::optional<int64_t> number) {
  for (BufferOp buffer : getBody().getOps<BufferOp>())
    if (buffer.getRole() == role && buffer.getOwnerName() == owner && buffer.getNumber() == number)
      return buffer;
  return {};
}

BufferOp ScheduleOp::lookupBuffer(StringAttr name) { return dyn_cast_or_null<BufferOp>(mlir::SymbolTable::lookupSymbolIn(*this, name)); }

// ---- buffers ------------------------------------------------------------------------------------

/// Whether the owner is a sweep or a finish.
static bool isOfPart(BufferRole role) { return role >= BufferRole::RowState && role <= BufferRole::RowPick; }

std::string logitile::describeBuffer(BufferRole role, StringRef owner, std::optional<int64_t> number) {
  std::string text = stringifyBufferRole(role).str();
  if (!owner.empty())
    text += (isOfPart(role) ? " of @" + owner : " of \"" + owner + "\"").str();
  if (number)
    text += "[" + std::to_string(*number) + "]";
  return text;
}
std::string logitile::describeBuffer(BufferOp buffer) {
  return describeBuffer(buffer.getRole(), buffer.getOwnerName(), buffer.getNumber());
}

StringRef BufferOp::getOwnerName() {
  if (auto part = dyn_cast_or_null<FlatSymbolRefAttr>(getOwnerAttr()))
    return part.getValue();
  auto name = dyn_cast_or_null<StringAttr>(getOwnerAttr());
  return name ? name.getValue() : StringRef();
}

/// Each role has the kind of owner that its description in BufferRole names.
static LogicalResult verifyOwner(BufferOp buffer) {
  Attribute owner = buffer.getOwnerAttr();
  StringRef role = stringifyBufferRole(buffer.getRole());
  auto emitRefusal = [&] { return buffer.emitOpError() << "@" << buffer.getSymName() << " has role '" << role << "', "; };
  if (buffer.getRole() >= BufferRole::SliceOffset)
    return owner ? emitRefusal() << "which belongs to the call and takes no owner" : LogicalResult(success());
  if (isOfPart(buffer.getRole())) {
    if (!isa_and_nonnull<FlatSymbolRefAttr>(owner) || !buffer.getNumber())
      return emitRefusal() << "which needs a part of the program and a number: 'of @part[0]'";
    return success();
  }
  if (!isa_and_nonnull<StringAttr>(owner))
    return emitRefusal() << "which needs the name of its owner in quotes";
  if (buffer.getNumber() && buffer.getRole() != BufferRole::Input)
    return emitRefusal() << "which takes no number; only those of inputs, sweeps and finishes do";
  return success();
}

LogicalResult BufferOp::verify() {
  auto view = cast<ViewType>(getType());
  SmallVector<StringRef> symbols;
  collectSymbols(view, symbols);
  if (!symbols.empty())
    return emitOpError() << "'" << getSymName() << "' is " << view << ", which has symbol '" << symbols.front()
                         << "'; a schedule has everything bound";
  if (getWindow() && *getWindow() <= 0)
    return emitOpError() << "'" << getSymName() << "' has a window of " << *getWindow() << " columns; expected a positive number";
  if (std::max(getWindow().value_or(1), getPer()) > kMostExtent)
    return emitOpError() << "'" << getSymName() << "' has a window of " << getWindow().value_or(1) << " columns and " << getPer()
                         << " tokens to a row; " << kMostExtent << " is the most of either";
  if (getPer() <= 0)
    return emitOpError() << "'" << getSymName() << "' has " << getPer() << " tokens to a row; expected a positive number";
  if (getPer() != 1 && view.getDims()[0] != dimension(getContext(), ShapedType::kDynamic))
    return emitOpError() << "'" << getSymName() << "' has " << getPer() << " tokens to a row, but the rows of " << view << " are no tokens";
  return verifyOwner(*this);
}

LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getAliasAttr()) {
    auto base = symbols.lookupNearestSymbolFrom<BufferOp>(*this, getAliasAttr());
    if (!base || !base->isBeforeInBlock(*this))
      return emitOpError() << "lies over " << getAliasAttr() << ", which is no earlier buffer";
  }
  if (!isOfPart(getRole()))
    return success();
  bool isList = getRole() == BufferRole::RowList, isPick = getRole() == BufferRole::RowPick;
  bool isState = getRole() == BufferRole::RowState || isList || isPick;
  Operation *part = symbols.lookupSymbolIn((*this)->getParentOfType<ProgramOp>(), cast<FlatSymbolRefAttr>(getOwnerAttr()));
  auto sweep = isState ? dyn_cast_or_null<SweepOp>(part) : SweepOp();
  auto finish = isState ? FinishOp() : dyn_cast_or_null<FinishOp>(part);
  if (!sweep && !finish)
    return emitOpError() << "is of " << getOwnerAttr() << ", which is no " << (isState ? "sweep" : "finish") << " of its program";
  int64_t count = isList   ? sweep.getPlaces().size()
                  : isPick ? sweep.listPicks().size()
                  : sweep  ? sweep.getStateTypes().size() : finish.getResultTypes().size();
  if (*getNumber() < 0 || *getNumber() >= count)
    return emitOpError() << "is of number " << *getNumber() << ", but " << getOwnerAttr() << " has " << count
                         << (isList ? " lists" : isPick ? " picks" : isState ? " slots of row state" : " results");
  return success();
}

// ---- runs and loops -----------------------------------------------------------------------------

static LogicalResult verifySteps(Operation *op, Region &body) {
  for (Operation &step : body.front())
    if (!isa<LoopOp, LaunchOp>(step))
      return step.emitOpError() << "has no place in '" << op->getName() << "': expected loop or launch";
  return success();
}

LogicalResult RunOp::verifyRegions() {
  if (getPhase() == Phase::Fused)
    return emitOpError() << "has phase 'fused'; what is fused runs with the gradient, in run forward or run backward";
  return verifySteps(*this, getBody());
}

LogicalResult LoopOp::verifyRegions() { return verifySteps(*this, getBody()); }

LogicalResult LoopOp::verify() {
  if (getStep() == 0)
    return emitOpError() << "steps by 0";
  if (getAxis() == Axis::VocabSplits && getStep() < 0)
    return emitOpError() << "steps by " << getStep() << " vocabulary splits; only loops over tokens may give a number of chunks";
  if (bool(getFirst()) != bool(getEnd()))
    return emitOpError() << "has '" << (getFirst() ? "from" : "to") << "' without '" << (getFirst() ? "to" : "from") << "'";
  if (bool(getFirst()) != (getAxis() == Axis::VocabSplits))
    return emitOpError() << (getFirst() ? "over tokens covers all of them; 'from' is for vocabulary splits"
                                        : "over vocabulary splits needs 'from' and 'to'");
  if (getFirst() && (*getFirst() < 0 || *getEnd() <= *getFirst()))
    return emitOpError() << "covers no vocabulary splits: [" << *getFirst() << ", " << *getEnd() << ")";
  for (Operation *outer = (*this)->getParentOp(); auto loop = dyn_cast_or_null<LoopOp>(outer); outer = outer->getParentOp())
    if (loop.getAxis() == getAxis())
      return emitOpError() << "runs over " << stringifyAxis(getAxis()) << " inside another loop over them";
  return success();
}

LogicalResult LaunchOp::verify() {
  for (NamedAttribute view : viewsOrEmpty())
    if (!isa<FlatSymbolRefAttr>(view.getValue()))
      return emitOpError() << "gives view '" << view.getName().getValue() << "' " << view.getValue() << ", which is no buffer";
  for (NamedAttribute binding : getBindings())
    if (!isa<IntegerAttr, TypeAttr>(binding.getValue()))
      return emitOpError() << "binds '" << binding.getName().getValue() << "' to " << binding.getValue()
                           << ", which is no integer and no type";
  if (std::optional<ArrayRef<int64_t>> vocabSplits = getVocabSplits();
      vocabSplits && (vocabSplits->size() != 2 || (*vocabSplits)[0] < 0 || (*vocabSplits)[1] < (*vocabSplits)[0]))
    return emitOpError() << "vocabulary splits [" << *vocabSplits << "] are no range [first, end)";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (NamedAttribute view : viewsOrEmpty())
    if (!symbols.lookupNearestSymbolFrom<BufferOp>(*this, cast<FlatSymbolRefAttr>(view.getValue())))
      return emitOpError() << "gives '" << view.getName().getValue() << "' the buffer " << view.getValue()
                           << ", which the schedule does not define";
  return success();
}
