// PlanOps.cpp - checks of programs, sweeps and finishes. Schedules have a file of their own.
#include "dialect/Varying.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;
using namespace logitile;

/// The region's block takes 'arguments' and its yield gives 'results'.
static LogicalResult verifyRegion(Operation *op, StringRef name, Region &region, TypeRange arguments, TypeRange results) {
  Block &block = region.front();
  if (TypeRange(block.getArgumentTypes()) != arguments)
    return op->emitOpError() << "'" << name << "' takes (" << block.getArgumentTypes() << "), expected (" << arguments << ")";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError() << "'" << name << "' must end in 'logitile.yield'";
  if (yield.getOperandTypes() != results)
    return yield.emitOpError() << "of '" << name << "' gives (" << yield.getOperandTypes() << "), expected (" << results << ")";
  return success();
}

static SmallVector<Type> typesOf(ArrayAttr types) {
  return llvm::to_vector(llvm::map_range(types.getAsValueRange<TypeAttr>(), [](Type type) { return type; }));
}
static LogicalResult verifyNames(Operation *op, StringRef what, ArrayAttr names) {
  llvm::StringSet<> seen;
  for (StringAttr name : names.getAsRange<StringAttr>())
    if (!seen.insert(name.getValue()).second)
      return op->emitOpError() << "names " << what << " " << name << " twice";
  return success();
}

LogicalResult SweepOp::verifyRegions() {
  if (failed(verifyNames(*this, "state", getStateNames())))
    return failure();
  SmallVector<Type> state = typesOf(getStateTypes()), two = state;
  two.append(state);
  Block &bound = getBound().front();
  auto candidates = bound.empty() ? YieldOp() : dyn_cast<YieldOp>(bound.back());
  if (!candidates)
    return emitOpError() << "'bound' must end in 'logitile.yield'";
  size_t maxima = candidates.getNumOperands();
  if (maxima > state.size())
    return emitOpError() << "'bound' gives " << maxima << " candidates for " << state.size() << " entries of state";
  return failure(failed(verifyRegion(*this, "init", getInit(), {}, state)) ||
                 failed(verifyRegion(*this, "bound", getBound(), {}, TypeRange(state).take_front(maxima))) ||
                 failed(verifyRegion(*this, "update", getUpdate(), state, state)) ||
                 failed(verifyRegion(*this, "merge", getMerge(), two, state)));
}

LogicalResult FinishOp::verifyRegions() {
  if (failed(verifyNames(*this, "result", getResultNames())))
    return failure();
  SmallVector<Type> state;
  if (std::optional<StringRef> name = getSweep()) {
    auto sweep = SymbolTable::lookupNearestSymbolFrom<SweepOp>(*this, StringAttr::get(getContext(), *name));
    if (!sweep)
      return emitOpError() << "is 'of' @" << *name << ", which is no sweep of this program";
    if (!sweep->isBeforeInBlock(*this))
      return emitOpError() << "stands before its sweep @" << *name;
    state = typesOf(sweep.getStateTypes());
  }
  if (failed(verifyRegion(*this, "finish", getBody(), state, typesOf(getResultTypes()))))
    return failure();
  Varying varying(getBody());
  for (Value value : getBody().front().getTerminator()->getOperands())
    if (varying.isVarying(value))
      return emitOpError() << "yields a value that varies along the vocabulary; a finish has one value per token";
  return success();
}

/// A region reads only what earlier finishes left.
static LogicalResult verifyKnown(Operation &part, const llvm::StringMap<Type> &known) {
  WalkResult walk = part.walk([&](InputOp input) {
    if (input.getKind() != InputKind::Known)
      return WalkResult::advance();
    auto it = known.find(input.getName());
    if (it == known.end())
      input.emitOpError() << "reads known '" << input.getName() << "', which no earlier finish gives";
    else if (it->second != input.getType())
      input.emitOpError() << "reads known '" << input.getName() << "' as " << input.getType() << ", but its finish gives " << it->second;
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ProgramOp::verifyRegions() {
  if (getVocab() <= 0)
    return emitOpError() << "vocabulary size " << getVocab() << " must be positive";
  llvm::StringMap<Type> known;
  for (Operation &part : getBody().front()) {
    if (!isa<SweepOp, FinishOp, GradientOp, ScheduleOp>(part))
      return part.emitOpError() << "has no place in a program: expected sweep, finish, gradient or schedule";
    if (failed(verifyKnown(part, known)))
      return failure();
    auto finish = dyn_cast<FinishOp>(part);
    if (!finish)
      continue;
    for (auto [name, type] : llvm::zip_equal(finish.getResultNames().getAsRange<StringAttr>(), typesOf(finish.getResultTypes())))
      if (!known.try_emplace(name.getValue(), type).second)
        return finish.emitOpError() << "gives known " << name << ", which an earlier finish gives already";
  }
  for (OutputAttr output : getOutputs().getAsRange<OutputAttr>())
    if (!known.contains(output.getName()))
      return emitOpError() << "output '" << output.getName() << "' is the result of no finish";
  for (StringAttr index : getChecked().getAsRange<StringAttr>())
    if (!known.contains(index.getValue()) || !known.lookup(index.getValue()).isInteger(32))
      return emitOpError() << "checked index " << index << " is no i32 result of a finish";
  return success();
}
