// WarpgroupLoop.cpp - the pipeline of warpgroups for 16-bit operands.
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/WarpgroupLoop.h"
using namespace mlir;

namespace logitile::cuda {
WarpgroupLoop::WarpgroupLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip,
                             bool endsWithOperands)
    : k(k), e(k.e), left(left), right(right), depth(depth), end(end), mayClip(mayClip),
      isCutByBoxes(!mayClip || endsWithOperands), leftBytes(left.shape(depth).bytes()), blockBytes(leftBytes + right.shape(depth).bytes()),
      leftBlock(k, left, depth, k.ring() + rowsOfWarpgroup(k, leftBytes)), rightBlock(k, right, depth, k.ring() + leftBytes) {}

Value WarpgroupLoop::multiplyBlock(Value slot, Value sums) {
  MmaType type = left.element().isF16() ? MmaType::F16 : MmaType::BF16;
  Value stage = arith::MulIOp::create(e, slot, e.word(blockBytes / kDescriptorUnit));
  // The places of the stage first: one addition for each operand is left to a product.
  WarpgroupBlock ofLeft = leftBlock.later(stage), ofRight = rightBlock.later(stage);
  e.fenceProducts();
  for (int64_t step = 0; step < depth / kProductSteps; ++step)
    sums = e.startProduct(type, ofLeft.operandAt(step), ofRight.operandAt(step), k.threads.sharing.columns, sums);
  e.commitProducts();
  return sums;
}

CodeBuilder::Values WarpgroupLoop::run(ValueRange start, Int first, const std::optional<TileLoop> &tiles) {
  Int count = divideUp(end - first, depth);
  Value sums = gatherSums(k, start);
  auto choose = [&](Value condition, auto then, auto otherwise) -> CodeBuilder::Values {
    return e.choose(condition, sums.getType(), [&]() -> CodeBuilder::Values { return {then()}; }, otherwise);
  };
  if (!tiles)
    beginStages(k);
  CodeBuilder::Values last = choose(
      e.both(left.hasBoxes, right.hasBoxes), [&] { return runBoxes(sums, first, count, tiles); },
      [&] {
        if (tiles)
          beginStages(k);
        if (k.isPadded(*left.view) && k.isPadded(*right.view))
          return choose(
              isLess(e.integer(0), count), [&] { return runPipelined(sums, first, count); }, [&]() -> CodeBuilder::Values { return {sums}; });
        Value areAligned = e.both(k.isAligned(*left.view, kVectorBytes), k.isAligned(*right.view, kVectorBytes));
        return choose(
            e.both(areAligned, isLess(e.integer(0), count)), [&] { return runPipelined(sums, first, count); },
            [&]() -> CodeBuilder::Values { return {runUnaligned(sums, first, count)}; });
      });
  return spreadSums(k, last.front());
}

void WarpgroupLoop::askForFirst(Int first) {
  e.when(e.both(left.hasBoxes, right.hasBoxes), [&] {
    beginStages(k);
    BoxCopies copies(k, left, right, depth);
    askForFirst(copies, copies.begin(), first, divideUp(end - first, depth));
  });
}

/// Of 'blocks' blocks, as many as are ahead of the products.
void WarpgroupLoop::askForFirst(BoxCopies &copies, Value start, Int first, Int blocks) {
  e.loop(e.integer(k.stages - 1), [&](Int block) {
    e.when(e.both(copies.isFirst, isLess(block, blocks)), [&] { copies.copy(first + block * depth, copies.after(start, e.narrow(block))); });
  });
}

