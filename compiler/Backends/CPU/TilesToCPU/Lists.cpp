// Lists.cpp - the largest entries of a row and their indices. A list is a heap of 64-bit words, the smallest at its start, until its finish
// sorts it. What a word holds is said at update_lists (dialect/TileOps.td).
#include "compiler/Backends/CPU/TilesToCPU/Elementwise.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

namespace {
constexpr int64_t kEmpty = INT64_MIN;

// ---- words ----------------------------------------------------------------------------------------------------------

/// Integers in the order of the values; NaN is the largest. 0 and -0 are the same.
Value orderOf(Emitter &e, Value value) {
  int64_t lanes = 0;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    lanes = vector.getNumElements();
  Type integers = Emitter::widen(e.i32, lanes);
  Value positiveZero = arith::AddFOp::create(e, value, e.number(value.getType(), 0));
  Value bits = arith::BitcastOp::create(e, integers, positiveZero);
  Value sign = arith::ShRSIOp::create(e, bits, e.number(integers, 31));
  Value order = arith::XOrIOp::create(e, bits, arith::AndIOp::create(e, sign, e.number(integers, INT32_MAX)));
  Value isNan = arith::CmpFOp::create(e, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(e, isNan, e.number(integers, INT32_MAX), order);
}
Value valueOf(Emitter &e, Value order) {
  Value sign = arith::ShRSIOp::create(e, order, e.number(e.i32, 31));
  Value bits = arith::XOrIOp::create(e, order, arith::AndIOp::create(e, sign, e.number(e.i32, INT32_MAX)));
  return arith::BitcastOp::create(e, e.f32, bits);
}
Value wordOf(Emitter &e, Value order, Int column) {
  Value high = arith::ShLIOp::create(e, arith::ExtSIOp::create(e, e.i64, order), e.number(e.i64, 32));
  return arith::OrIOp::create(e, high, e.integer(UINT32_MAX) - column);
}
Value upperHalf(Emitter &e, Value word) {
  return arith::TruncIOp::create(e, e.i32, arith::ShRSIOp::create(e, word, e.number(e.i64, 32)));
}
Int columnOf(Emitter &e, Value word) {
  Value low = arith::AndIOp::create(e, word, Value(e.integer(UINT32_MAX)));
  return e.integer(UINT32_MAX) - e.integer(low);
}

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

// ---- heaps ----------------------------------------------------------------------------------------------------------

/// The smaller child moves up until 'word' is no larger than both.
func::FuncOp Helpers::replaceLeast() {
  return make("replace_least", {e.pointerType, e.i64, e.i64}, [&](ValueRange args) {
    Place heap{args[0], e.i64};
    Int size = e.integer(args[1]);
    Value word = args[2];
    auto loop = scf::WhileOp::create(e, TypeRange{e.i64, e.i64, e.i64}, ValueRange{Value(e.integer(0))});
    {
      OpBuilder::InsertionGuard guard(e);
      Block *before = e.createBlock(&loop.getBefore(), {}, {e.i64}, {e.getLoc()});
      Int parent = e.integer(before->getArgument(0)), left = parent * 2 + 1;
      CodeBuilder::Values child = e.choose(
          isLess(left, size), {e.i64, e.i64},
          [&]() -> CodeBuilder::Values {
            Int right = smaller(left + 1, size - 1); // the left one again where there is none
            Value ofLeft = e.load(e.at(heap, left)), ofRight = e.load(e.at(heap, right));
            Value isRight = arith::CmpIOp::create(e, arith::CmpIPredicate::slt, ofRight, ofLeft);
            return {choose(isRight, right, left), arith::SelectOp::create(e, isRight, ofRight, ofLeft)};
          },
          [&]() -> CodeBuilder::Values { return {e.integer(0), e.integer(INT64_MAX)}; });
      Value moves = arith::CmpIOp::create(e, arith::CmpIPredicate::slt, child[1], word);
      scf::ConditionOp::create(e, moves, ValueRange{parent, child[0], child[1]});
      Block *after = e.createBlock(&loop.getAfter(), {}, {e.i64, e.i64, e.i64}, SmallVector<Location>(3, e.getLoc()));
      e.store(after->getArgument(2), e.at(heap, e.integer(after->getArgument(0))));
      scf::YieldOp::create(e, after->getArgument(1));
    }
    e.store(word, e.at(heap, e.integer(loop.getResult(0))));
  });
}

func::FuncOp Helpers::sortHeap() {
  func::FuncOp replace = replaceLeast();
  return make("sort_heap", {e.pointerType, e.i64}, [&](ValueRange args) {
    Place heap{args[0], e.i64};
    Int size = e.integer(args[1]);
    e.loop(e.integer(1), size, e.integer(1), [&](Int sorted) {
      Int last = size - sorted;
      Value word = e.load(e.at(heap, last));
      e.store(e.load(heap), e.at(heap, last));
      func::CallOp::create(e, replace, ValueRange{heap.pointer, last, word});
    });
  });
}

// ---- update_lists ---------------------------------------------------------------------------------------------------

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
      e.loop(list.tokens, [&](Int token) {
        e.loop(e.integer(list.places), [&](Int place) { e.store(e.number(e.i64, kEmpty), e.at(listOf(list, token), place)); });
      });
  }

