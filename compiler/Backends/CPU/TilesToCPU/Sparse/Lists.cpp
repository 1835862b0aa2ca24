// Lists.cpp - the largest entries of a row and their indices. A list is a heap of 64-bit words, the
// smallest at its start, until its finish sorts it. Words and heaps are Conversion/Tiles/Lists.h.
#include "compiler/Backends/CPU/TilesToCPU/Elementwise.h"
#include "compiler/Conversion/Tiles/Lists.h"
#include "compiler/Conversion/Tiles/MapColumns.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

namespace {
/// Calls 'body' for every lane that holds.
void forLanes(Emitter &e, Value lanes, function_ref<void(Int)> body) {
  Type bits = e.getIntegerType(e.lanes), one = VectorType::get({1}, bits);
  Value packed = vector::ExtractOp::create(e, vector::BitCastOp::create(e, cast<VectorType>(one), lanes), ArrayRef<int64_t>{0});
  Value start = arith::ExtUIOp::create(e, e.i64, packed);
  auto loop = scf::WhileOp::create(e, TypeRange{e.i64}, ValueRange{start});
  OpBuilder::InsertionGuard guard(e);
  Block *before = e.createBlock(&loop.getBefore(), {}, {e.i64}, {e.getLoc()});
  Value left = before->getArgument(0);
  scf::ConditionOp::create(e, arith::CmpIOp::create(e, arith::CmpIPredicate::ne, left, e.number(e.i64, 0)), left);
  Block *after = e.createBlock(&loop.getAfter(), {}, {e.i64}, {e.getLoc()});
  left = after->getArgument(0);
  body(e.integer(LLVM::CountTrailingZerosOp::create(e, e.i64, left, /*is_zero_poison=*/true)));
  Value rest = arith::AndIOp::create(e, left, arith::SubIOp::create(e, left, e.number(e.i64, 1)));
  scf::YieldOp::create(e, rest);
}
} // namespace

// ---- heaps --------------------------------------------------------------------------------------

func::FuncOp Helpers::replaceLeast() {
  return make("replace_least", {e.pointerType, e.i64, e.i64},
              [&](ValueRange args) { lists::replaceLeast(e, Place{args[0], e.i64}, e.integer(args[1]), args[2]); });
}

func::FuncOp Helpers::sortHeap() {
  func::FuncOp replace = replaceLeast();
  return make("sort_heap", {e.pointerType, e.i64}, [&](ValueRange args) {
    lists::sortHeap(e, Place{args[0], e.i64}, e.integer(args[1]), [&](Place heap, Int size, Value word) {
      func::CallOp::create(e, replace, ValueRange{heap.pointer, size, word});
    });
  });
}

// ---- update_lists -------------------------------------------------------------------------------

namespace {
class ListUpdate {
public:
  ListUpdate(KernelContext &k, UpdateListsOp op)
      : k(k), e(k.e), op(op), inputs(k, op.getInputs()), row(k.scalar(op.getRow())), column(k.scalar(op.getColumn())) {}

  LogicalResult emit() {
    if (failed(inputs.check(op)))
      return failure();
    int64_t most = cast<IntegerAttr>(op.getTokens()).getInt();
    for (auto [value, places] : llvm::zip_equal(op.getLists(), *op.getPlaces())) {
      const View &view = k.view(value);
      FailureOr<Int> tokens = k.countInside(op, view, 0, op.getRow(), most);
      if (failed(tokens))
        return failure();
      Place first = k.windowOf(view, row, k.scalar(op.getVocabSplit()) * places);
      lists.push_back({first, view.stride0, *tokens, places, k.allocate(e.i32, e.lanes)});
    }
    orders = k.allocate(e.i32, e.lanes);
    Value isStart = arith::CmpIOp::create(e, arith::CmpIPredicate::eq, column, k.scalar(op.getFirst()));
    e.when(isStart, [&] { clear(); });
    e.loop(e.integer(0), lists.front().tokens, e.integer(e.lanes), [&](Int lane) { emitGroup(lane); });
    return success();
  }

private:
  struct List {
    Place first; // of the first token
    Int stride;  // to the next token
    Int tokens;
    int64_t places;
    Place least; // the upper half of the smallest word, of each token of a group
  };
  Place listOf(const List &list, Int token) { return e.at(list.first, token * list.stride); }

  void clear() {
    for (const List &list : lists)
      e.loop(list.tokens, [&](Int token) { lists::clear(e, listOf(list, token), list.places); });
  }

  void emitGroup(Int lane) {
    Region &rank = op.getRank();
    LaneGroup group(k, inputs, lane, inputs.columns(), column);
    Widener uniform = mapUniform(e, group, rank);
    for (const List &list : lists) { // a lane after the last token takes nothing
      e.store(e.number(Emitter::widen(e.i32, e.lanes), INT32_MAX), list.least);
      e.loop(smaller(list.tokens - lane, e.lanes), [&](Int i) { keepLeast(list, lane, i); });
    }
    mapColumns(group, rank, uniform, [&](const Column &at, ValueRange values) {
      for (auto [list, value] : llvm::zip_equal(lists, values))
        take(list, lane, at.place, value);
    });
  }
  void keepLeast(const List &list, Int lane, Int i) { e.store(lists::upperHalf(e, e.load(listOf(list, lane + i))), e.at(list.least, i)); }

  /// Columns ascend, so an entry that equals the smallest of a list has a higher index and stays
  /// out.
  void take(const List &list, Int lane, Int line, Value value) {
    Value order = lists::orderOf(e, value);
    Value enters = arith::CmpIOp::create(e, arith::CmpIPredicate::sgt, order, e.load(list.least, e.lanes));
    e.when(e.isAnyLane(enters), [&] {
      e.store(order, orders);
      forLanes(e, enters, [&](Int i) {
        Place heap = listOf(list, lane + i);
        k.call(k.helpers.replaceLeast(), {heap.pointer, e.integer(list.places), lists::wordOf(e, e.load(e.at(orders, i)), column + line)});
        keepLeast(list, lane, i);
      });
    });
  }

  KernelContext &k;
  Emitter &e;
  UpdateListsOp op;
  RegionInputs inputs;
  Int row, column;
  SmallVector<List> lists;
  Place orders;
};
} // namespace

LogicalResult cpu::convertUpdateLists(KernelContext &k, UpdateListsOp op) { return ListUpdate(k, op).emit(); }

// ---- finish_list --------------------------------------------------------------------------------

LogicalResult cpu::convertFinishList(KernelContext &k, FinishListOp op) {
  Emitter &e = k.e;
  RegionInputs inputs(k, op.getInputs());
  const View &list = k.view(op.getLists().front());
  Int row = k.scalar(op.getRow());
  FailureOr<Int> tokens = k.countInside(op, list, 0, op.getRow(), cast<IntegerAttr>(op.getTokens()).getInt());
  if (failed(tokens) || failed(inputs.check(op)))
    return failure();
  ValueRange arguments = op.getBody().getArguments();
  auto replace = [&](Place heap, Int size, Value word) { k.call(k.helpers.replaceLeast(), {heap.pointer, size, word}); };
  auto sort = [&](Place heap, Int size) { k.call(k.helpers.sortHeap(), {heap.pointer, size}); };
  e.loop(*tokens, [&](Int token) {
    Widener ofToken(e, 0);
    inputs.mapUniform(ofToken, arguments.drop_front(2), token, 0);
    ofToken.emitReady(op.getBody());
    lists::finishToken(k, op, row + token, ofToken, replace, sort);
  });
  return success();
}
