// MainLoop.cpp - the pipeline: blocks are copied some steps ahead of the products that read them.
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/MainLoop.h"
using namespace mlir;

namespace logitile::cuda {
/// Loops of their own: where an operand has to be copied element by element, nothing is fast, and
/// the code of that in the other loop would take its registers.
CodeBuilder::Values MainLoop::run(ValueRange start, Int first) {
  Int count = divideUp(end - first, depth);
  Value isPipelined = e.both(e.both(toLeft.isAligned, toRight.isAligned), isLess(e.integer(0), count));
  SmallVector<Type> types(start.size(), e.f32);
  e.barrier(); // whoever used this memory before is done, and has read what sums start from, even where nothing is added to them
  return e.choose(
      isPipelined, types, [&] { return runPipelined(start, first, count); }, [&] { return runUnaligned(start, first, count); });
}

/// The block that begins at entry 'shared' of the shared axis, to the stage at 'offset'.
void MainLoop::copy(Int shared, Value isThere, Int offset, ValueRange from) {
  toLeft.copyChunks(from[0], shared, offset, isThere);
  toRight.copyChunks(from[1], shared, offset + left.shape(depth).bytes(), isThere);
  e.commitCopies();
}

/// Fragments are read from shared memory one step before their products, so that tensor cores need
/// not wait for them. Copies of a later block stand after the first reads, so that products of the
/// first step run beside them. Pointers to blocks move on before a block is copied, long after the
/// copies of the one before have read them: a copy holds its address for as long as it waits for
/// the memory pipe.
CodeBuilder::Values MainLoop::runPipelined(ValueRange start, Int first, Int count) {
  int64_t stages = k.stages, bytes = blockBytes();
  auto firstChunks = [&](Int block) -> CodeBuilder::Values {
    return {toLeft.firstChunk(first + block * depth), toRight.firstChunk(first + block * depth)};
  };
  e.loop(e.integer(stages - 1), [&](Int block) {
    copy(first + block * depth, isLess(block, count), k.ring() + block * bytes, firstChunks(block));
  });
  e.waitForCopies(stages - 2);
  e.barrier(); // everyone's copies of the first block are there
  // The source of the last block that was asked for, the current block's slot and first fragments.
  CodeBuilder::Values carried = firstChunks(e.integer(stages - 2));
  carried.push_back(e.word(0));
  llvm::append_range(carried, flatten(read(0, k.ring())));
  size_t others = carried.size();
  llvm::append_range(carried, start);
  Value blocks = e.narrow(count);
  auto isBelowCount = [&](Value number, int64_t further) {
    Value later = arith::AddIOp::create(e, number, e.word(further));
    return Value(arith::CmpIOp::create(e, arith::CmpIPredicate::slt, later, blocks));
  };
  CodeBuilder::Values last = e.loopOverWords(blocks, carried, [&](Value number, ValueRange current) {
    Int block = e.extend(number);
    CodeBuilder::Values from{toLeft.aBlockLater(current[0]), toRight.aBlockLater(current[1])};
    Value slot = current[2];
    auto isSlot = [&](Value a, int64_t b) { return arith::CmpIOp::create(e, arith::CmpIPredicate::eq, a, e.word(b)); };
    auto placeOf = [&](Value stage) {
      Value offset = arith::MulIOp::create(e, stage, e.word(bytes));
      return k.ring() + e.integer(arith::ExtUIOp::create(e, e.i64, offset));
    };
    Int offset = placeOf(slot);
    Value after = arith::AddIOp::create(e, slot, e.word(1)), following = arith::SelectOp::create(e, isSlot(after, stages), e.word(0), after);
    Fragments fragments = unflatten(current.slice(3, others - 3));
    auto copyAhead = [&] {
      Value before = arith::SubIOp::create(e, slot, e.word(1)), free = arith::SelectOp::create(e, isSlot(slot, 0), e.word(stages - 1), before);
      copy(first + (block + (stages - 1)) * depth, isBelowCount(number, stages - 1), placeOf(free), from);
    };
    // After the last block there is none: what is read then is not used.
    Int next = placeOf(arith::SelectOp::create(e, isBelowCount(number, 1), following, slot));
    CodeBuilder::Values sums(current.drop_front(others));
    sums = multiplyBlock(offset, next, copyAhead, fragments, sums);
    CodeBuilder::Values result{from[0], from[1], following};
    llvm::append_range(result, flatten(fragments));
    llvm::append_range(result, sums);
    return result;
  });
  e.waitForCopies(0);
  last.erase(last.begin(), last.begin() + others);
  return last;
}

/// All steps of a block. 'fragments' are those of its first step, and become those of the block
/// that begins at 'next'.
CodeBuilder::Values MainLoop::multiplyBlock(Int offset, Int next, function_ref<void()> copyAhead, Fragments &fragments, ValueRange start) {
  CodeBuilder::Values sums(start);
  for (int64_t step = 0, steps = depth / 16; step < steps; ++step) {
    bool isFirst = step == 0, isLast = step + 1 == steps;
    if (isLast) {
      if (isFirst)
        copyAhead();
      waitForNext();
    }
    Fragments ahead = read(isLast ? 0 : step + 1, isLast ? next : offset);
    if (isFirst && !isLast)
      copyAhead();
    sums = multiply(fragments, sums);
    fragments = std::move(ahead);
  }
  return sums;
}

/// Until everyone's copies of the next block are there, and everyone has read the current one.
void MainLoop::waitForNext() {
  e.waitForCopies(k.stages - 2);
  e.barrier();
}

/// One block after the other, in two stages by turns.
CodeBuilder::Values MainLoop::runUnaligned(ValueRange start, Int first, Int count) {
  return e.loop(count, start, [&](Int block, ValueRange current) {
    Int shared = first + block * depth, offset = k.ring() + block % 2 * blockBytes();
    toLeft.copy(shared, offset);
    toRight.copy(shared, offset + left.shape(depth).bytes());
    e.commitCopies();
    e.waitForCopies(0);
    e.barrier(); // everyone's copies are there, and everyone is done with the block before, whose stage is next
    CodeBuilder::Values sums(current);
    for (int64_t step = 0; step < depth / 16; ++step)
      sums = multiply(read(step, offset), sums);
    return sums;
  });
}

// ---- products -----------------------------------------------------------------------------------

MainLoop::Fragments MainLoop::read(int64_t step, Int offset) {
  const Sharing &sharing = k.threads.sharing;
  FragmentReader fromLeft(k, left, depth), fromRight(k, right, depth);
  Fragments fragments;
  for (int64_t i = 0; i < sharing.blockRows() / 16; ++i)
    fragments.lefts.push_back(fromLeft.read(step, offset, i, /*isRight=*/false));
  for (int64_t j = 0; j < sharing.blockColumns() / 16; ++j)
    fragments.rights.push_back(fromRight.read(step, offset + left.shape(depth).bytes(), j, /*isRight=*/true));
  return fragments;
}

std::array<int64_t, 4> placesOfSums(const Sharing &sharing, int64_t i, int64_t j) {
  int64_t columns = sharing.columnSlots(), upper = 2 * i * columns + 2 * j, lower = upper + columns;
  return {upper, upper + 1, lower, lower + 1};
}

/// To and fro: neighbours in time share an operand.
CodeBuilder::Values MainLoop::multiply(const Fragments &fragments, ValueRange start) {
  const auto &[lefts, rights] = fragments;
  MmaType type = left.element().isF16() ? MmaType::F16 : MmaType::BF16;
  CodeBuilder::Values sums(start);
  for (int64_t i = 0, height = lefts.size(), width = rights.size() * 2; i < height; ++i)
    for (int64_t place = 0; place < width; ++place) {
      int64_t j = i % 2 == 0 ? place : width - 1 - place;
      std::array<int64_t, 4> at = placesOfSums(k.threads.sharing, i, j);
      CodeBuilder::Values before = llvm::map_to_vector(at, [&](int64_t sum) { return sums[sum]; });
      CodeBuilder::Values after = e.multiply(type, lefts[i], ValueRange(rights[j / 2]).slice(j % 2 * 2, 2), before);
      for (auto [sum, value] : llvm::zip_equal(at, after))
        sums[sum] = value;
    }
  return sums;
}

/// Loops carry values: registers of all fragments, left ones first.
CodeBuilder::Values MainLoop::flatten(const Fragments &fragments) {
  CodeBuilder::Values values;
  for (const auto *side : {&fragments.lefts, &fragments.rights})
    for (const CodeBuilder::Values &fragment : *side)
      llvm::append_range(values, fragment);
  return values;
}
MainLoop::Fragments MainLoop::unflatten(ValueRange values) const {
  constexpr int64_t kRegisters = 4; // of a fragment
  int64_t lefts = k.threads.sharing.blockRows() / 16;
  Fragments fragments;
  for (int64_t first = 0, count = values.size(); first < count; first += kRegisters)
    (first / kRegisters < lefts ? fragments.lefts : fragments.rights).push_back(llvm::to_vector(values.slice(first, kRegisters)));
  return fragments;
}
} // namespace logitile::cuda
