// RowState.cpp - where row states are stored, and the groups of tokens of a tile. Tokens are the
// lanes, so every reduction over the vocabulary is a loop over lines of the tile with the state in
// registers.
#include "compiler/Backends/CPU/TilesToCPU/Elementwise.h"
#include "compiler/Conversion/KnownCandidates.h"
#include "compiler/Conversion/SparseSlots.h"
#include "compiler/Conversion/Tiles/RowUpdate.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

void KernelContext::startRow(Value row, Value value) {
  auto type = cast<TileType>(row.getType());
  Tile tile = allocateTile(type, /*lanesAlongRows=*/true, e.integer(type.getExtent(0)), e.integer(1), /*isWhole=*/true);
  forGroups(tile, [&](Int lane) { e.store(value, e.at(tile.base, lane)); });
  setTile(row, tile);
}

namespace {
/// One update_state while it is emitted, for one group of lanes after the other.
class Update : public RowUpdate {
public:
  Update(KernelContext &k, UpdateStateOp op)
      : RowUpdate(k.e, op), k(k), e(k.e), inputs(k, op.getInputs()), column(k.scalar(op.getColumn())), sparse(findSparseSlots(op)),
        known(findKnownCandidates(op)) {}

  LogicalResult check() {
    if (failed(inputs.check(op)))
      return failure();
    if (!op.getEntries().empty())
      return op.emitOpError() << "makes entries; CPU kernels do not support that";
    auto isVarying = [](Value input) { return cast<TileType>(input.getType()).getExtent(1) > 1; };
    if (llvm::none_of(op.getInputs(), isVarying) && op.getLimit() > 1)
      return op.emitOpError() << "has no input with a vocabulary axis; the number of columns follows from one";
    return success();
  }

  void emit() {
    for (OpOperand &row : op.getStateMutable())
      stateTiles.push_back(k.takeOver(row));
    if (!sparse.empty())
      distances = k.allocate(e.i32, e.lanes);
    for (const SparseSlot &pick : sparse)
      found.push_back(k.allocate(typeOf(pick.slot), e.lanes));
    for (const KnownCandidate &candidate : known)
      places.push_back(k.allocate(candidate.value.getType(), mostLines() * e.lanes));
    Tile extent = stateTiles[0]; // all rows of the state where no input has one for each token
    if (inputs.tellExtent(0))
      extent.rows = inputs.rows();
    k.forGroups(extent, [&](Int lane) { emitGroup(lane); });
    for (auto [result, stateTile] : llvm::zip_equal(op.getResults(), stateTiles))
      k.setTile(result, stateTile);
  }

private:
  int64_t mostLines() {
    int64_t lines = 1;
    for (Type input : op.getInputs().getTypes())
      lines = std::max(lines, cast<TileType>(input).getExtent(1));
    return lines;
  }

  void emitGroup(Int lane) {
    Widener group(e, e.lanes);
    Emitter::Values state = fold(LaneGroup(k, inputs, lane, inputs.columns(), column), group);
    for (auto [i, pick] : llvm::enumerate(sparse))
      state[pick.slot] = findPick(group, lane, pick, found[i], state[pick.slot]);
    mergeState(group, lane, state);
  }

  void keepCandidates(const Column &at, ValueRange candidates) override {
    for (auto [candidate, place] : llvm::zip_equal(known, places))
      e.store(candidates[candidate.maximum], e.at(place, at.place * e.lanes));
  }
  void mapCandidates(const Column &at, Widener &values) override {
    for (auto [candidate, place] : llvm::zip_equal(known, places))
      values.map(candidate.value, e.load(e.at(place, at.place * e.lanes), e.lanes));
  }
  bool isFoundApart(unsigned slot) const override {
    return llvm::any_of(sparse, [&](const SparseSlot &pick) { return pick.slot == slot; });
  }

  /// Hardly any token has its entry in this tile, so lanes are looked at one by one only where some
  /// has.
  Value findPick(Widener &group, Int lane, const SparseSlot &pick, Place found, Value start) {
    Value first = arith::TruncIOp::create(e, e.i32, column), count = arith::TruncIOp::create(e, e.i32, inputs.columns());
    Value distance = arith::SubIOp::create(e, group.get(pick.index), e.spread(first, e.lanes));
    Value isHere = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, distance, e.spread(count, e.lanes));
    auto visit = [&]() -> Emitter::Values {
      e.store(start, found);
      e.store(distance, distances);
      e.loop(e.integer(e.lanes), [&](Int i) {
        Int line = e.extend(e.load(e.at(distances, i)));
        e.when(isLess(line, inputs.columns()), [&] { e.store(slotAt(pick.slot, line, lane + i), e.at(found, i)); });
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
  /// The slot after the update, for one token and one line. Reads its own inputs: there may be as
  /// many slots as inputs.
  Value slotAt(unsigned slot, Int line, Int lane) {
    Widener scalar(e, 0);
    ValueRange arguments = inputArguments(op.getUpdate(), stateSize);
    llvm::DenseSet<Value> read = argumentsOf(yielded(op.getUpdate(), slot));
    auto isRead = [&](Value argument) { return read.contains(argument); };
    inputs.mapUniform(scalar, arguments, lane, 0, isRead);
    inputs.mapLine(scalar, arguments, line, lane, 0, isRead);
    scalar.setColumn(op.getUpdate(), column + line);
    scalar.map(op.getUpdate().getArgument(slot), scalar.get(yielded(op.getInit(), slot)));
    return scalar.get(yielded(op.getUpdate(), slot));
  }

  void mergeState(const Widener &group, Int lane, ValueRange state) {
    Emitter::Values before = llvm::map_to_vector(stateTiles, [&](const Tile &stateTile) { return e.load(e.at(stateTile.base, lane), e.lanes); });
    for (auto [merged, stateTile] : llvm::zip_equal(merge(group, before, state), stateTiles))
      e.store(merged, e.at(stateTile.base, lane));
  }

  KernelContext &k;
  Emitter &e;
  RegionInputs inputs;
  Int column;
  SmallVector<SparseSlot> sparse;
  SmallVector<Tile> stateTiles;
  Place distances;
  SmallVector<Place> found; // one group of lanes for each sparse slot
  SmallVector<KnownCandidate> known;
  SmallVector<Place> places; // lines of one group of lanes for each known candidate
};
} // namespace

LogicalResult cpu::convertUpdateState(KernelContext &k, UpdateStateOp op) {
  Update update(k, op);
  if (failed(update.check()))
    return failure();
  update.emit();
  return success();
}
