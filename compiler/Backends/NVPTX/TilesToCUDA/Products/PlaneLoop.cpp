// PlaneLoop.cpp - planes of two blocks are in shared memory by turns: those of one are multiplied,
// the others are made. The numbers of the block after these are on their way to registers.
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/PlaneLoop.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/MainLoop.h"
using namespace mlir;

namespace logitile::cuda {
PlaneLoop::PlaneLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip)
    : k(k), e(k.e), left(left), right(right), depth(depth), end(end), toLeft(k, left, depth, end, mayClip),
      toRight(k, right, depth, end, mayClip), leftBytes(left.shape(depth).bytes()), rightBytes(right.shape(depth).bytes()),
      slotBytes(kPlanes * (leftBytes + rightBytes)), leftPlanes(k.ring()), rightPlanes(leftPlanes + kPlanes * leftBytes) {
  if (!left.isOfWarpgroups)
    return;
  leftBlock.emplace(k, left, depth, leftPlanes + rowsOfWarpgroup(k, leftBytes));
  rightBlock.emplace(k, right, depth, rightPlanes);
}

CodeBuilder::Values PlaneLoop::run(ValueRange start, Int first) {
  left.isOfWarpgroups ? beginStages(k) : e.barrier();
  Int count = divideUp(end - first, depth);
  if (!toLeft.hasWholeChunks() || !toRight.hasWholeChunks())
    return runElements(start, first, count);
  Value areAligned = e.both(toLeft.isAligned, toRight.isAligned);
  SmallVector<Type> types(start.size(), e.f32);
  return e.choose(
      e.both(areAligned, isLess(e.integer(0), count)), types, [&] { return runBlocks(start, first, count); },
      [&] { return runElements(start, first, count); });
}

/// After the last block there is none: what is split then is not multiplied. This needs no branch.
CodeBuilder::Values PlaneLoop::runBlocks(ValueRange start, Int first, Int count) {
  Value blocks = e.narrow(count);
  auto load = [&](Value block, ValueRange from) {
    Int shared = first + e.extend(block) * depth;
    Value isThere = arith::CmpIOp::create(e, arith::CmpIPredicate::slt, block, blocks);
    CodeBuilder::Values loaded = toLeft.loadChunks(from[0], shared, isThere);
    llvm::append_range(loaded, toRight.loadChunks(from[1], shared, isThere));
    return loaded;
  };
  auto splitLoaded = [&](ArrayRef<Value> loaded, Value slot) {
    Int before = bytesBefore(slot);
    auto splitInto = [&](Int planes, int64_t bytes) {
      return [&, planes, bytes](const Stager::Chunk &chunk, Value numbers) { split(chunk, numbers, planes + before, bytes); };
    };
    toLeft.visitChunks(loaded, splitInto(leftPlanes, leftBytes));
    toRight.visitChunks(loaded.drop_front(toLeft.chunksOfThread()), splitInto(rightPlanes, rightBytes));
  };
  auto later = [&](ValueRange from) -> CodeBuilder::Values { return {toLeft.aBlockLater(from[0]), toRight.aBlockLater(from[1])}; };

  CodeBuilder::Values from{toLeft.firstChunk(first), toRight.firstChunk(first)};
  splitLoaded(load(e.word(0), from), e.word(0));
  CodeBuilder::Values carried = later(from), loaded = load(e.word(1), carried);
  carried.push_back(e.word(0));
  llvm::append_range(carried, loaded);
  size_t others = carried.size();
  llvm::append_range(carried, start);
  CodeBuilder::Values last = e.loopOverWords(blocks, carried, [&](Value block, ValueRange current) {
    Value slot = current[2], next = arith::XOrIOp::create(e, slot, e.word(1));
    CodeBuilder::Values result;
    auto goOn = [&] {
      splitLoaded(llvm::to_vector(current.slice(3, loaded.size())), next);
      result = later(current);
      CodeBuilder::Values ahead = load(arith::AddIOp::create(e, block, e.word(2)), result);
      result.push_back(next);
      llvm::append_range(result, ahead);
    };
    sharePlanes();
    CodeBuilder::Values sums = multiply(slot, current.drop_front(others), goOn);
    llvm::append_range(result, sums);
    return result;
  });
  last.erase(last.begin(), last.begin() + others);
  return last;
}

/// One block after the other.
CodeBuilder::Values PlaneLoop::runElements(ValueRange start, Int first, Int count) {
  return e.loop(count, start, [&](Int block, ValueRange sums) {
    Int shared = first + block * depth;
    e.barrier(); // everyone is done with the block before
    toLeft.visitElements(shared, [&](const Stager::Chunk &chunk, Value numbers) { split(chunk, numbers, leftPlanes, leftBytes); });
    toRight.visitElements(shared, [&](const Stager::Chunk &chunk, Value numbers) { split(chunk, numbers, rightPlanes, rightBytes); });
    sharePlanes();
    return multiply(e.word(0), sums, [] {});
  });
}

