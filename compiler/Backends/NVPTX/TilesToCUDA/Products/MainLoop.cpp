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

/// Fragments of 16 bits are read from shared memory one step before their products, so that tensor
/// cores need not wait for them. The three planes of f32 would need too many registers for that.
/// Copies of a later block stand after the first reads, so that products of the first step run
/// beside them. Pointers to blocks move on before a block is copied, long after the copies of the
/// one before have read them: a copy holds its address for as long as it waits for the memory pipe.
CodeBuilder::Values MainLoop::runPipelined(ValueRange start, Int first, Int count) {
  int64_t stages = k.stages, steps = depth / 16, leftBytes = left.shape(depth).bytes(), bytes = blockBytes();
  bool readsAhead = !left.isFloat();
  auto copy = [&](Int block, Int slot, ValueRange from) {
    Int shared = first + block * depth, offset = k.ring() + slot * bytes;
    Value isThere = isLess(block, count);
    toLeft.copyChunks(from[0], shared, offset, isThere);
    toRight.copyChunks(from[1], shared, offset + leftBytes, isThere);
    e.commitCopies();
  };
  auto firstChunks = [&](Int block) -> CodeBuilder::Values {
    return {toLeft.firstChunk(first + block * depth), toRight.firstChunk(first + block * depth)};
  };
  e.loop(e.integer(stages - 1), [&](Int block) { copy(block, block, firstChunks(block)); });
  e.waitForCopies(stages - 2);
  e.barrier(); // everyone's copies of the first block are there
  // The source of the last block that was asked for, the current block's slot and first fragments.
  CodeBuilder::Values carried = firstChunks(e.integer(stages - 2));
  carried.push_back(e.integer(0));
  if (readsAhead)
    llvm::append_range(carried, flatten(read(0, k.ring())));
  size_t others = carried.size();
  llvm::append_range(carried, start);
  CodeBuilder::Values last = e.loop(count, carried, [&](Int block, ValueRange current) {
    CodeBuilder::Values from{toLeft.aBlockLater(current[0]), toRight.aBlockLater(current[1])};
    Int slot = e.integer(current[2]), offset = k.ring() + slot * bytes;
    Int after = slot + 1, following = choose(isEqual(after, stages), e.integer(0), after);
    Fragments fragments;
    if (readsAhead)
      fragments = unflatten(current.slice(3, others - 3));
    CodeBuilder::Values sums(current.drop_front(others));
    for (int64_t step = 0; step < steps; ++step) {
      if (!readsAhead)
        fragments = read(step, offset);
      bool isFirst = step == 0, isLast = step + 1 == steps;
      auto copyAhead = [&] { copy(block + (stages - 1), choose(isEqual(slot, 0), e.integer(stages - 1), slot - 1), from); };
      if (isLast) {
        if (isFirst)
          copyAhead();
        e.waitForCopies(stages - 2);
        e.barrier(); // everyone's copies of the next block are there, and everyone has read the current one
      }
      // After the last block there is none: what is read then is not used.
      Int next = isLast ? k.ring() + choose(isLess(block + 1, count), following, slot) * bytes : offset;
      Fragments ahead = readsAhead ? read(isLast ? 0 : step + 1, next) : Fragments();
      if (isFirst && !isLast)
        copyAhead();
      sums = multiply(fragments, sums);
      fragments = std::move(ahead);
    }
    CodeBuilder::Values result{from[0], from[1], following};
    if (readsAhead)
      llvm::append_range(result, flatten(fragments));
    llvm::append_range(result, sums);
    return result;
  });
  e.waitForCopies(0);
  last.erase(last.begin(), last.begin() + others);
  return last;
}

