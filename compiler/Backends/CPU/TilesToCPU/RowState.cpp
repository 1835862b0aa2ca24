// RowState.cpp - the row state of a sweep: its start, and a tile folded into it. Tokens are the lanes, so every reduction
// over the vocabulary is a loop over lines of the tile with the state in registers.
#include "compiler/Conversion/KnownBounds.h"
#include "compiler/Conversion/SparseEntries.h"
#include "compiler/Backends/CPU/TilesToCPU/Elementwise.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

LogicalResult cpu::convertInitRows(KernelContext &k, InitRowsOp op) {
  Emitter &e = k.e;
  Widener widener(e, e.lanes);
  Emitter::Values values = widener.getYielded(op.getInit());
  for (auto [row, value] : llvm::zip_equal(op.getRows(), values)) {
    auto type = cast<TileType>(row.getType());
    if (type.getExtent(1) != 1)
      return op.emitOpError() << "starts a row state of " << type << "; expected 1 column";
    Tile tile = k.allocateTile(type, /*lanesAlongRows=*/true, e.integer(type.getExtent(0)), e.integer(1), /*isWhole=*/true);
    k.forGroups(tile, [&](Int lane) { e.store(value, e.at(tile.base, lane)); });
    k.setTile(row, tile);
  }
  return success();
}

namespace {
/// One update_rows while it is emitted, for one group of lanes after the other.
class Update {
public:
  Update(KernelContext &k, UpdateRowsOp op)
      : k(k), e(k.e), op(op), inputs(k, op.getInputs()), stateSize(op.getRows().size()),
        maxima(op.getBound().front().getTerminator()->getNumOperands()), column(k.scalar(op.getColumn())), sparse(findSparseEntries(op)),
        known(findKnownBounds(op)) {}

  LogicalResult check() {
    if (failed(inputs.check(op)))
      return failure();
    auto isVarying = [](Value input) { return cast<TileType>(input.getType()).getExtent(1) > 1; };
    if (llvm::none_of(op.getInputs(), isVarying) && op.getLimit() > 1)
      return op.emitOpError() << "has no input with a vocabulary axis; the number of columns follows from one";
    for (auto [input, argument] : llvm::zip_equal(op.getInputs(), op.getMerge().getArguments().drop_front(2 * stateSize)))
      if (cast<TileType>(input.getType()).getExtent(1) > 1 && !argument.use_empty())
        return op.emitOpError() << "'merge' reads an input that has a vocabulary axis";
    return success();
  }

  void emit() {
    for (OpOperand &row : op.getRowsMutable())
      homes.push_back(k.takeOver(row));
    if (!sparse.empty())
      distances = k.allocate(e.i32, e.lanes);
    for (const SparseEntry &entry : sparse)
      found.push_back(k.allocate(typeOf(entry.entry), e.lanes));
    for (const KnownBound &bound : known)
      candidates.push_back(k.allocate(bound.value.getType(), mostLines() * e.lanes));
    Tile extent = homes[0]; // all rows of the state where no input has one for each token
    if (inputs.tellExtent(0))
      extent.rows = inputs.rows();
    k.forGroups(extent, [&](Int lane) { emitGroup(lane); });
    for (auto [result, home] : llvm::zip_equal(op.getResults(), homes))
      k.setTile(result, home);
  }

private:
  int64_t mostLines() {
    int64_t lines = 1;
    for (Type input : op.getInputs().getTypes())
      lines = std::max(lines, cast<TileType>(input).getExtent(1));
    return lines;
  }
  Type typeOf(unsigned entry) { return cast<TileType>(op.getRows()[entry].getType()).getElement(); }
  ValueRange inputArguments(Region &region, unsigned state) { return region.getArguments().drop_front(state); }
  Value yielded(Region &region, unsigned entry) { return region.front().getTerminator()->getOperand(entry); }

  void emitGroup(Int lane) {
    Widener group(e, e.lanes);
    inputs.mapUniform(group, inputArguments(op.getBound(), 0), lane, e.lanes);
    inputs.mapUniform(group, inputArguments(op.getUpdate(), stateSize), lane, e.lanes);
    inputs.mapUniform(group, inputArguments(op.getMerge(), 2 * stateSize), lane, e.lanes);
    Emitter::Values state = group.getYielded(op.getInit());
    boundMaxima(group, lane, state);
    updateState(group, lane, state);
    for (auto [i, entry] : llvm::enumerate(sparse))
      state[entry.entry] = findEntry(group, lane, entry, found[i], state[entry.entry]);
    mergeState(group, lane, state);
  }

  /// The tile's own maxima first: under them, the update needs one exponential for each entry. A NaN is never larger.
  void boundMaxima(Widener &group, Int lane, Emitter::Values &state) {
    group.emitReady(op.getBound());
    Emitter::Values start(state.begin(), state.begin() + maxima);
    Emitter::Values best = e.loop(inputs.columns(), start, [&](Int line, ValueRange best) {
      Widener element = group;
      inputs.mapLine(element, inputArguments(op.getBound(), 0), line, lane, e.lanes);
      element.setColumn(op.getBound(), column + line);
      Emitter::Values values = element.getYielded(op.getBound()), next;
      for (auto [value, largest] : llvm::zip_equal(values, best)) {
        Value isLarger = arith::CmpFOp::create(e, arith::CmpFPredicate::OGT, value, largest);
        next.push_back(arith::SelectOp::create(e, isLarger, value, largest));
      }
      for (auto [bound, place] : llvm::zip_equal(known, candidates))
        e.store(values[bound.maximum], e.at(place, line * e.lanes));
      return next;
    });
    llvm::copy(best, state.begin());
  }