/// As runPipelined, but one thread asks for what all others wait for, and warps need not wait for
/// each other. That thread asks last in a turn, for the stage that all of them have just read:
/// after the last block of a tile come those of the next one. Where the axis may go on beyond the
/// end, a block that is cut there is copied by all threads.
Value WarpgroupLoop::runBoxes(Value sums, Int first, Int count, const std::optional<TileLoop> &tiles) {
  int64_t ahead = k.stages - 1;
  Int whole = isCutByBoxes ? count : (end - first) / depth;
  Value blocks = e.narrow(whole), none = e.word(0);
  auto isBelow = [&](Value a, Value b) { return arith::CmpIOp::create(e, arith::CmpIPredicate::slt, a, b); };
  BoxCopies copies(k, left, right, depth);
  // The first warp copies in so many turns: in each, the block that is 'ahead' of the turn's.
  Value turnsOfThis = arith::SubIOp::create(e, blocks, e.word(ahead));
  Value turns = tiles ? arith::SelectOp::create(e, tiles->hasNext, blocks, turnsOfThis) : turnsOfThis;
  Value turnsWithCopies = arith::SelectOp::create(e, copies.isFirst, turns, none);
  auto copyAhead = [&](Value turn, Value position) {
    Value block = arith::AddIOp::create(e, turn, e.word(ahead));
    Operand moved = right;
    if (tiles) {
      Value isOfThis = isBelow(block, blocks);
      block = arith::SelectOp::create(e, isOfThis, block, arith::SubIOp::create(e, block, blocks));
      moved.first = choose(isOfThis, right.first, right.first + tiles->step);
    }
    BoxCopies(k, left, moved, depth).copy(first + e.extend(block) * depth, position);
  };
  Value start = copies.begin();
  if (!tiles)
    askForFirst(copies, start, first, whole);
  CodeBuilder::Values last = e.loopOverWords(blocks, {start, none, sums}, [&](Value block, ValueRange current) -> CodeBuilder::Values {
    Value position = current[0], slotBefore = current[1], slot = copies.slotOf(position);
    copies.wait(position);
    Value next = multiplyBlock(slot, current[2]);
    e.waitForProducts(1);
    copies.release(slotBefore, isBelow(none, block));
    e.when(isBelow(block, turnsWithCopies), [&] { copyAhead(block, copies.after(position, ahead)); });
    return {copies.after(position, 1), slot, next};
  });
  Value done = e.waitForSums(last[2]);
  copies.release(last[1], isBelow(none, blocks));
  copies.end(last[0]);
  if (isCutByBoxes)
    return done;
  return e.choose(
      isLess(whole, count), done.getType(),
      [&]() -> CodeBuilder::Values {
        Stagers stagers = makeStagers();
        return {e.waitForSums(multiplyAlone(stagers, first + whole * depth, done, /*areAligned=*/true))};
      },
      [&]() -> CodeBuilder::Values { return {done}; })[0];
}

/// While the products of a block run, those of the block before it end, and the stage of the one
/// before that is filled.
Value WarpgroupLoop::runPipelined(Value sums, Int first, Int count) {
  int64_t stages = k.stages, ahead = stages - 2;
  Stagers stagers = makeStagers();
  auto copy = [&](Int block, Int slot) {
    e.when(isLess(block, count), [&] {
      Int shared = first + block * depth, offset = k.ring() + slot * blockBytes;
      stagers.left.copyChunks(shared, offset);
      stagers.right.copyChunks(shared, offset + leftBytes);
    });
    e.commitCopies();
  };
  auto stepped = [&](Int slot, int64_t by) {
    Int next = slot + by;
    return choose(isLess(next, stages), next, next - stages);
  };
  e.loop(e.integer(ahead), [&](Int block) { copy(block, block); });
  CodeBuilder::Values last = e.loop(count, {e.integer(0), sums}, [&](Int block, ValueRange current) -> CodeBuilder::Values {
    Int slot = e.integer(current[0]);
    e.waitForCopies(ahead - 1);
    e.fenceProxy(); // tensor cores may read what this thread has copied
    e.barrier();    // and what the others have; all warps have waited for the products of the block before the last
    Value next = multiplyBlock(e.narrow(slot), current[1]);
    copy(block + ahead, stepped(slot, ahead));
    e.waitForProducts(1);
    return {stepped(slot, 1), next};
  });
  e.waitForCopies(0);
  return e.waitForSums(last[1]);
}

/// One block after the other.
Value WarpgroupLoop::runUnaligned(Value sums, Int first, Int count) {
  Stagers stagers = makeStagers();
  CodeBuilder::Values last = e.loop(count, sums, [&](Int block, ValueRange current) -> CodeBuilder::Values {
    return {multiplyAlone(stagers, first + block * depth, current.front(), /*areAligned=*/false)};
  });
  return e.waitForSums(last.front());
}

Value WarpgroupLoop::multiplyAlone(Stagers &stagers, Int shared, Value sums, bool areAligned) {
  e.barrier(); // everyone is done with the block before
  for (auto [stager, offset] : {std::pair(&stagers.left, k.ring()), std::pair(&stagers.right, k.ring() + leftBytes)})
    areAligned ? stager->copyChunks(shared, offset) : stager->copy(shared, offset);
  e.commitCopies();
  e.waitForCopies(0);
  e.fenceProxy();
  e.barrier();
  Value next = multiplyBlock(e.word(0), sums);
  e.waitForProducts(0);
  return next;
}
} // namespace logitile::cuda