void PlaneLoop::sharePlanes() {
  if (left.isOfWarpgroups)
    e.fenceProxy(); // tensor cores may read what this thread has split
  e.barrier();      // and what the others have; all products of the block before are done
}

Int PlaneLoop::bytesBefore(Value slot) const {
  return e.integer(arith::ExtUIOp::create(e, e.i64, arith::MulIOp::create(e, slot, e.word(slotBytes))));
}

void PlaneLoop::split(const Stager::Chunk &chunk, Value numbers, Int planes, int64_t planeBytes) {
  CodeBuilder::Values words[kPlanes];
  for (int64_t i : {0, 2}) {
    Value both[] = {vector::ExtractOp::create(e, numbers, i), vector::ExtractOp::create(e, numbers, i + 1)};
    Value pair = vector::FromElementsOp::create(e, VectorType::get(2, e.f32), both);
    for (auto [plane, bits] : llvm::enumerate(splitIntoPlanes(e, pair)))
      words[plane].push_back(bits);
  }
  Place place = e.shared(planes + chunk.target, e.i32);
  for (int64_t plane = 0; plane < kPlanes; ++plane) {
    Value both = vector::FromElementsOp::create(e, VectorType::get(2, e.i32), words[plane]);
    LLVM::StoreOp::create(e, both, e.at(place, e.integer(plane * planeBytes / 4)).pointer, /*alignment=*/8);
  }
}

CodeBuilder::Values PlaneLoop::multiply(Value slot, ValueRange sums, function_ref<void()> meanwhile) {
  if (!left.isOfWarpgroups) {
    meanwhile();
    return multiplyFragments(slot, sums);
  }
  Value products = startProducts(slot);
  meanwhile();
  return addProducts(sums, products);
}

/// Six products would cut off the whole sum six times; they are added up first, where numbers are
/// small.
CodeBuilder::Values PlaneLoop::multiplyFragments(Value slot, ValueRange start) {
  const Sharing &sharing = k.threads.sharing;
  FragmentReader fromLeft(k, left, depth), fromRight(k, right, depth);
  using Planes = SmallVector<CodeBuilder::Values, kPlanes>;
  Int before = bytesBefore(slot);
  CodeBuilder::Values sums(start);
  auto read = [&](FragmentReader &from, Int planes, int64_t bytes, int64_t step, int64_t fragment, bool isRight) {
    Planes fragments;
    for (int64_t plane = 0; plane < kPlanes; ++plane)
      fragments.push_back(from.read(step, planes + before + plane * bytes, fragment, isRight));
    return fragments;
  };
  int64_t height = sharing.blockRows() / 16, width = sharing.blockColumns() / 16;
  for (int64_t step = 0; step < depth / 16; ++step) {
    SmallVector<Planes> lefts;
    for (int64_t i = 0; i < height; ++i)
      lefts.push_back(read(fromLeft, leftPlanes, leftBytes, step, i, /*isRight=*/false));
    for (int64_t j = 0; j < width; ++j) {
      Planes rights = read(fromRight, rightPlanes, rightBytes, step, j, /*isRight=*/true);
      for (int64_t i = 0; i < height; ++i)
        for (int64_t half : {0, 1}) {
          CodeBuilder::Values product(4, e.number(e.f32, 0));
          for (auto [l, r] : kProductsOfPlanes)
            product = e.multiply(MmaType::BF16, lefts[i][l], ValueRange(rights[r]).slice(2 * half, 2), product);
          for (auto [sum, value] : llvm::zip_equal(placesOfSums(sharing, i, 2 * j + half), product))
            sums[sum] = arith::AddFOp::create(e, sums[sum], value);
        }
    }
  }
  return sums;
}

Value PlaneLoop::startProducts(Value slot) {
  Value ofSlot = arith::MulIOp::create(e, slot, e.word(slotBytes / kDescriptorUnit));
  WarpgroupBlock ofLeft = leftBlock->later(ofSlot), ofRight = rightBlock->later(ofSlot);
  e.fenceProducts();
  Value sums;
  for (auto [l, r] : kProductsOfPlanes) {
    WarpgroupBlock leftPlane = ofLeft.later(e.word(l * leftBytes / kDescriptorUnit));
    WarpgroupBlock rightPlane = ofRight.later(e.word(r * rightBytes / kDescriptorUnit));
    for (int64_t step = 0; step < depth / kProductSteps; ++step)
      sums = e.startProduct(MmaType::BF16, leftPlane.operandAt(step), rightPlane.operandAt(step), k.threads.sharing.columns, sums);
  }
  e.commitProducts();
  return sums;
}

/// The products of a block are added to each other first, where numbers are small, and then once to
/// the sums before them: tensor cores cut a sum off after each product.
CodeBuilder::Values PlaneLoop::addProducts(ValueRange sums, Value products) {
  CodeBuilder::Values added = spreadSums(k, e.waitForSums(products));
  for (auto [value, sum] : llvm::zip_equal(added, sums))
    value = arith::AddFOp::create(e, sum, value);
  return added;
}
} // namespace logitile::cuda
