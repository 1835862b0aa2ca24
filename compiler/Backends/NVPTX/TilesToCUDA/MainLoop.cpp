// MainLoop.cpp - the pipeline: blocks are copied some steps ahead of the products that read them.
#include "compiler/Backends/NVPTX/TilesToCUDA/MainLoop.h"
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kMostStages = 4, kLeastStages = 2;
constexpr int64_t kReservedBytes = 16 * 1024; // for row states and sums

static int64_t depthOf(Operation *op) {
  Attribute depth = isa<ProjectOp>(op) ? cast<ProjectOp>(op).getDepth() : cast<ContractOp>(op).getDepth();
  return cast<IntegerAttr>(depth).getInt();
}
/// Both operands of a contraction have elements of one type.
static Type elementOf(Operation *op) {
  Value operand = op->getOperand(0);
  return cast<ViewType>(operand.getType()).getElement();
}

FailureOr<Pipeline> Pipeline::get(KernelOp kernel, int64_t limit) {
  int64_t block = 0;
  Operation *largest = nullptr;
  kernel.walk([&](Operation *op) {
    if (!isa<ProjectOp, ContractOp>(op))
      return;
    auto tile = cast<TileType>(op->getResult(0).getType());
    int64_t bytes = (tile.getExtent(0) + tile.getExtent(1)) * depthOf(op) * CodeBuilder::bytesOf(elementOf(op));
    if (bytes > block) {
      block = bytes;
      largest = op;
    }
  });
  if (!largest)
    return Pipeline();
  int64_t stages = std::min(kMostStages, (limit - kReservedBytes) / block);
  if (stages < kLeastStages)
    return largest->emitOpError() << "has blocks of " << block << " bytes; " << kLeastStages << " of them and " << kReservedBytes
                                  << " bytes do not fit the " << limit << " bytes of shared memory";
  return Pipeline{stages, stages * block};
}

CodeBuilder::Values MainLoop::run(ValueRange start, Int first, Int end, bool mayClip) {
  int64_t stages = k.stages, leftBytes = left.shape(depth).bytes(), blockBytes = leftBytes + right.shape(depth).bytes();
  Stager toLeft(k, left, depth, end, mayClip), toRight(k, right, depth, end, mayClip);
  auto copy = [&](Int block, Int slot) {
    Int shared = first + block * depth, offset = k.ring() + slot * blockBytes;
    toLeft.copy(shared, offset);
    toRight.copy(shared, offset + leftBytes);
  };
  Int count = divideUp(end - first, depth);
  e.barrier(); // whoever used this memory before is done
  e.loop(e.integer(stages - 1), [&](Int block) {
    e.when(isLess(block, count), [&] { copy(block, block); });
    e.commitCopies();
  });
  CodeBuilder::Values carried{e.integer(0)}; // where the current block lies
  llvm::append_range(carried, start);
  CodeBuilder::Values last = e.loop(count, carried, [&](Int block, ValueRange current) {
    Int slot = e.integer(current.front());
    e.waitForCopies(stages - 2);
    e.barrier(); // everyone's copies are there, and everyone is done with the block before
    Int ahead = block + (stages - 1);
    e.when(isLess(ahead, count), [&] { copy(ahead, choose(isEqual(slot, 0), e.integer(stages - 1), slot - 1)); });
    e.commitCopies();
    CodeBuilder::Values sums = multiplyBlock(k.ring() + slot * blockBytes, current.drop_front());
    Int next = slot + 1;
    sums.insert(sums.begin(), choose(isEqual(next, stages), e.integer(0), next));
    return sums;
  });
  e.waitForCopies(0);
  last.erase(last.begin());
  return last;
}

/// Products of planes that count: the others are below the last bit of an f32. Small ones come first.
static ArrayRef<std::pair<int, int>> productsOf(int64_t planes) {
  static constexpr std::pair<int, int> kOne[] = {{0, 0}};
  static constexpr std::pair<int, int> kSix[] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
  return planes == 1 ? ArrayRef(kOne) : ArrayRef(kSix);
}

CodeBuilder::Values MainLoop::multiplyBlock(Int offset, ValueRange start) {
  const Sharing &sharing = k.threads.sharing;
  int64_t leftCount = sharing.blockRows() / 16, rightCount = sharing.blockColumns() / 16, columns = sharing.columnSlots();
  FragmentReader fromLeft(k, left, depth), fromRight(k, right, depth);
  MmaType type = left.element().isF16() ? MmaType::F16 : MmaType::BF16;
  CodeBuilder::Values sums(start);
  for (int64_t step = 0; step < depth / 16; ++step) {
    SmallVector<Planes> lefts = fromLeft.read(step, offset, leftCount, /*isRight=*/false);
    SmallVector<Planes> rights = fromRight.read(step, offset + left.shape(depth).bytes(), rightCount, /*isRight=*/true);
    for (int64_t i = 0; i < leftCount; ++i)
      for (int64_t j = 0; j < rightCount * 2; ++j) {
        // Rows g and g + 8 of the fragment, two columns each.
        int64_t at[4] = {2 * i * columns + 2 * j, 2 * i * columns + 2 * j + 1, (2 * i + 1) * columns + 2 * j, (2 * i + 1) * columns + 2 * j + 1};
        CodeBuilder::Values before{sums[at[0]], sums[at[1]], sums[at[2]], sums[at[3]]};
        // Six products of f32 would round the whole sum six times; they are added up first, where numbers are small.
        bool isSplit = lefts[i].size() > 1;
        CodeBuilder::Values sum = isSplit ? CodeBuilder::Values(4, e.number(e.f32, 0)) : before;
        for (auto [l, r] : productsOf(lefts[i].size()))
          sum = e.multiply(type, lefts[i][l], ValueRange(rights[j / 2][r]).slice(j % 2 * 2, 2), sum);
        for (int64_t part = 0; part < 4; ++part)
          sums[at[part]] = isSplit ? Value(arith::AddFOp::create(e, before[part], sum[part])) : sum[part];
      }
  }
  return sums;
}
} // namespace logitile::cuda
