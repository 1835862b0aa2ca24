// RowState.cpp - adds a tile to the row state of a sweep. The threads that have a tile's elements
// process them. Then the quad of a row, and then neighbouring warps, join their results with the
// merge region. The thread that has the state of the row gets the result.
#include "compiler/Backends/NVPTX/TilesToCUDA/Elementwise.h"
#include "compiler/Conversion/KnownCandidates.h"
#include "compiler/Conversion/SparseSlots.h"
#include "compiler/Conversion/Tiles/RowUpdate.h"
using namespace mlir;

namespace logitile::cuda {
namespace {
/// One update_state while it is emitted.
class Update : public RowUpdate {
public:
  Update(KernelContext &k, UpdateStateOp op)
      : RowUpdate(k.e, op), k(k), e(k.e), inputs(k, op.getInputs()), column(k.scalar(op.getColumn())), sparse(findSparseSlots(op)),
        known(findKnownCandidates(op)), areInWarps(k.threads.sharing.haveWarpsStates()) {}

  LogicalResult check() {
    if (!k.threads.sharing.isFragments)
      return op.emitOpError() << "folds a tile into row states in a kernel without tiles of two dimensions";
    return inputs.check(op);
  }

  void emit() {
    const Sharing &sharing = k.threads.sharing;
    bool mayClip = op.getLimit() % sharing.columns != 0;
    if (!areInWarps)
      placeParts();
    PassedTiles passed(k, op, op.getInputs());
    SmallVector<Type> types = passed.types();
    size_t passedValues = types.size();
    for (Type type : op.getEntries().getTypes())
      types.append(countElements(), cast<TileType>(type).getElement());
    size_t tileValues = types.size();
    llvm::append_range(types, ValueRange(nothingHanded()).getTypes());
    auto foldOnce = [&](bool isTail) {
      RowLoop loop = foldTile(isTail);
      CodeBuilder::Values values = passed.valuesOf(loop);
      for (ArrayRef<Value> entries : loop.results)
        llvm::append_range(values, entries);
      llvm::append_range(values, loop.carried);
      return values;
    };
    areLooped = sharing.columnSlots() > 1 && (isLong(op.getCandidate()) || isLong(op.getUpdate()));
    // A comparison for each column costs less than code for the last tile and other code for the
    // tiles before it.
    bool isOneCode = mayClip && (areLooped || hasMuchFunctionCode(op.getUpdate()));
    listsColumns = !isOneCode;
    CodeBuilder::Values values = isOneCode
                                     ? foldOnce(/*isTail=*/true)
                                     : k.splitTail(mayClip, column, sharing.columns, e.integer(op.getLimit()), types, foldOnce);
    passed.set(ArrayRef(values).take_front(passedValues));
    setEntries(ArrayRef(values).slice(passedValues, tileValues - passedValues));
    if (!areInWarps)
      e.barrier();
    joinParts(ArrayRef(values).drop_front(tileValues));
  }

private:
  /// What a thread starts with that gets the state of a row from another lane.
  CodeBuilder::Values nothingHanded() {
    CodeBuilder::Values nothing;
    for (unsigned slot = 0; areInWarps && slot < stateSize; ++slot)
      nothing.push_back(e.number(typeOf(slot), 0));
    return nothing;
  }
  /// Those of this thread in a tile of all rows and columns.
  size_t countElements() const { return k.threads.sharing.rowSlots() * k.threads.sharing.columnSlots(); }
  void setEntries(ArrayRef<Value> values) {
    for (Value entry : op.getEntries()) {
      k.setTile(entry, Tile{cast<TileType>(entry.getType()), llvm::to_vector(values.take_front(countElements())), {}});
      values = values.drop_front(countElements());
    }
  }

  /// Shared memory where warps leave what they have of rows.
  void placeParts() {
    const Sharing &sharing = k.threads.sharing;
    int64_t bytes = sharing.rows * sharing.warpColumns * 4; // of a slot
    Int scratch = k.scratch(stateSize * bytes);
    for (unsigned slot = 0; slot < stateSize; ++slot)
      parts.push_back(e.shared(scratch + slot * bytes, typeOf(slot)));
    e.barrier(); // parts of the tile before are read
  }
  /// Where warps leave the state of a row: one after the other in the order of their columns.
  Place partOf(unsigned slot, Int row, Int warpColumn) {
    return e.at(parts[slot], warpColumn * k.threads.sharing.rows + row);
  }

