// Lists.cpp - the largest entries of each row. In each turn the threads write their entries to
// shared memory. Then each row of the turn has one thread, which inserts entries that are large
// enough into the list of its row. Words have a total order, so the list does not depend on the
// order of insertion.
#include "compiler/Conversion/Tiles/Lists.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Elementwise.h"
#include "compiler/Conversion/Tiles/MapColumns.h"
using namespace mlir;

namespace logitile::cuda {
// ---- update_lists -------------------------------------------------------------------------------

namespace {
class ListUpdate {
public:
  ListUpdate(KernelContext &k, UpdateListsOp op)
      : k(k), e(k.e), op(op), inputs(k, op.getInputs()), row(k.scalar(op.getRow())), column(k.scalar(op.getColumn())), end(e.integer(0)) {}

  LogicalResult emit() {
    const Sharing &sharing = k.threads.sharing;
    if (!sharing.isFragments)
      return op.emitOpError() << "looks for the largest entries in a kernel without tiles of two dimensions";
    if (failed(inputs.check(op)) || failed(findEnd()))
      return failure();
    orders = e.shared(k.scratch(TurnLines::most(sharing) * sharing.columns * 4), e.i32);
    for (unsigned number = 0; number < op.getLists().size(); ++number)
      if (failed(emitList(number)))
        return failure();
    return success();
  }

private:
  struct List {
    Place first; // of the first row
    Int stride;  // to the next row
    Int tokens;
    int64_t places;
  };

  /// The end of the columns that exist, by the memory of an input that has all of them.
  LogicalResult findEnd() {
    for (Value input : op.getInputs()) {
      if (cast<TileType>(input.getType()).getExtent(1) == 1)
        continue;
      auto project = input.getDefiningOp<ProjectOp>();
      auto load = input.getDefiningOp<LoadOp>();
      if (!project && !load)
        continue;
      const View &view = k.view(project ? project.getWeight() : load.getView());
      end = e.integer(view.extent(project ? 0 : view.type.getDims().size() - 1));
      return success();
    }
    return op.emitOpError() << "has no input that shows the number of columns";
  }

  LogicalResult emitList(unsigned number) {
    const View &view = k.view(op.getLists()[number]);
    int64_t places = (*op.getPlaces())[number];
    FailureOr<Int> tokens = k.end(op, view, 0);
    if (failed(tokens))
      return failure();
    List list{k.windowOf(view, row, k.scalar(op.getVocabSplit()) * places), view.stride0, *tokens, places};
    PassedTiles passed(k, op, op.getInputs());
    inputs.readColumns();
    RowLoop loop(k);
    inputs.takeInto(loop, op);
    loop.compute(op.getRank());
    loop.run([&] {
      TurnLines lines(k);
      e.barrier(); // what was there is read
      for (int64_t slot = 0; slot < lines.countSlots(); ++slot)
        leaveOrders(loop, number, slot, lines);
      e.barrier();
      e.when(isLess(e.thread(), lines.count()), [&] { takeLine(list, lines); });
    });
    passed.set(passed.valuesOf(loop));
    return success();
  }

  /// The entries of a column lie beside each other.
  void leaveOrders(const RowLoop &loop, unsigned number, int64_t slot, const TurnLines &lines) {
    Region &rank = op.getRank();
    auto numberOf = [&](Int columnSlot) { return column + k.threads.column(columnSlot); };
    auto inside = [](Int) { return Value(); }; // all of them: what does not exist is not taken
    ThreadRow group(k, inputs, inputs.readRow(loop, slot), {k.threads.sharing.columnSlots(), isLong(rank), numberOf, inside});
    Widener uniform = mapUniform(e, group, rank);
    Int line = lines.ofSlot(slot);
    mapColumns(group, rank, uniform, [&](const Column &at, ValueRange values) {
      e.store(lists::orderOf(e, values[number]), e.at(orders, k.threads.column(at.place) * lines.count() + line));
    });
  }

  /// Thread t has line t.
  void takeLine(const List &list, const TurnLines &lines) {
    Int line = e.thread(), rowInTile = lines.rowOf(line);
    e.when(isLess(row + rowInTile, list.tokens), [&] {
      Place heap = e.at(list.first, rowInTile * list.stride);
      Value isStart = arith::CmpIOp::create(e, arith::CmpIPredicate::eq, column, k.scalar(op.getFirst()));
      e.when(isStart, [&] { lists::clear(e, heap, list.places); });
      Value least = e.load(heap);
      e.loop(smaller(end - column, k.threads.sharing.columns), least, [&](Int at, ValueRange least) -> CodeBuilder::Values {
        Value word = lists::wordOf(e, e.load(e.at(orders, at * lines.count() + line)), column + at);
        Value enters = arith::CmpIOp::create(e, arith::CmpIPredicate::sgt, word, least[0]);
        auto put = [&]() -> CodeBuilder::Values {
          lists::replaceLeast(e, heap, e.integer(list.places), word);
          return {e.load(heap)};
        };
        return e.choose(enters, e.i64, put, [&]() -> CodeBuilder::Values { return {least[0]}; });
      });
    });
  }

  KernelContext &k;
  Emitter &e;
  UpdateListsOp op;
  RegionInputs inputs;
  Int row, column, end;
  Place orders;
};
} // namespace

LogicalResult convertUpdateLists(KernelContext &k, UpdateListsOp op) { return ListUpdate(k, op).emit(); }

// ---- finish_list --------------------------------------------------------------------------------

/// Each thread has a row.
LogicalResult convertFinishList(KernelContext &k, FinishListOp op) {
  Emitter &e = k.e;
  if (k.threads.sharing.isFragments)
    return op.emitOpError() << "sorts lists in a kernel with tiles of two dimensions; CUDA kernels do not support that";
  RegionInputs inputs(k, op.getInputs());
  const View &list = k.view(op.getLists().front());
  FailureOr<Int> tokens = k.end(op, list, 0);
  if (failed(tokens) || failed(inputs.check(op)))
    return failure();
  Int token = k.scalar(op.getRow()) + k.threads.row(0);
  auto replace = [&](Place heap, Int size, Value word) { lists::replaceLeast(e, heap, size, word); };
  auto sort = [&](Place heap, Int size) { lists::sortHeap(e, heap, size, replace); };
  e.when(isLess(token, *tokens), [&] {
    ValueRange arguments = op.getBody().getArguments();
    Widener ofToken(e, 0);
    inputs.mapLine(ofToken, arguments.drop_front(2), e.thread());
    ofToken.emitReady(op.getBody());
    lists::finishToken(k, op, token, ofToken, replace, sort);
  });
  return success();
}
} // namespace logitile::cuda
