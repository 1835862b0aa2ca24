// ScheduleOps.cpp - checks of schedules: buffers, runs, loops and launches. What a launch needs is specialise's to say.
#include "dialect/Limits.h"
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;
using namespace logitile;

// ---- the schedule ---------------------------------------------------------------------------------------------

static LogicalResult verifyExtents(ScheduleOp schedule) {
  if (schedule.getFirst() < 0 || schedule.getBehind() <= schedule.getFirst())
    return schedule.emitOpError() << "covers no number of tokens: [" << schedule.getFirst() << ", " << schedule.getBehind() << ")";
  if (schedule.getSlab() <= 0)
    return schedule.emitOpError() << "slab of " << schedule.getSlab() << " vocabulary entries must be positive";
  int64_t vocab = cast<ProgramOp>(schedule->getParentOp()).getWidth();
  if (schedule.getKept() < 0 || schedule.getKept() > vocab)
    return schedule.emitOpError() << "keeps " << schedule.getKept() << " of " << vocab << " vocabulary entries";
  return success();
}

/// A range of slabs, of a loop or a launch, ends with the vocabulary.
static LogicalResult verifySlabs(Operation *op, ScheduleOp schedule, int64_t behind) {
  int64_t vocab = cast<ProgramOp>(schedule->getParentOp()).getWidth();
  int64_t count = llvm::divideCeil(vocab, schedule.getSlab());
  if (behind <= count)
    return success();
  return op->emitOpError() << "ends behind slab " << behind << ", but a vocabulary of " << vocab << " has " << count << " slabs of "
                           << schedule.getSlab() << " entries";
}