  /// Returns the loop over its rows.
  RowLoop foldTile(bool isTail) {
    inputs.readColumns();
    clips = isTail;
    for (int64_t slot = 0; isTail && listsColumns && slot < k.threads.sharing.columnSlots(); ++slot) {
      numbers.push_back(column + k.threads.column(slot));
      inside.push_back(isLess(numbers.back(), op.getLimit()));
    }
    RowLoop loop(k);
    inputs.takeInto(loop, op);
    loop.compute(op.getUpdate());
    loop.carry(nothingHanded());
    for (Type type : op.getEntries().getTypes())
      loop.make(cast<TileType>(type));
    loop.run([&] {
      int64_t rows = k.rowSlots(cast<TileType>(op.getState()[0].getType()));
      for (int64_t slot = 0; slot < rows; ++slot)
        foldRow(loop, slot);
    });
    numbers.clear();
    inside.clear();
    return loop;
  }

  void keepCandidates(const Column &, ValueRange candidates) override {
    current->keep(llvm::map_to_vector(known, [&](const KnownCandidate &candidate) { return candidates[candidate.maximum]; }));
  }
  void keepEntries(const Column &, ValueRange entries) override { current->keep(entries, known.size()); }
  void mapCandidates(const Column &at, Widener &values) override {
    if (compared)
      values.map(Value(arith::CmpIOp(compared->comparison)), isColumn(at));
    for (auto [i, candidate] : llvm::enumerate(known))
      values.map(candidate.value, current->getKept(i, at));
  }

  /// Without a tail, numbers are made where they are used: most tiles have no use for them.
  Int numberOf(Int slot) const {
    if (!slot.isKnown())
      return column + k.threads.column(slot);
    return numbers.empty() ? column + k.threads.column(slot.known()) : numbers[slot.known()];
  }
  Value isInside(Int slot) {
    if (slot.isKnown() && !inside.empty())
      return inside[slot.known()];
    return clips ? isLess(numberOf(slot), op.getLimit()) : Value();
  }

  void foldRow(RowLoop &loop, int64_t rowSlot) {
    Widener group(e, 0);
    auto numberAt = [&](Int slot) { return numberOf(slot); };
    auto insideAt = [&](Int slot) { return isInside(slot); };
    SmallVector<Type> kept = llvm::map_to_vector(known, [](const KnownCandidate &candidate) { return candidate.value.getType(); });
    for (Type type : op.getEntries().getTypes())
      kept.push_back(cast<TileType>(type).getElement());
    ThreadRow row(k, inputs, inputs.readRow(loop, rowSlot), {k.threads.sharing.columnSlots(), areLooped, numberAt, insideAt}, kept);
    current = &row;
    CodeBuilder::Values state = fold(row, group);
    for (auto [i, values] : llvm::enumerate(loop.results))
      llvm::append_range(values, ArrayRef(row.getKept(known.size() + i)).take_front(k.threads.sharing.columnSlots()));
    for (const SparseSlot &pick : sparse)
      if (isFoundApart(pick.slot))
        state[pick.slot] = findPick(row, group, pick, state);
    for (int64_t mask : {1, 2}) { // the quad has joined its maxima before
      CodeBuilder::Values other(state);
      for (Value &value : MutableArrayRef(other).drop_front(maxima))
        value = exchange(value, mask);
      state = mergeAlike(group, state, other);
    }
    if (areInWarps)
      return handOver(loop, rowSlot, state);
    e.when(isEqual(k.threads.quad, 0), [&] {
      for (auto [slot, value] : llvm::enumerate(state))
        e.store(value, partOf(slot, k.threads.row(rowSlot), k.threads.warpColumn));
    });
  }

  /// Lane l gets the state of the warp's row l: that is row slot l / 8 of quad l % 8.
  void handOver(RowLoop &loop, int64_t rowSlot, ValueRange state) {
    Value isMine = isEqual(e.lane() / TurnLines::kRowsOfFragment - k.threads.rowSlot(rowSlot), 0);
    Int quad = e.lane() % TurnLines::kRowsOfFragment;
    for (auto [mine, value] : llvm::zip_equal(loop.carried, state)) {
      Value handed = asWord(value, [&](Value word) { return e.valueOf(quad * 4, word); });
      mine = arith::SelectOp::create(e, isMine, handed, mine);
    }
  }

  /// A loop over columns stays one loop: another one for a slot would pass all their values on
  /// once more.
  bool isFoundApart(unsigned slot) const override {
    return !areLooped && llvm::any_of(sparse, [&](const SparseSlot &pick) { return pick.slot == slot; });
  }

