// KernelContext.cpp - arguments, scratch and loops of one kernel. What happens to tiles is in the
// files of the op families.
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
#include "compiler/Conversion/IndexFacts.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// ---- arguments ----------------------------------------------------------------------------------

LogicalResult KernelContext::bindArguments(func::FuncOp function) {
  Place words{function.getArgument(0), e.i64};
  scratchPointer = function.getArgument(2);
  checkpoint = function.getArgument(3);
  int64_t next = 0;
  auto place = [&] { return e.at(words, e.integer(next++)); };
  auto word = [&] { return e.integer(e.loadBits(place(), 0)); };
  return KernelControl::bindArguments([&] { return LLVM::LoadOp::create(e, e.pointerType, place().pointer, 8); }, word,
                                      [&](ScalarRole) { return word(); });
}

FailureOr<Int> KernelContext::countInside(Operation *op, const View &view, unsigned dim, Value first, int64_t count) {
  int64_t extent = view.extent(dim);
  if (!ShapedType::isDynamic(extent))
    return smaller(e.integer(extent) - scalar(first), count);
  if (count == 1)
    return e.integer(1);
  if (int64_t divisor = knownDivisor(first); divisor % e.width != 0)
    return op->emitOpError() << "has tiles of tokens that start at multiples of " << divisor << "; this target needs multiples of "
                             << e.width;
  FailureOr<Int> end = tokens(op);
  if (failed(end))
    return failure();
  return smaller(*end - scalar(first), count);
}

// ---- scratch ------------------------------------------------------------------------------------

Place KernelContext::allocate(Type element, int64_t count) {
  Place bytes = e.at({scratchPointer, e.getI8Type()}, e.integer(scratch));
  scratch = llvm::alignTo(scratch + count * Emitter::bytesOf(element), 64);
  return {bytes.pointer, element};
}

Tile KernelContext::allocateTile(TileType type, bool lanesAlongRows, Int rows, Int columns, bool isWhole) {
  int64_t lanes = llvm::alignTo(type.getExtent(lanesAlongRows ? 0 : 1), e.width);
  int64_t lines = type.getExtent(lanesAlongRows ? 1 : 0);
  // Lines that lie a multiple of 4 KB apart would fall into the same cache sets.
  int64_t stride = lines > 1 ? lanes + 64 / Emitter::bytesOf(e.f32) : lanes;
  Tile tile{allocate(type.getElement(), stride * lines), e.integer(stride), lanesAlongRows, rows, columns};
  tile.isWhole = isWhole;
  return tile;
}

void KernelContext::copyTile(const Tile &from, const Tile &to) {
  e.loop(from.lines(), [&](Int line) {
    forGroups(from, [&](Int lane) { e.store(e.load(placeOf(from, line, lane), e.lanes), placeOf(to, line, lane)); });
  });
}

void KernelContext::fetchNextGroup(const Tile &tile, Int line, Int lane) {
  if (tile.window)
    e.fetch(placeOf(tile, line, lane + e.lanes), e.lanes * Emitter::bytesOf(tile.base.element));
}

// ---- control ------------------------------------------------------------------------------------

void KernelContext::unlessInterrupted(function_ref<void()> step) {
  Value mustEnd = LLVM::LoadOp::create(e, e.pointerType, checkpoint, 8);
  auto type = LLVM::LLVMFunctionType::get(e.i32, {e.pointerType});
  Value answer = LLVM::CallOp::create(e, type, ValueRange{mustEnd, checkpoint}).getResult();
  Value goesOn = arith::CmpIOp::create(e, arith::CmpIPredicate::eq, answer, e.number(e.i32, 0));
  e.when(goesOn, step);
}

void KernelContext::unlessInterrupted(int64_t elements, function_ref<void()> step) {
  constexpr int64_t kMany = 1 << 16;
  if (elements < kMany)
    return step();
  unlessInterrupted(step);
}

void KernelContext::inBlocks(int64_t elements, function_ref<void(Int, Int)> step) {
  constexpr int64_t kBlock = 1 << 20; // a millisecond
  if (elements <= kBlock)
    return step(e.integer(0), e.integer(elements));
  e.loop(e.integer(0), e.integer(elements), e.integer(kBlock),
         [&](Int first) { unlessInterrupted([&] { step(first, smaller(e.integer(elements) - first, kBlock)); }); });
}

Tile KernelContext::adoptStart(OpOperand &start) {
  const Tile &tile = this->tile(start.get());
  if (start.get().hasOneUse() && !tile.isBorrowed)
    return tile;
  Tile copy = allocateTile(cast<TileType>(start.get().getType()), tile.lanesAlongRows, tile.rows, tile.columns, tile.isWhole);
  copyTile(tile, copy);
  return copy;
}

LogicalResult KernelContext::convertStep(scf::ForOp loop, ArrayRef<Tile> carried) {
  if (failed(convertBlock(*loop.getBody())))
    return failure();
  for (auto [yielded, place] : llvm::zip_equal(loop.getYieldedValues(), carried))
    if (tile(yielded).base.pointer != place.base.pointer)
      copyTile(tile(yielded), place);
  return success();
}

LogicalResult KernelContext::convert(scf::ForOp loop) {
  SmallVector<Tile> carried;
  for (auto [start, argument] : llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs())) {
    if (!isa<TileType>(argument.getType()))
      return loop.emitOpError() << "carries a value of type " << argument.getType() << "; loops of a kernel carry tiles";
    carried.push_back(adoptStart(start));
    setTile(argument, carried.back());
  }
  LogicalResult converted = success();
  e.loop(scalar(loop.getLowerBound()), scalar(loop.getUpperBound()), scalar(loop.getStep()), [&](Int index) {
    setScalar(loop.getInductionVar(), index);
    unlessInterrupted([&] { converted = convertStep(loop, carried); });
  });
  for (auto [result, place] : llvm::zip_equal(loop.getResults(), carried))
    setTile(result, place);
  return converted;
}

/// The axes of a grid, those of short steps first: tasks one after the other share what belongs to
/// the axis of the longest step, so the largest operand stays in the caches.
static SmallVector<int64_t> axesOfTasks(scf::ForallOp forall) {
  auto step = [&](int64_t axis) { return getConstantIntValue(forall.getMixedStep()[axis]).value_or(1); };
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, forall.getRank()));
  llvm::sort(axes, [&](int64_t a, int64_t b) { return std::pair(step(a), -a) < std::pair(step(b), -b); });
  return axes;
}

LogicalResult KernelContext::convert(scf::ForallOp forall) {
  bindTask(forall, axesOfTasks(forall), e.integer(e.getBlock()->getParent()->getArgument(1)));
  return convertBlock(*forall.getBody());
}