  void emitGroup(Int lane) {
    Region &rank = op.getRank();
    LaneGroup group(k, inputs, lane, inputs.columns(), column);
    Widener values(e, e.lanes);
    group.mapUniform(values, rank.getArguments());
    values.emitReady(rank);
    for (const List &list : lists) { // a lane behind the last token takes nothing
      e.store(e.number(Emitter::widen(e.i32, e.lanes), INT32_MAX), list.least);
      e.loop(smaller(list.tokens - lane, e.lanes), [&](Int i) { keepLeast(list, lane, i); });
    }
    group.forColumns({}, [&](const Column &at, ValueRange) -> CodeBuilder::Values {
      Widener element = values;
      group.mapColumn(element, rank, rank.getArguments(), at);
      for (auto [list, value] : llvm::zip_equal(lists, element.getYielded(rank)))
        take(list, lane, at.place, value);
      return {};
    });
  }
  void keepLeast(const List &list, Int lane, Int i) { e.store(upperHalf(e, e.load(listOf(list, lane + i))), e.at(list.least, i)); }

  /// Columns ascend, so an entry that equals the smallest of a list has a higher index and stays out.
  void take(const List &list, Int lane, Int line, Value value) {
    Value order = orderOf(e, value);
    Value enters = arith::CmpIOp::create(e, arith::CmpIPredicate::sgt, order, e.load(list.least, e.lanes));
    e.when(e.isAnyLane(enters), [&] {
      e.store(order, orders);
      forLanes(e, enters, [&](Int i) {
        Place heap = listOf(list, lane + i);
        k.call(k.helpers.replaceLeast(), {heap.pointer, e.integer(list.places), wordOf(e, e.load(e.at(orders, i)), column + line)});
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

// ---- finish_list ----------------------------------------------------------------------------------------------------

/// The words of all vocabulary splits are neighbours: those of the first become the list of all. An earlier finish of the list may have
/// done so: then the largest word, which differs from the next, stands where a heap has the smallest.
static void sortList(KernelContext &k, Place heap, int64_t places, int64_t splits) {
  Emitter &e = k.e;
  auto sort = [&] {
    e.loop(e.integer(places), e.integer(places * splits), e.integer(1), [&](Int other) {
      Value word = e.load(e.at(heap, other));
      Value enters = arith::CmpIOp::create(e, arith::CmpIPredicate::sgt, word, e.load(heap));
      e.when(enters, [&] { k.call(k.helpers.replaceLeast(), {heap.pointer, e.integer(places), word}); });
    });
    k.call(k.helpers.sortHeap(), {heap.pointer, e.integer(places)});
  };
  if (places == 1)
    return sort(); // it may be done again
  e.when(arith::CmpIOp::create(e, arith::CmpIPredicate::sle, e.load(heap), e.load(e.at(heap, e.integer(1)))), sort);
}

LogicalResult cpu::convertFinishList(KernelContext &k, FinishListOp op) {
  Emitter &e = k.e;
  RegionInputs inputs(k, op.getInputs());
  const View &list = k.view(op.getList());
  Int row = k.scalar(op.getRow());
  int64_t places = *op.getPlaces(), splits = cast<IntegerAttr>(op.getSplits()).getInt();
  FailureOr<Int> tokens = k.countInside(op, list, 0, op.getRow(), cast<IntegerAttr>(op.getTokens()).getInt());
  if (failed(tokens) || failed(inputs.check(op)))
    return failure();
  ValueRange arguments = op.getBody().getArguments();
  e.loop(*tokens, [&](Int token) {
    Place heap = k.windowOf(list, row + token, e.integer(0));
    sortList(k, heap, places, splits);
    Widener ofToken(e, 0);
    inputs.mapUniform(ofToken, arguments.drop_front(2), token, 0);
    ofToken.emitReady(op.getBody());
    auto finishAt = [&](Int place) {
      Value word = e.load(e.at(heap, place));
      Widener values = ofToken;
      values.map(arguments[0], valueOf(e, upperHalf(e, word)));
      values.map(arguments[1], e.narrow(columnOf(e, word)));
      for (auto [value, result] : llvm::zip_equal(values.getYielded(op.getBody()), op.getResults()))
        e.store(value, k.windowOf(k.view(result), row + token, op.getPlace() ? e.integer(0) : place));
    };
    if (op.getPlace())
      finishAt(e.integer(*op.getPlace()));
    else
      e.loop(e.integer(places), finishAt);
  });
  return success();
}