/// Names, buffers and slabs of all launches.
static LogicalResult verifyLaunches(ScheduleOp schedule, const llvm::StringSet<> &buffers) {
  llvm::StringSet<> kernels;
  WalkResult walk = schedule.walk([&](LaunchOp launch) {
    if (!kernels.insert(launch.getKernel()).second) {
      launch.emitOpError() << "names kernel '" << launch.getKernel() << "' a second time";
      return WalkResult::interrupt();
    }
    if (std::optional<ArrayRef<int64_t>> slabs = launch.getSlabs(); slabs && failed(verifySlabs(launch, schedule, (*slabs)[1])))
      return WalkResult::interrupt();
    for (NamedAttribute view : launch.viewsOrEmpty()) {
      if (buffers.contains(cast<StringAttr>(view.getValue()).getValue()))
        continue;
      launch.emitOpError() << "gives '" << view.getName().getValue() << "' the buffer " << view.getValue()
                           << ", which the schedule does not define";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ScheduleOp::verifyRegions() {
  if (failed(verifyExtents(*this)))
    return failure();
  llvm::StringSet<> buffers;
  llvm::DenseSet<unsigned> phases;
  for (Operation &op : getBody().front()) {
    if (!isa<BufferOp, RunOp>(op))
      return op.emitOpError() << "has no place in a schedule: expected buffer or run";
    if (auto run = dyn_cast<RunOp>(op)) {
      if (!phases.insert(static_cast<unsigned>(run.getPhase())).second)
        return run.emitOpError() << "is the second run " << stringifyPhase(run.getPhase()) << " of its schedule";
      continue;
    }
    auto buffer = cast<BufferOp>(op);
    if (buffer.getAlias() && !buffers.contains(*buffer.getAlias()))
      return buffer.emitOpError() << "lies over '" << *buffer.getAlias() << "', which is no earlier buffer";
    if (!buffers.insert(buffer.getName()).second)
      return buffer.emitOpError() << "defines buffer '" << buffer.getName() << "' twice";
  }
  WalkResult loops = walk([&](LoopOp loop) {
    return loop.getBehind() && failed(verifySlabs(loop, *this, *loop.getBehind())) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(loops.wasInterrupted() || failed(verifyLaunches(*this, buffers)));
}

LogicalResult BufferOp::verify() {
  auto view = cast<ViewType>(getType());
  SmallVector<StringRef> symbols;
  collectSymbols(view, symbols);
  if (!symbols.empty())
    return emitOpError() << "'" << getName() << "' is " << view << ", which has symbol '" << symbols.front()
                         << "'; a schedule has everything bound";
  if (getWindow() && *getWindow() <= 0)
    return emitOpError() << "'" << getName() << "' has a window of " << *getWindow() << " columns; expected a positive number";
  if (std::max(getWindow().value_or(1), getPer()) > kMostExtent)
    return emitOpError() << "'" << getName() << "' has a window of " << getWindow().value_or(1) << " columns and " << getPer()
                         << " tokens to a row; " << kMostExtent << " is the most of either";
  if (getPer() <= 0)
    return emitOpError() << "'" << getName() << "' has " << getPer() << " tokens to a row; expected a positive number";
  if (getPer() != 1 && view.getDims()[0] != dimension(getContext(), ShapedType::kDynamic))
    return emitOpError() << "'" << getName() << "' has " << getPer() << " tokens to a row, but the rows of " << view << " are no tokens";
  return success();
}

// ---- runs and loops -------------------------------------------------------------------------------------------

static LogicalResult verifySteps(Operation *op, Region &body) {
  for (Operation &step : body.front())
    if (!isa<LoopOp, LaunchOp>(step))
      return step.emitOpError() << "has no place in '" << op->getName() << "': expected loop or launch";
  return success();
}

LogicalResult RunOp::verifyRegions() {
  if (getPhase() == Phase::Late)
    return emitOpError() << "has phase 'late'; what is late runs with the gradient, in run forward or run adjoint";
  return verifySteps(*this, getBody());
}

LogicalResult LoopOp::verifyRegions() { return verifySteps(*this, getBody()); }

LogicalResult LoopOp::verify() {
  if (getStep() == 0)
    return emitOpError() << "steps by 0";
  if (getAxis() == Axis::Slabs && getStep() < 0)
    return emitOpError() << "steps by " << getStep() << " slabs; only loops over tokens may give a number of chunks";
  if (bool(getFirst()) != bool(getBehind()))
    return emitOpError() << "has '" << (getFirst() ? "from" : "to") << "' without '" << (getFirst() ? "to" : "from") << "'";
  if (bool(getFirst()) != (getAxis() == Axis::Slabs))
    return emitOpError() << (getFirst() ? "over tokens covers all of them; 'from' is for slabs" : "over slabs needs 'from' and 'to'");
  if (getFirst() && (*getFirst() < 0 || *getBehind() <= *getFirst()))
    return emitOpError() << "covers no slabs: [" << *getFirst() << ", " << *getBehind() << ")";
  for (Operation *outer = (*this)->getParentOp(); auto loop = dyn_cast_or_null<LoopOp>(outer); outer = outer->getParentOp())
    if (loop.getAxis() == getAxis())
      return emitOpError() << "runs over " << stringifyAxis(getAxis()) << " inside another loop over them";
  return success();
}

LogicalResult LaunchOp::verify() {
  for (NamedAttribute view : viewsOrEmpty())
    if (!isa<StringAttr>(view.getValue()))
      return emitOpError() << "gives view '" << view.getName().getValue() << "' " << view.getValue() << ", which is no name of a buffer";
  for (NamedAttribute binding : getBindings())
    if (!isa<IntegerAttr, TypeAttr>(binding.getValue()))
      return emitOpError() << "binds '" << binding.getName().getValue() << "' to " << binding.getValue()
                           << ", which is no integer and no type";
  if (std::optional<ArrayRef<int64_t>> slabs = getSlabs(); slabs && (slabs->size() != 2 || (*slabs)[0] < 0 || (*slabs)[1] < (*slabs)[0]))
    return emitOpError() << "slabs [" << *slabs << "] are no range [first, behind)";
  return success();
}
