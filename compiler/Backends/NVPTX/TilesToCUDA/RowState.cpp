// RowState.cpp - the row state of a sweep: its start, and a tile folded into it. The state of row t belongs to thread t. A
// tile is folded by the threads that have its elements; the quad of a row, then the warps beside each other, join what
// they have by the merge region.
#include "compiler/Backends/NVPTX/TilesToCUDA/Elementwise.h"
using namespace mlir;

namespace logitile::cuda {
LogicalResult convertInitRows(KernelContext &k, InitRowsOp op) {
  Widener widener(k.e, 0);
  CodeBuilder::Values values = widener.getYielded(op.getInit());
  for (auto [row, value] : llvm::zip_equal(op.getRows(), values)) {
    auto type = cast<TileType>(row.getType());
    if (type.getExtent(1) != 1)
      return op.emitOpError() << "starts a row state of " << type << "; expected 1 column";
    Tile tile{type, {value}, {}};
    tile.isOwned = k.isOwned(type);
    k.setTile(row, tile);
  }
  return success();
}

namespace {
/// One update_rows while it is emitted.
class Update {
public:
  Update(KernelContext &k, UpdateRowsOp op)
      : k(k), e(k.e), op(op), inputs(k, op.getInputs()), stateSize(op.getRows().size()),
        maxima(op.getBound().front().getTerminator()->getNumOperands()), column(k.scalar(op.getColumn())) {}

  LogicalResult check() {
    if (!k.threads.sharing.isFragments)
      return op.emitOpError() << "folds a tile into row states in a kernel without tiles of two dimensions";
    for (auto [input, argument] : llvm::zip_equal(op.getInputs(), op.getMerge().getArguments().drop_front(2 * stateSize)))
      if (cast<TileType>(input.getType()).getExtent(1) > 1 && !argument.use_empty())
        return op.emitOpError() << "'merge' reads an input that has a vocabulary axis";
    return inputs.check(op);
  }

  void emit() {
    const Sharing &sharing = k.threads.sharing;
    for (unsigned entry = 0; entry < stateSize; ++entry)
      parts.push_back(e.shared(k.allocate(sharing.rows * sharing.warpColumns * 4), typeOf(entry)));
    bool mayClip = op.getLimit() % sharing.columns != 0;
    e.barrier(); // parts of the tile before are read
    k.splitTail(mayClip, column, sharing.columns, e.integer(op.getLimit()), [&](bool isTail) { foldTile(isTail); });
    e.barrier();
    joinParts();
  }

private:
  Type typeOf(unsigned entry) { return cast<TileType>(op.getRows()[entry].getType()).getElement(); }
  ValueRange inputArguments(Region &region, unsigned state) { return region.getArguments().drop_front(state); }
  Value yielded(Region &region, unsigned entry) { return region.front().getTerminator()->getOperand(entry); }
  /// Where warps leave the state of a row: one after the other in the order of their columns.
  Place partOf(unsigned entry, Int row, Int warpColumn) {
    return e.at(parts[entry], warpColumn * k.threads.sharing.rows + row);
  }

  void foldTile(bool isTail) {
    inputs.readColumns();
    for (int64_t slot = 0; slot < k.threads.sharing.columnSlots(); ++slot) {
      columns.push_back(column + k.threads.column(slot));
      inside.push_back(isTail ? isLess(columns.back(), op.getLimit()) : Value());
    }
    RowLoop loop(k);
    inputs.takeInto(loop, op);
    loop.compute(op.getUpdate());
    loop.run([&] {
      int64_t rows = k.rowSlots(cast<TileType>(op.getRows()[0].getType()));
      for (int64_t slot = 0; slot < rows; ++slot)
        foldRow(loop, slot);
    });
    columns.clear();
    inside.clear();
  }

  void foldRow(const RowLoop &loop, int64_t rowSlot) {
    row = inputs.readRow(loop, rowSlot);
    Widener group(e, 0);
    inputs.mapUniform(group, inputArguments(op.getBound(), 0), row);
    inputs.mapUniform(group, inputArguments(op.getUpdate(), stateSize), row);
    inputs.mapUniform(group, inputArguments(op.getMerge(), 2 * stateSize), row);
    CodeBuilder::Values state = group.getYielded(op.getInit());
    boundMaxima(group, state);
    updateState(group, state);
    for (int64_t mask : {1, 2}) {
      CodeBuilder::Values other = llvm::map_to_vector(state, [&](Value value) { return exchange(value, mask); });
      state = merge(group, state, other);
    }
    e.when(isEqual(k.threads.quad, 0), [&] {
      for (auto [entry, value] : llvm::enumerate(state))
        e.store(value, partOf(entry, k.threads.row(rowSlot), k.threads.warpColumn));
    });
  }

