// RowUpdate.cpp - bounds, update and merge over the columns of a group of rows.
#include "compiler/Conversion/Tiles/RowUpdate.h"
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
  for (unsigned entry = 0; entry < stateSize; ++entry) {
    BlockArgument argument = op.getUpdate().getArgument(entry);
    if (yielded(op.getUpdate(), entry) == argument)
      values.map(argument, state[entry]); // the same for all columns
    else if (!isFoundApart(entry))
      carried.push_back(entry);
  }
  values.emitReady(op.getUpdate());
  if (!carried.empty())
    updateEntries(rows, values, carried, state);
}

void RowUpdate::updateEntries(const RowGroup &rows, const Widener &values, ArrayRef<unsigned> entries, CodeBuilder::Values &state) {
  CodeBuilder::Values start = llvm::map_to_vector(entries, [&](unsigned entry) { return state[entry]; });
  CodeBuilder::Values last = rows.forColumns(start, [&](const Column &column, ValueRange current) {
    Widener element = values;
    for (auto [entry, value] : llvm::zip_equal(entries, current))
      element.map(op.getUpdate().getArgument(entry), value);
    rows.mapColumn(element, op.getUpdate(), inputArguments(op.getUpdate(), stateSize), column);
    mapCandidates(column, element);
    CodeBuilder::Values next = llvm::map_to_vector(entries, [&](unsigned entry) { return element.get(yielded(op.getUpdate(), entry)); });
    for (auto [value, before] : llvm::zip_equal(next, current))
      if (column.inside)
        value = arith::SelectOp::create(builder, column.inside, value, before);
    return next;
  });
  for (auto [entry, value] : llvm::zip_equal(entries, last))
    state[entry] = value;
}

CodeBuilder::Values RowUpdate::merge(const Widener &uniform, ValueRange first, ValueRange second) const {
  Widener both = uniform;
  UpdateStateOp update = op;
  both.map(update.getMerge().getArguments().take_front(stateSize), first);
  both.map(update.getMerge().getArguments().slice(stateSize, stateSize), second);
  return both.getYielded(update.getMerge());
}