  /// Whether a column is the one that is looked for: how far that is from this thread's first one
  /// is compared with constants. The numbers of all columns would be computed before it is known
  /// that the tile has the entry.
  Value isColumn(const Column &at) {
    arith::CmpIOp comparison = compared->comparison;
    Value distance = e.word(k.threads.distance(at.place.known()));
    return arith::CmpIOp::create(e, comparison.getPredicate(), fromFirst, distance);
  }

  /// Hardly any row has its entry in this tile, so its columns are compared only where it has.
  Value findPick(const ThreadRow &row, Widener &group, const SparseSlot &pick, const CodeBuilder::Values &start) {
    Value distance = arith::SubIOp::create(e, group.get(pick.index), e.narrow(column));
    Value columns = e.word(k.threads.sharing.columns);
    Value isHere = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, distance, columns);
    auto compare = [&]() -> CodeBuilder::Values {
      CodeBuilder::Values state = start;
      fromFirst = arith::SubIOp::create(e, distance, e.narrow(k.threads.column(0)));
      compared = &pick;
      updateSlots(row, group, {pick.slot}, state);
      compared = nullptr;
      return {state[pick.slot]};
    };
    return e.choose(isHere, typeOf(pick.slot), compare, [&] { return CodeBuilder::Values{start[pick.slot]}; })[0];
  }

  Value exchange(Value value, int64_t mask) {
    return asWord(value, [&](Value word) { return e.exchange(word, mask); });
  }
  /// Lanes exchange words, not bits.
  Value asWord(Value value, function_ref<Value(Value)> exchanged) {
    if (!value.getType().isInteger(1))
      return exchanged(value);
    return arith::TruncIOp::create(e, e.i1, exchanged(arith::ExtUIOp::create(e, e.i32, value)));
  }

  /// One instruction, which takes the number where the other value is NaN.
  Value larger(Value candidate, Value known, Value isCounted) const override {
    Value counted = isCounted ? arith::SelectOp::create(e, isCounted, candidate, known) : candidate;
    return arith::MaxNumFOp::create(e, counted, known);
  }

  /// Those of the quad.
  void joinMaxima(MutableArrayRef<Value> maxima) override {
    for (Value &maximum : maxima)
      for (int64_t mask : {1, 2})
        maximum = larger(e.exchange(maximum, mask), maximum, Value());
  }

  /// A thread joins what there is of its row with its state, in the order of the columns.
  void joinParts(ArrayRef<Value> handed) {
    const Sharing &sharing = k.threads.sharing;
    CodeBuilder::Values state = llvm::map_to_vector(op.getState(), [&](Value row) { return k.tile(row).values[0]; });
    auto join = [&] {
      Widener uniform(e, 0);
      inputs.mapLine(uniform, inputArguments(op.getMerge(), 2 * stateSize), k.threads.line);
      if (areInWarps)
        return merge(uniform, state, handed);
      CodeBuilder::Values joined = state;
      for (int64_t warp = 0; warp < sharing.warpColumns; ++warp) {
        CodeBuilder::Values part;
        for (unsigned slot = 0; slot < stateSize; ++slot)
          part.push_back(e.load(partOf(slot, k.threads.line, e.integer(warp))));
        joined = merge(uniform, joined, part);
      }
      return joined;
    };
    SmallVector<Type> types(ValueRange(state).getTypes());
    bool haveAll = areInWarps || sharing.rows == sharing.threads; // threads without a row may join anything
    CodeBuilder::Values joined = haveAll ? join() : e.choose(k.threads.hasLine(), types, join, [&] { return state; });
    for (auto [result, value] : llvm::zip_equal(op.getResults(), joined)) {
      Tile tile{cast<TileType>(result.getType()), {value}, {}};
      tile.isOwned = true;
      k.setTile(result, tile);
    }
  }

  KernelContext &k;
  Emitter &e;
  RegionInputs inputs;
  Int column;
  SmallVector<Place> parts;    // for each slot of the state
  bool areLooped = false;      // this thread's columns
  bool clips = false;          // some of them may not exist
  bool listsColumns = false;   // code for the last tile has the two lists that follow
  SmallVector<Int> numbers;    // of the columns
  SmallVector<Value> inside;   // whether they exist
  SmallVector<SparseSlot> sparse;
  SmallVector<KnownCandidate> known;
  const bool areInWarps;              // the states of rows, in lanes of the warps that have the rows
  const ThreadRow *current = nullptr; // which is folded
  const SparseSlot *compared = nullptr; // which is looked for
  Value fromFirst;
};
} // namespace

LogicalResult convertUpdateState(KernelContext &k, UpdateStateOp op) {
  Update update(k, op);
  if (failed(update.check()))
    return failure();
  update.emit();
  return success();
}
} // namespace logitile::cuda