/// One block after the other.
CodeBuilder::Values MainLoop::runUnaligned(ValueRange start, Int first, Int count) {
  return e.loop(count, start, [&](Int block, ValueRange current) {
    Int shared = first + block * depth;
    e.barrier(); // everyone is done with the block before
    toLeft.copy(shared, k.ring());
    toRight.copy(shared, k.ring() + left.shape(depth).bytes());
    e.commitCopies();
    e.waitForCopies(0);
    e.barrier();
    CodeBuilder::Values sums(current);
    for (int64_t step = 0; step < depth / 16; ++step)
      sums = multiply(read(step, k.ring()), sums);
    return sums;
  });
}

// ---- products -----------------------------------------------------------------------------------

MainLoop::Fragments MainLoop::read(int64_t step, Int offset) {
  const Sharing &sharing = k.threads.sharing;
  FragmentReader fromLeft(k, left, depth), fromRight(k, right, depth);
  return {fromLeft.read(step, offset, sharing.blockRows() / 16, /*isRight=*/false),
          fromRight.read(step, offset + left.shape(depth).bytes(), sharing.blockColumns() / 16, /*isRight=*/true)};
}

/// Products of planes that count: the others are below the last bit of an f32. Small ones come
/// first.
static ArrayRef<std::pair<int, int>> productsOf(int64_t planes) {
  static constexpr std::pair<int, int> kOne[] = {{0, 0}};
  static constexpr std::pair<int, int> kSix[] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
  return planes == 1 ? ArrayRef(kOne) : ArrayRef(kSix);
}

CodeBuilder::Values MainLoop::multiply(const Fragments &fragments, ValueRange start) {
  const auto &[lefts, rights] = fragments;
  int64_t columns = k.threads.sharing.columnSlots(), width = rights.size() * 2;
  MmaType type = left.element().isF16() ? MmaType::F16 : MmaType::BF16;
  CodeBuilder::Values sums(start);
  for (int64_t i = 0, height = lefts.size(); i < height; ++i)
    for (int64_t place = 0; place < width; ++place) {
      int64_t j = i % 2 == 0 ? place : width - 1 - place; // to and fro: neighbours in time share an operand
      // Rows g and g + 8 of the fragment, two columns each.
      int64_t at[4] = {2 * i * columns + 2 * j, 2 * i * columns + 2 * j + 1, (2 * i + 1) * columns + 2 * j, (2 * i + 1) * columns + 2 * j + 1};
      CodeBuilder::Values before{sums[at[0]], sums[at[1]], sums[at[2]], sums[at[3]]};
      // Six products of f32 would round the whole sum six times; they are added up first, where
      // numbers are small.
      bool isSplit = lefts[i].size() > 1;
      CodeBuilder::Values sum = isSplit ? CodeBuilder::Values(4, e.number(e.f32, 0)) : before;
      for (auto [l, r] : productsOf(lefts[i].size()))
        sum = e.multiply(type, lefts[i][l], ValueRange(rights[j / 2][r]).slice(j % 2 * 2, 2), sum);
      for (int64_t part = 0; part < 4; ++part)
        sums[at[part]] = isSplit ? Value(arith::AddFOp::create(e, before[part], sum[part])) : sum[part];
    }
  return sums;
}

/// Loops carry values: registers of all fragments of one plane, left ones first.
CodeBuilder::Values MainLoop::flatten(const Fragments &fragments) {
  CodeBuilder::Values values;
  for (const auto *side : {&fragments.lefts, &fragments.rights})
    for (const Planes &planes : *side)
      llvm::append_range(values, planes.front());
  return values;
}
MainLoop::Fragments MainLoop::unflatten(ValueRange values) const {
  constexpr int64_t kRegisters = 4; // of a fragment
  int64_t lefts = k.threads.sharing.blockRows() / 16;
  Fragments fragments;
  for (int64_t first = 0, count = values.size(); first < count; first += kRegisters)
    (first / kRegisters < lefts ? fragments.lefts : fragments.rights).push_back({llvm::to_vector(values.slice(first, kRegisters))});
  return fragments;
}
} // namespace logitile::cuda
