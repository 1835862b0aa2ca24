// WarpgroupLoop.cpp - the pipeline of warpgroups, and the layout of their operands and sums. PTX
// ISA, "Asynchronous warpgroup level matrix multiply-accumulate operations".
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/WarpgroupLoop.h"
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kUnit = 16;            // bytes that places in a descriptor count in
constexpr int64_t kAddressEnd = 1 << 18; // a descriptor has so much of an address
constexpr int64_t kSteps = 16;           // of the shared axis that one product takes

WarpgroupLoop::WarpgroupLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip,
                             bool endsWithOperands)
    : k(k), e(k.e), left(left), right(right), depth(depth), end(end), mayClip(mayClip),
      isCutByBoxes(!mayClip || endsWithOperands), leftBytes(left.shape(depth).bytes()), blockBytes(leftBytes + right.shape(depth).bytes()) {
  int64_t groups = k.threads.sharing.threads / kWarpgroup;
  Int group = groups == 1 ? e.integer(0) : *k.warp / (kWarpgroup / kWarp);
  leftDescriptor = descriptorOf(left, k.ring() + group * (leftBytes / groups));
  rightDescriptor = descriptorOf(right, k.ring() + leftBytes);
}

/// PTX ISA, "Matrix descriptor format": where the operand starts, how far it is from one panel to
/// the next and from one 8 lines to the next, and which chunks trade places: those of StageShape,
/// whose lines have 32, 64 or 128 bytes. Where a line is steps of the shared axis there are no
/// panels, and the manual wants a 1.
WarpgroupLoop::Descriptor WarpgroupLoop::descriptorOf(const Operand &operand, Int offset) const {
  StageShape shape = operand.shape(depth);
  int64_t lineBytes = shape.lineBytes();
  uint64_t swizzle = lineBytes == 128 ? 1 : lineBytes == 64 ? 2 : 3;
  int64_t leading = operand.isInnerShared ? 1 : shape.panelBytes() / kUnit;
  Int place = e.sharedAddress(offset) % kAddressEnd / kUnit + (leading << 16);
  return {e.narrow(place), static_cast<int64_t>(uint64_t(8 * lineBytes / kUnit) << 32 | swizzle << 62)};
}

SharedOperand WarpgroupLoop::operandAt(Value place, const Descriptor &descriptor, const Operand &operand) {
  return {e.integer(arith::ExtUIOp::create(e, e.i64, place)) + descriptor.layout, operand.isInnerShared};
}

int64_t WarpgroupLoop::stepOf(const Operand &operand) const {
  return operand.isInnerShared ? kSteps * CodeBuilder::bytesOf(operand.element()) : kSteps * operand.shape(depth).lineBytes();
}

static Value word(Emitter &e, int64_t value) { return e.constant(e.getI32IntegerAttr(value)); }

Value WarpgroupLoop::multiplyBlock(Value slot, Value sums) {
  MmaType type = left.element().isF16() ? MmaType::F16 : MmaType::BF16;
  Value stage = arith::MulIOp::create(e, slot, word(e, blockBytes / kUnit));
  auto add = [&](Value place, Value units) { return arith::AddIOp::create(e, place, units); };
  // The places of the stage first: one addition for each operand is left to a product.
  Value ofLeft = add(leftDescriptor.place, stage), ofRight = add(rightDescriptor.place, stage);
  int64_t leftStep = stepOf(left) / kUnit, rightStep = stepOf(right) / kUnit;
  e.fenceProducts();
  for (int64_t step = 0; step < depth / kSteps; ++step)
    sums = e.startProduct(type, operandAt(add(ofLeft, word(e, step * leftStep)), leftDescriptor, left),
                          operandAt(add(ofRight, word(e, step * rightStep)), rightDescriptor, right), k.threads.sharing.columns, sums);
  e.commitProducts();
  return sums;
}

void WarpgroupLoop::beginStages() {
  k.finishStores();
  e.fenceProxy(); // boxes may be copied to where this thread has written
  // Whoever used this memory before is done, and has read what sums start from, even where nothing
  // is added to them. The other block of a pair writes to it, too.
  if (k.pair)
    e.when(k.pair->isShared, [&] { e.clusterBarrier(); }, [&] { e.barrier(); });
  else
    e.barrier();
}

CodeBuilder::Values WarpgroupLoop::run(ValueRange start, Int first, const std::optional<TileLoop> &tiles) {
  Int count = divideUp(end - first, depth);
  Value sums = gather(start);
  auto choose = [&](Value condition, auto then, auto otherwise) -> CodeBuilder::Values {
    return e.choose(condition, sums.getType(), [&]() -> CodeBuilder::Values { return {then()}; }, otherwise);
  };
  if (!tiles)
    beginStages();
  CodeBuilder::Values last = choose(
      e.both(left.hasBoxes, right.hasBoxes), [&] { return runBoxes(sums, first, count, tiles); },
      [&] {
        if (tiles)
          beginStages();
        if (k.isPadded(*left.view) && k.isPadded(*right.view))
          return choose(
              isLess(e.integer(0), count), [&] { return runPipelined(sums, first, count); }, [&]() -> CodeBuilder::Values { return {sums}; });
        Value areAligned = e.both(k.isAligned(*left.view, kVectorBytes), k.isAligned(*right.view, kVectorBytes));
        return choose(
            e.both(areAligned, isLess(e.integer(0), count)), [&] { return runPipelined(sums, first, count); },
            [&]() -> CodeBuilder::Values { return {runUnaligned(sums, first, count)}; });
      });
  return spread(last.front());
}

void WarpgroupLoop::askForFirst(Int first) {
  e.when(e.both(left.hasBoxes, right.hasBoxes), [&] {
    beginStages();
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
  Value blocks = e.narrow(whole), none = word(e, 0);
  auto isBelow = [&](Value a, Value b) { return arith::CmpIOp::create(e, arith::CmpIPredicate::slt, a, b); };
  BoxCopies copies(k, left, right, depth);
  // The first warp copies in so many turns: in each, the block that is 'ahead' of the turn's.
  Value turnsOfThis = arith::SubIOp::create(e, blocks, word(e, ahead));
  Value turns = tiles ? arith::SelectOp::create(e, tiles->hasNext, blocks, turnsOfThis) : turnsOfThis;
  Value turnsWithCopies = arith::SelectOp::create(e, copies.isFirst, turns, none);
  auto copyAhead = [&](Value turn, Value position) {
    Value block = arith::AddIOp::create(e, turn, word(e, ahead));
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
  Value next = multiplyBlock(word(e, 0), sums);
  e.waitForProducts(0);
  return next;
}

// ---- sums ---------------------------------------------------------------------------------------

/// PTX ISA, "Register fragments for wgmma.mma_async", D: registers 4 j + 2 h + i are row slot h,
/// column slot 2 j + i.
static int64_t slotOf(int64_t place, int64_t columnSlots) { return place / 2 % 2 * columnSlots + place / 4 * 2 + place % 2; }

Value WarpgroupLoop::gather(ValueRange values) {
  CodeBuilder::Values registers;
  for (int64_t place = 0, count = values.size(); place < count; ++place)
    registers.push_back(values[slotOf(place, k.threads.sharing.columnSlots())]);
  return e.pack(registers);
}
CodeBuilder::Values WarpgroupLoop::spread(Value sums) {
  CodeBuilder::Values registers = e.unpack(sums), values(registers.size());
  for (auto [place, value] : llvm::enumerate(registers))
    values[slotOf(place, k.threads.sharing.columnSlots())] = value;
  return values;
}
} // namespace logitile::cuda