  Value exchange(Value value, int64_t mask) {
    if (!value.getType().isInteger(1))
      return e.exchange(value, mask);
    Value other = e.exchange(arith::ExtUIOp::create(e, e.i32, value), mask);
    return arith::TruncIOp::create(e, e.i1, other);
  }

  /// The larger of each pair. A NaN is never larger.
  Value larger(Value candidate, Value known, Value isCounted) {
    Value isLarger = arith::CmpFOp::create(e, arith::CmpFPredicate::OGT, candidate, known);
    return arith::SelectOp::create(e, isCounted ? e.both(isCounted, isLarger) : isLarger, candidate, known);
  }

  /// The quad's own maxima first: under them, the update needs one exponential for each entry.
  void boundMaxima(Widener &group, CodeBuilder::Values &state) {
    group.emitReady(op.getBound());
    for (size_t slot = 0; slot < columns.size() && maxima > 0; ++slot) {
      Widener element = group;
      inputs.mapColumn(element, inputArguments(op.getBound(), 0), row, slot);
      element.setColumn(op.getBound(), columns[slot]);
      for (auto [entry, candidate] : llvm::enumerate(element.getYielded(op.getBound())))
        state[entry] = larger(candidate, state[entry], inside[slot]);
    }
    for (unsigned entry = 0; entry < maxima; ++entry)
      for (int64_t mask : {1, 2})
        state[entry] = larger(e.exchange(state[entry], mask), state[entry], Value());
  }

  void updateState(Widener &group, CodeBuilder::Values &state) {
    SmallVector<unsigned> carried;
    for (unsigned entry = 0; entry < stateSize; ++entry) {
      BlockArgument argument = op.getUpdate().getArgument(entry);
      if (yielded(op.getUpdate(), entry) == argument)
        group.map(argument, state[entry]); // the same for all columns
      else
        carried.push_back(entry);
    }
    group.emitReady(op.getUpdate());
    for (size_t slot = 0; slot < columns.size(); ++slot) {
      Widener element = group;
      for (unsigned entry : carried)
        element.map(op.getUpdate().getArgument(entry), state[entry]);
      inputs.mapColumn(element, inputArguments(op.getUpdate(), stateSize), row, slot);
      element.setColumn(op.getUpdate(), columns[slot]);
      CodeBuilder::Values next = llvm::map_to_vector(carried, [&](unsigned entry) { return element.get(yielded(op.getUpdate(), entry)); });
      for (auto [entry, value] : llvm::zip_equal(carried, next))
        state[entry] = inside[slot] ? Value(arith::SelectOp::create(e, inside[slot], value, state[entry])) : value;
    }
  }

  CodeBuilder::Values merge(const Widener &uniform, ValueRange a, ValueRange b) {
    Widener both = uniform;
    both.map(op.getMerge().getArguments().take_front(stateSize), a);
    both.map(op.getMerge().getArguments().slice(stateSize, stateSize), b);
    return both.getYielded(op.getMerge());
  }

  /// Thread t joins the parts of row t with its state, in the order of their columns.
  void joinParts() {
    const Sharing &sharing = k.threads.sharing;
    CodeBuilder::Values state = llvm::map_to_vector(op.getRows(), [&](Value row) { return k.tile(row).values[0]; });
    auto join = [&] {
      Widener uniform(e, 0);
      inputs.mapLine(uniform, inputArguments(op.getMerge(), 2 * stateSize), e.thread());
      CodeBuilder::Values joined = state;
      for (int64_t warp = 0; warp < sharing.warpColumns; ++warp) {
        CodeBuilder::Values part;
        for (unsigned entry = 0; entry < stateSize; ++entry)
          part.push_back(e.load(partOf(entry, e.thread(), e.integer(warp))));
        joined = merge(uniform, joined, part);
      }
      return joined;
    };
    SmallVector<Type> types(ValueRange(state).getTypes());
    CodeBuilder::Values joined =
        sharing.rows == sharing.threads ? join() : e.choose(isLess(e.thread(), sharing.rows), types, join, [&] { return state; });
    for (auto [result, value] : llvm::zip_equal(op.getResults(), joined)) {
      Tile tile{cast<TileType>(result.getType()), {value}, {}};
      tile.isOwned = true;
      k.setTile(result, tile);
    }
  }

  KernelContext &k;
  Emitter &e;
  UpdateRowsOp op;
  RegionInputs inputs;
  RegionInputs::Row row;       // of the row that is folded
  unsigned stateSize, maxima;
  Int column;
  SmallVector<Place> parts;    // for each entry of the state
  SmallVector<Int> columns;    // numbers of this thread's columns
  SmallVector<Value> inside;   // whether they exist; null where all do
};
} // namespace

LogicalResult convertUpdateRows(KernelContext &k, UpdateRowsOp op) {
  if (op.getRows().empty())
    return success();
  Update update(k, op);
  if (failed(update.check()))
    return failure();
  update.emit();
  return success();
}
} // namespace logitile::cuda