  bool isSparse(unsigned entry) const {
    return llvm::any_of(sparse, [&](const SparseEntry &other) { return other.entry == entry; });
  }
  void updateState(Widener &group, Int lane, Emitter::Values &state) {
    SmallVector<unsigned> carried;
    for (unsigned entry = 0; entry < stateSize; ++entry) {
      BlockArgument argument = op.getUpdate().getArgument(entry);
      if (yielded(op.getUpdate(), entry) == argument)
        group.map(argument, state[entry]); // the same for all lines
      else if (!isSparse(entry))
        carried.push_back(entry);
    }
    group.emitReady(op.getUpdate());
    Emitter::Values start = llvm::map_to_vector(carried, [&](unsigned entry) { return state[entry]; });
    Emitter::Values last = e.loop(carried.empty() ? e.integer(0) : inputs.columns(), start, [&](Int line, ValueRange current) {
      Widener element = group;
      for (auto [entry, value] : llvm::zip_equal(carried, current))
        element.map(op.getUpdate().getArgument(entry), value);
      inputs.mapLine(element, inputArguments(op.getUpdate(), stateSize), line, lane, e.lanes);
      element.setColumn(op.getUpdate(), column + line);
      for (auto [bound, place] : llvm::zip_equal(known, candidates))
        element.map(bound.value, e.load(e.at(place, line * e.lanes), e.lanes));
      return llvm::map_to_vector(carried, [&](unsigned entry) { return element.get(yielded(op.getUpdate(), entry)); });
    });
    for (auto [entry, value] : llvm::zip_equal(carried, last))
      state[entry] = value;
  }

  /// Hardly any token has its entry in this tile, so lanes are looked at one by one only where some has.
  Value findEntry(Widener &group, Int lane, const SparseEntry &entry, Place found, Value start) {
    Value first = arith::TruncIOp::create(e, e.i32, column), count = arith::TruncIOp::create(e, e.i32, inputs.columns());
    Value distance = arith::SubIOp::create(e, group.get(entry.index), e.spread(first, e.lanes));
    Value isHere = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, distance, e.spread(count, e.lanes));
    auto visit = [&]() -> Emitter::Values {
      e.store(start, found);
      e.store(distance, distances);
      e.loop(e.integer(e.lanes), [&](Int i) {
        Int line = e.extend(e.load(e.at(distances, i)));
        e.when(isLess(line, inputs.columns()), [&] { e.store(entryAt(entry.entry, line, lane + i), e.at(found, i)); });
      });
      return {e.load(found, e.lanes)};
    };
    return e.choose(e.isAnyLane(isHere), start.getType(), visit, [&] { return Emitter::Values{start}; })[0];
  }
  /// What 'value' is made of, among the arguments of its block.
  static llvm::DenseSet<Value> argumentsOf(Value value) {
    llvm::DenseSet<Value> seen, arguments;
    SmallVector<Value> todo{value};
    while (!todo.empty()) {
      Value next = todo.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      if (Operation *op = next.getDefiningOp())
        llvm::append_range(todo, op->getOperands());
      else
        arguments.insert(next);
    }
    return arguments;
  }
  /// The entry after the update, for one token and one line. Reads its own inputs: there may be as many entries as inputs.
  Value entryAt(unsigned entry, Int line, Int lane) {
    Widener scalar(e, 0);
    ValueRange arguments = inputArguments(op.getUpdate(), stateSize);
    llvm::DenseSet<Value> read = argumentsOf(yielded(op.getUpdate(), entry));
    auto isRead = [&](Value argument) { return read.contains(argument); };
    inputs.mapUniform(scalar, arguments, lane, 0, isRead);
    inputs.mapLine(scalar, arguments, line, lane, 0, isRead);
    scalar.setColumn(op.getUpdate(), column + line);
    scalar.map(op.getUpdate().getArgument(entry), scalar.get(yielded(op.getInit(), entry)));
    return scalar.get(yielded(op.getUpdate(), entry));
  }

  void mergeState(Widener &group, Int lane, ValueRange state) {
    for (unsigned entry = 0; entry < stateSize; ++entry) {
      group.map(op.getMerge().getArgument(entry), e.load(e.at(homes[entry].base, lane), e.lanes));
      group.map(op.getMerge().getArgument(stateSize + entry), state[entry]);
    }
    for (auto [merged, home] : llvm::zip_equal(group.getYielded(op.getMerge()), homes))
      e.store(merged, e.at(home.base, lane));
  }

  KernelContext &k;
  Emitter &e;
  UpdateRowsOp op;
  RegionInputs inputs;
  unsigned stateSize, maxima;
  Int column;
  SmallVector<SparseEntry> sparse;
  SmallVector<Tile> homes;
  Place distances;
  SmallVector<Place> found; // one group of lanes for each sparse entry
  SmallVector<KnownBound> known;
  SmallVector<Place> candidates; // lines of one group of lanes for each known bound
};
} // namespace

LogicalResult cpu::convertUpdateRows(KernelContext &k, UpdateRowsOp op) {
  if (op.getRows().empty())
    return success();
  Update update(k, op);
  if (failed(update.check()))
    return failure();
  update.emit();
  return success();
}
