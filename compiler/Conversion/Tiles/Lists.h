// Lists.h - the largest entries of a row and their indices: the words of a list, and heaps of
// words. Each target decides which thread goes through the entries. The op update_lists
// (dialect/operations/TileOps.td) defines lists.
#pragma once
#include "compiler/Conversion/ScalarRegions.h"
#include "dialect/Logitile.h"

namespace logitile::lists {
/// The word of a place without an entry. It is smaller than every other word.
inline constexpr int64_t kEmpty = INT64_MIN;

/// Integers that have the same order as the values. NaN is the largest; 0 and -0 are equal.
mlir::Value orderOf(CodeBuilder &e, mlir::Value value);
mlir::Value valueOf(CodeBuilder &e, mlir::Value order);
/// The word of an entry. The upper half is its order. The lower half has its column, counted down
/// from the largest number, so that lower columns give larger words. Lists are sorted by word, the
/// largest first. So the larger value comes first, and of equal values the lower column.
mlir::Value wordOf(CodeBuilder &e, mlir::Value order, Int column);
mlir::Value upperHalf(CodeBuilder &e, mlir::Value word);
Int columnOf(CodeBuilder &e, mlir::Value word);

/// Replaces the smallest word of a heap, which is at its start, by 'word': the smaller child moves
/// up until 'word' is not larger than both children.
template <typename EmitterT> void replaceLeast(EmitterT &e, Place heap, Int size, mlir::Value word) {
  using namespace mlir;
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
}

/// Sets all words of a heap to kEmpty.
template <typename EmitterT> void clear(EmitterT &e, Place heap, int64_t places) {
  e.loop(e.integer(places), [&](Int place) { e.store(e.number(e.i64, kEmpty), e.at(heap, place)); });
}

/// Calls 'body' for one place of a sorted list, or for all places, with the place, its value and
/// its index.
template <typename EmitterT, typename Body> void forPlaces(EmitterT &e, Place list, int64_t places, std::optional<int64_t> place, Body body) {
  auto read = [&](Int here) {
    mlir::Value word = e.load(e.at(list, here));
    body(here, valueOf(e, upperHalf(e, word)), e.narrow(columnOf(e, word)));
  };
  place ? read(e.integer(*place)) : e.loop(e.integer(places), read);
}

/// The word of a place of a list that is an input. An index of -1 means that the place is empty.
mlir::Value givenWord(CodeBuilder &e, mlir::Value value, mlir::Value index);

/// Calls 'body' for one place, or for all places, of the merge of 'count' sorted lists (one or
/// two), with the place, its value and its index. 'at' returns where a place of view number N is.
template <typename EmitterT, typename At, typename Body>
void forGiven(EmitterT &e, int64_t count, int64_t places, std::optional<int64_t> place, At at, Body body) {
  using namespace mlir;
  if (count == 1) {
    auto read = [&](Int here) { body(here, e.load(at(0, here)), e.load(at(1, here))); };
    return place ? read(e.integer(*place)) : e.loop(e.integer(places), read);
  }
  e.loop(e.integer(0), e.integer(places), e.integer(1), ValueRange{Value(e.integer(0))}, [&](Int here, ValueRange taken) -> CodeBuilder::Values {
    Int first = e.integer(taken[0]), second = here - first; // what is not taken yet of each list
    Value a = e.load(at(0, first)), b = e.load(at(2, second)), ofA = e.load(at(1, first)), ofB = e.load(at(3, second));
    Value isFirst = arith::CmpIOp::create(e, arith::CmpIPredicate::sge, givenWord(e, a, ofA), givenWord(e, b, ofB));
    Value value = arith::SelectOp::create(e, isFirst, a, b), index = arith::SelectOp::create(e, isFirst, ofA, ofB);
    if (!place)
      body(here, value, index);
    else
      e.when(isEqual(here, *place), [&] { body(here, value, index); });
    return {choose(isFirst, first + 1, first)};
  });
}

/// Sorts the words of a heap, the largest first. 'replace' is replaceLeast(heap, size, word).
template <typename EmitterT, typename Replace> void sortHeap(EmitterT &e, Place heap, Int size, Replace replace) {
  e.loop(e.integer(1), size, e.integer(1), [&](Int sorted) {
    Int last = size - sorted;
    mlir::Value word = e.load(e.at(heap, last));
    e.store(e.load(heap), e.at(heap, last));
    replace(heap, last, word);
  });
}

/// Merges the heaps of all vocabulary splits, which are neighbours in memory, into the first one,
/// and sorts it. An earlier finish of the same list may have done that. Then the first word is
/// larger than the second one, which is never so in a heap, and nothing is done.
template <typename EmitterT, typename Replace, typename Sort>
void sortList(EmitterT &e, Place heap, int64_t places, int64_t splits, Replace replace, Sort sort) {
  using namespace mlir;
  auto join = [&] {
    e.loop(e.integer(places), e.integer(places * splits), e.integer(1), [&](Int other) {
      Value word = e.load(e.at(heap, other));
      Value enters = arith::CmpIOp::create(e, arith::CmpIPredicate::sgt, word, e.load(heap));
      e.when(enters, [&] { replace(heap, e.integer(places), word); });
    });
    sort(heap, e.integer(places));
  };
  if (places == 1)
    return join(); // doing this twice changes nothing
  e.when(arith::CmpIOp::create(e, arith::CmpIPredicate::sle, e.load(heap), e.load(e.at(heap, e.integer(1)))), join);
}

/// Computes and stores the results of a finish_list for row 'token'. 'ofToken' has the inputs of
/// the token; 'replace' and 'sort' are as in sortList.
template <typename ContextT, typename Replace, typename Sort>
void finishToken(ContextT &k, FinishListOp op, Int token, const Widener &ofToken, Replace replace, Sort sort) {
  using namespace mlir;
  auto &e = k.e;
  int64_t places = *op.getPlaces(), splits = cast<IntegerAttr>(op.getSplits()).getInt();
  auto finishAt = [&](Int place, Value value, Value index) {
    Widener values = ofToken;
    values.map(op.getBody().getArgument(0), value);
    values.map(op.getBody().getArgument(1), index);
    for (auto [value, result] : llvm::zip_equal(values.getYielded(op.getBody()), op.getResults()))
      e.store(value, k.windowOf(k.view(result), token, op.getPlace() ? e.integer(0) : place));
  };
  auto placeOf = [&](int64_t number, Int place) { return k.windowOf(k.view(op.getLists()[number]), token, place); };
  if (op.takesGiven())
    return forGiven(e, splits, places, op.getPlace(), placeOf, finishAt);
  Place heap = placeOf(0, e.integer(0));
  sortList(e, heap, places, splits, replace, sort);
  forPlaces(e, heap, places, op.getPlace(), finishAt);
}
} // namespace logitile::lists
