// RowUpdate.cpp - bounds, update and merge over the columns of a group of rows.
#include "compiler/Conversion/Tiles/RowUpdate.h"
#include "compiler/Conversion/EqualMaxima.h"
using namespace mlir;
using namespace logitile;

CodeBuilder::Values RowUpdate::fold(const RowGroup &rows, Widener &values) {
  rows.mapUniform(values, inputArguments(op.getCandidate(), 0));
  rows.mapUniform(values, inputArguments(op.getUpdate(), stateSize));
  rows.mapUniform(values, inputArguments(op.getMerge(), 2 * stateSize));
  CodeBuilder::Values state = values.getYielded(op.getInit());
  boundMaxima(rows, values, state);
  updateState(rows, values, state);
  return state;
}

Value RowUpdate::larger(Value candidate, Value known, Value isCounted) const {
  Value isLarger = arith::CmpFOp::create(builder, arith::CmpFPredicate::OGT, candidate, known);
  return arith::SelectOp::create(builder, isCounted ? builder.both(isCounted, isLarger) : isLarger, candidate, known);
}

/// The maxima of these columns first: under them, the update needs one exponential for each entry.
void RowUpdate::boundMaxima(const RowGroup &rows, Widener &values, CodeBuilder::Values &state) {
  values.emitReady(op.getCandidate());
  if (maxima == 0)
    return;
  CodeBuilder::Values start(state.begin(), state.begin() + maxima);
  CodeBuilder::Values best = rows.forColumns(start, [&](const Column &column, ValueRange best) {
    Widener element = values;
    rows.mapColumn(element, op.getCandidate(), inputArguments(op.getCandidate(), 0), column);
    CodeBuilder::Values candidates = element.getYielded(op.getCandidate()), next;
    for (auto [candidate, known] : llvm::zip_equal(candidates, best))
      next.push_back(larger(candidate, known, column.inside));
    keepCandidates(column, candidates);
    return next;
  });
  joinMaxima(best);
  llvm::copy(best, state.begin());
}

void RowUpdate::updateState(const RowGroup &rows, Widener &values, CodeBuilder::Values &state) {
  SmallVector<unsigned> carried;
  for (unsigned slot = 0; slot < stateSize; ++slot) {
    BlockArgument argument = op.getUpdate().getArgument(slot);
    if (yielded(op.getUpdate(), slot) == argument)
      values.map(argument, state[slot]); // the same for all columns
    else if (!isFoundApart(slot))
      carried.push_back(slot);
  }
  values.emitReady(op.getUpdate());
  bool makesEntries = !op.getEntries().empty();
  if (!carried.empty() || makesEntries)
    updateSlots(rows, values, carried, state, makesEntries);
}

void RowUpdate::updateSlots(const RowGroup &rows, const Widener &values, ArrayRef<unsigned> slots, CodeBuilder::Values &state,
                            bool makesEntries) {
  CodeBuilder::Values start = llvm::map_to_vector(slots, [&](unsigned slot) { return state[slot]; });
  CodeBuilder::Values last = rows.forColumns(start, [&](const Column &column, ValueRange current) {
    Widener element = values;
    for (auto [slot, value] : llvm::zip_equal(slots, current))
      element.map(op.getUpdate().getArgument(slot), value);
    rows.mapColumn(element, op.getUpdate(), inputArguments(op.getUpdate(), stateSize), column);
    mapCandidates(column, element);
    CodeBuilder::Values next = llvm::map_to_vector(slots, [&](unsigned slot) { return element.get(yielded(op.getUpdate(), slot)); });
    for (auto [value, before] : llvm::zip_equal(next, current))
      if (column.inside)
        value = arith::SelectOp::create(builder, column.inside, value, before);
    if (makesEntries)
      keepEntries(column, element.get(op.getUpdate().front().getTerminator()->getOperands().drop_front(stateSize)));
    return next;
  });
  for (auto [slot, value] : llvm::zip_equal(slots, last))
    state[slot] = value;
}

Widener RowUpdate::mapStates(const Widener &uniform, ValueRange first, ValueRange second) const {
  Widener both = uniform;
  UpdateStateOp update = op;
  both.map(update.getMerge().getArguments().take_front(stateSize), first);
  both.map(update.getMerge().getArguments().slice(stateSize, stateSize), second);
  return both;
}

CodeBuilder::Values RowUpdate::merge(const Widener &uniform, ValueRange first, ValueRange second) const {
  return mapStates(uniform, first, second).getYielded(UpdateStateOp(op).getMerge());
}

CodeBuilder::Values RowUpdate::mergeAlike(const Widener &uniform, ValueRange first, ValueRange second) const {
  CodeBuilder::Values other(first.take_front(maxima));
  llvm::append_range(other, second.drop_front(maxima));
  Widener both = mapStates(uniform, first, other);
  mapEqualMaxima(builder, both, op);
  return both.getYielded(UpdateStateOp(op).getMerge());
}
