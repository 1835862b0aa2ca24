// PlaneLoop.cpp - two blocks of planes in shared memory by turns: one is multiplied, the other is
// filled. Each thread splits the chunks that it has copied itself, so threads wait for each other
// only once in a turn.
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/PlaneLoop.h"
using namespace mlir;

namespace logitile::cuda {
static int64_t copyBytesOf(const Operand &operand, int64_t depth) { return operand.shape(depth).bytes(); }
static int64_t planeBytesOf(const Operand &operand, int64_t depth) { return operand.multipliedShape(depth).bytes(); }

PlaneLoop::PlaneLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip)
    : k(k), e(k.e), left(left), right(right), depth(depth), end(end), mayClip(mayClip), leftCopy(k.ring()),
      rightCopy(leftCopy + copyBytesOf(left, depth)), leftPlanes(rightCopy + copyBytesOf(right, depth)),
      rightPlanes(leftPlanes + kPlanes * planeBytesOf(left, depth)),
      slotBytes(kPlanes * (planeBytesOf(left, depth) + planeBytesOf(right, depth))),
      leftBlock(k, left, depth, leftPlanes + rowsOfWarpgroup(k, planeBytesOf(left, depth))), rightBlock(k, right, depth, rightPlanes) {}

CodeBuilder::Values PlaneLoop::run(ValueRange start, Int first) {
  beginStages(k);
  Int count = divideUp(end - first, depth);
  SmallVector<Type> types(start.size(), e.f32);
  Value areAligned = e.both(k.isAligned(*left.view, kVectorBytes), k.isAligned(*right.view, kVectorBytes));
  auto runAs = [&](bool isAligned) { return runBlocks(start, first, count, isAligned); };
  return e.choose(areAligned, types, [&] { return runAs(true); }, [&] { return runAs(false); });
}

/// After the last block there is none: what is copied and split then is zeros, and not multiplied.
/// This needs no branch.
CodeBuilder::Values PlaneLoop::runBlocks(ValueRange start, Int first, Int count, bool areAligned) {
  Stager toLeft(k, left, depth, end, mayClip), toRight(k, right, depth, end, mayClip);
  Value blocks = e.narrow(count);
  auto word = [&](int64_t number) -> Value { return e.constant(e.getI32IntegerAttr(number)); };
  auto copy = [&](Value number, ValueRange from) {
    Int shared = first + e.extend(number) * depth;
    Value isThere = arith::CmpIOp::create(e, arith::CmpIPredicate::slt, number, blocks);
    if (areAligned) {
      toLeft.copyChunks(from[0], shared, leftCopy, isThere);
      toRight.copyChunks(from[1], shared, rightCopy, isThere);
    } else {
      e.when(isThere, [&] { toLeft.copyElements(shared, leftCopy), toRight.copyElements(shared, rightCopy); });
    }
    e.commitCopies();
  };
  auto splitCopied = [&](Value slot) {
    e.waitForCopies(0);
    split(toLeft, leftCopy, leftPlanes, planeBytesOf(left, depth), slot);
    split(toRight, rightCopy, rightPlanes, planeBytesOf(right, depth), slot);
  };
  auto later = [&](ValueRange from) -> CodeBuilder::Values { return {toLeft.aBlockLater(from[0]), toRight.aBlockLater(from[1])}; };

  CodeBuilder::Values carried{toLeft.firstChunk(first), toRight.firstChunk(first)};
  copy(word(0), carried);
  splitCopied(word(0));
  carried = later(carried);
  copy(word(1), carried);
  carried.push_back(word(0));
  size_t others = carried.size();
  llvm::append_range(carried, start);
  CodeBuilder::Values last = e.loopOverWords(blocks, carried, [&](Value block, ValueRange current) -> CodeBuilder::Values {
    CodeBuilder::Values from = later(current);
    Value slot = current[2], next = arith::XOrIOp::create(e, slot, word(1));
    e.fenceProxy(); // tensor cores may read what this thread has split
    e.barrier();    // and what the others have; all products of the block before are done
    Value products = startProducts(slot);
    splitCopied(next);
    copy(arith::AddIOp::create(e, block, word(2)), from);
    CodeBuilder::Values added = spreadSums(k, e.waitForSums(products)), result{from[0], from[1], next};
    for (auto [sum, value] : llvm::zip_equal(current.drop_front(others), added))
      result.push_back(arith::AddFOp::create(e, sum, value));
    return result;
  });
  e.waitForCopies(0);
  last.erase(last.begin(), last.begin() + others);
  return last;
}

Int PlaneLoop::bytesBefore(Value slot) const {
  Value bytes = arith::MulIOp::create(e, slot, e.constant(e.getI32IntegerAttr(slotBytes)));
  return e.integer(arith::ExtUIOp::create(e, e.i64, bytes));
}

void PlaneLoop::split(const Stager &stager, Int copied, Int planes, int64_t planeBytes, Value slot) {
  Type four = VectorType::get(4, e.f32), twoWords = VectorType::get(2, e.i32);
  Int into = planes + bytesBefore(slot);
  stager.visitChunks([&](const Stager::Chunk &chunk) {
    Value loaded = e.loadAs(four, e.shared(copied + chunk.target, e.f32), kVectorBytes);
    CodeBuilder::Values words[kPlanes];
    for (int64_t half : {0, 2}) {
      Value both[] = {vector::ExtractOp::create(e, loaded, half), vector::ExtractOp::create(e, loaded, half + 1)};
      Value pair = vector::FromElementsOp::create(e, VectorType::get(2, e.f32), both);
      for (auto [plane, bits] : llvm::enumerate(splitIntoPlanes(e, pair)))
        words[plane].push_back(bits);
    }
    Place place = e.shared(into + chunk.inPlane, e.i32);
    for (int64_t plane = 0; plane < kPlanes; ++plane)
      LLVM::StoreOp::create(e, vector::FromElementsOp::create(e, twoWords, words[plane]),
                            e.at(place, e.integer(plane * planeBytes / 4)).pointer, /*alignment=*/8);
  });
}

/// The products of a block are added to each other first, and then once to the sums before them:
/// tensor cores cut a sum off with each product, and these sums are small.
Value PlaneLoop::startProducts(Value slot) {
  auto units = [&](int64_t bytes) -> Value { return e.constant(e.getI32IntegerAttr(bytes / kDescriptorUnit)); };
  Value ofSlot = arith::MulIOp::create(e, slot, units(slotBytes));
  WarpgroupBlock ofLeft = leftBlock.later(ofSlot), ofRight = rightBlock.later(ofSlot);
  e.fenceProducts();
  Value sums;
  for (auto [l, r] : kProductsOfPlanes) {
    WarpgroupBlock leftPlane = ofLeft.later(units(l * planeBytesOf(left, depth)));
    WarpgroupBlock rightPlane = ofRight.later(units(r * planeBytesOf(right, depth)));
    for (int64_t step = 0; step < depth / kProductSteps; ++step)
      sums = e.startProduct(MmaType::BF16, leftPlane.operandAt(step), rightPlane.operandAt(step), k.threads.sharing.columns, sums);
  }
  e.commitProducts();
  return sums;
}
} // namespace logitile::cuda
