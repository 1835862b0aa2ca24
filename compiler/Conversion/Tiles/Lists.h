// Lists.h - the largest entries of a row and their indices: what a word of a list holds, and heaps of words. Who goes through the entries is
// the business of each target. What a list is, is said at update_lists (dialect/TileOps.td).
#pragma once
#include "compiler/Conversion/CodeBuilder.h"

namespace logitile::lists {
/// Below every word.
inline constexpr int64_t kEmpty = INT64_MIN;

/// Integers in the order of the values; NaN is the largest. 0 and -0 are the same.
mlir::Value orderOf(CodeBuilder &e, mlir::Value value);
mlir::Value valueOf(CodeBuilder &e, mlir::Value order);
/// Of two words the larger one comes first in a list: that of the larger value, then that of the lower column.
mlir::Value wordOf(CodeBuilder &e, mlir::Value order, Int column);
mlir::Value upperHalf(CodeBuilder &e, mlir::Value word);
Int columnOf(CodeBuilder &e, mlir::Value word);

/// 'word' takes the place of the smallest of the words of a heap, which lies at its start: the smaller child moves up until 'word' is
/// no larger than both.
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

/// Puts the words of a heap in order, the largest first. 'replace' is replaceLeast(heap, size, word).
template <typename EmitterT, typename Replace> void sortHeap(EmitterT &e, Place heap, Int size, Replace replace) {
  e.loop(e.integer(1), size, e.integer(1), [&](Int sorted) {
    Int last = size - sorted;
    mlir::Value word = e.load(e.at(heap, last));
    e.store(e.load(heap), e.at(heap, last));
    replace(heap, last, word);
  });
}

/// The words of all vocabulary splits are neighbours: those of the first become the list of all, in order. An earlier finish of the list may
/// have done so: then the largest word, which differs from the next, stands where a heap has the smallest.
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
    return join(); // it may be done again
  e.when(arith::CmpIOp::create(e, arith::CmpIPredicate::sle, e.load(heap), e.load(e.at(heap, e.integer(1)))), join);
}
} // namespace logitile::lists
