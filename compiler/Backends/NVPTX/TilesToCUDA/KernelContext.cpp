// KernelContext.cpp - arguments, tiles, limits and loops of one kernel. What happens to tiles is in
// the files of the op families.
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"
#include "compiler/Backends/NVPTX/HeldRows.h"
#include "compiler/Conversion/IndexFacts.h"
#include "compiler/Schedule/BuildPlan.h"
using namespace mlir;

namespace logitile::cuda {
/// A number below 2^32, with upper bits that the assembler knows: they take no register.
static Int narrowed(Emitter &e, Int number) { return e.integer(arith::ExtUIOp::create(e, e.i64, e.narrow(number))); }

/// The host does not know how many tokens count: a launch gives the place of their number, the
/// first one and the most.
LogicalResult KernelContext::bindArguments(LLVM::LLVMFuncOp function, ArrayRef<TensorMap> ofKernel) {
  unsigned next = 0;
  auto pointer = [&] { return function.getArgument(next++); };
  auto word = [&] { return e.integer(function.getArgument(next++)); };
  LogicalResult bound = KernelControl::bindArguments(pointer, word, [&](ScalarRole role) {
    if (role != ScalarRole::Tokens)
      return word();
    Value counted = LLVM::LoadOp::create(e, e.i64, pointer(), /*alignment=*/8);
    Int first = word(), most = word();
    mostTokens = most;
    Value left = arith::MaxSIOp::create(e, e.integer(counted) - first, e.integer(0));
    return narrowed(e, e.integer(arith::MinSIOp::create(e, left, most)));
  });
  for (const TensorMap &map : ofKernel) {
    Int firstColumn = word();
    maps.push_back({map, {pointer(), firstColumn}});
  }
  if (hasWarpgroups(kernel))
    warp = e.uniform(e.warp()); // here, where the assembler sees that no thread of a warp is elsewhere
  if (warp && stages > 0)
    prepareBoxes();
  kernel.walk([&](StoreOp store) { storesBoxes |= tensorMapOf(store).has_value(); });
  return bound;
}

/// The first uses of the mbarriers come after the barrier with which a product starts.
void KernelContext::prepareBoxes() {
  boxPosition = e.variable();
  e.store(e.integer(0), *boxPosition);
  e.when(isEqual(e.thread(), 0), [&] {
    for (int64_t slot = 0; slot < stages; ++slot) {
      e.startMbarrier(arrival(e.integer(slot)), 1);
      e.startMbarrier(departure(e.integer(slot)), threads.sharing.threads / kWarp * blocksTogether(kernel));
    }
    e.fenceMbarriers();
  });
}

KernelContext::BoundMap KernelContext::findMap(const TensorMap &wanted) const {
  return llvm::find_if(maps, [&](const auto &map) { return map.first == wanted; })->second;
}
std::optional<KernelContext::BoundMap> KernelContext::mapOf(StoreOp store) const {
  std::optional<TensorMap> map = tensorMapOf(store);
  return map ? std::optional(findMap(*map)) : std::nullopt;
}

void KernelContext::finishStores() {
  if (storesBoxes)
    e.waitForStores();
}

/// Stages are not used for anything else if a tile's boxes are requested before.
bool KernelContext::areWarpsApart() const {
  auto isOfWarps = [](Operation *op) {
    return !llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TileType>) ||
           isa<LoadGatherOp, UpdateStateOp, MapOp, SparseTermsOp, StoreOp, scf::ForOp, scf::YieldOp>(op);
  };
  auto wait = [&](Operation *op) { return isOfWarps(op) ? WalkResult::advance() : WalkResult::interrupt(); };
  return prefetching && threads.sharing.haveWarpsStates() && !KernelOp(kernel).walk(wait).wasInterrupted();
}

Value KernelContext::haveTokens(Int last, Int end) {
  Value isCut = isLess(end, last), haveAll = isEqual(end - *mostTokens, 0);
  return arith::OrIOp::create(e, haveAll, arith::XOrIOp::create(e, isCut, e.truth(true)));
}

// ---- tiles --------------------------------------------------------------------------------------

Value KernelContext::element(const Tile &tile, int64_t rowSlot, int64_t columnSlot) {
  if (tile.values.empty())
    return tile.read(threads.row(rowSlot), threads.column(columnSlot));
  int64_t row = tile.type.getExtent(0) == 1 ? 0 : rowSlot, column = tile.type.getExtent(1) == 1 ? 0 : columnSlot;
  return tile.values[row * columnSlots(tile.type) + column];
}

CodeBuilder::Values KernelContext::elementsOf(const Tile &tile, int64_t rowSlot) {
  CodeBuilder::Values elements;
  for (int64_t slot = 0; slot < columnSlots(tile.type); slot += tile.run)
    if (tile.run > 1)
      llvm::append_range(elements, tile.readRun(threads.row(rowSlot), threads.column(slot)));
    else
      elements.push_back(element(tile, rowSlot, slot));
  return elements;
}

int64_t KernelContext::longestRun(const View &view, Value first) const {
  if (view.layout() != Layout::Strided || view.isVector() || view.isRowState())
    return 1;
  int64_t run = std::min(threads.sharing.neighbours, kVectorBytes / CodeBuilder::bytesOf(view.type.getElement()));
  return knownDivisor(first) % run == 0 ? run : 1;
}
bool KernelContext::isPadded(const View &view) const {
  return workspace.contains(view.memory) && !view.isVector() && view.extent(1) > 1; // a single column is not
}
int64_t KernelContext::runOf(const View &view, Value first) const { return isPadded(view) ? longestRun(view, first) : 1; }
int64_t KernelContext::runIfAligned(const View &view, Value first) const {
  int64_t run = longestRun(view, first);
  return view.isVector() || view.extent(1) % run != 0 ? 1 : run;
}

Value KernelContext::isAligned(const View &view, int64_t bytes) {
  Value address = LLVM::PtrToIntOp::create(e, e.i64, view.base.pointer);
  Int pitch = view.stride0 * CodeBuilder::bytesOf(view.type.getElement());
  Int bits = e.integer(arith::OrIOp::create(e, address, pitch)) % bytes;
  return e.both(isEqual(bits, 0), isEqual(view.stride1, 1));
}

bool KernelContext::isOwned(TileType type) const { return threads.sharing.isFragments && type.getExtent(1) == 1; }

/// The state of row Threads::line belongs to a thread.
void KernelContext::startRow(Value row, Value value) {
  Tile tile{cast<TileType>(row.getType()), {value}, {}};
  tile.isOwned = isOwned(tile.type);
  setTile(row, tile);
}

// ---- views --------------------------------------------------------------------------------------

LogicalResult KernelContext::checkLayout(Operation *op, const View &view) const {
  if (view.layout() == Layout::Strided)
    return success();
  return op->emitOpError() << "uses " << view.type << "; on this target views are strided";
}

FailureOr<Int> KernelContext::end(Operation *op, const View &view, unsigned dim) {
  int64_t extent = view.extent(dim);
  return ShapedType::isDynamic(extent) ? tokens(op) : FailureOr<Int>(e.integer(extent));
}

bool KernelContext::mayClip(const View &view, unsigned dim, Value first, int64_t count) const {
  if (count == 1)
    return false;
  int64_t extent = view.extent(dim);
  return ShapedType::isDynamic(extent) || extent % count != 0 || knownDivisor(first) % count != 0;
}

CodeBuilder::Values KernelContext::splitTail(bool mayClip, Int first, int64_t count, Int end, TypeRange types,
                                             function_ref<CodeBuilder::Values(bool)> body) {
  if (!mayClip)
    return body(false);
  Value isTail = isLess(end, first + count);
  if (!types.empty())
    return e.choose(isTail, types, [&] { return body(true); }, [&] { return body(false); });
  e.when(isTail, [&] { body(true); }, [&] { body(false); });
  return {};
}

void KernelContext::walkRow(const View &view, Int row, Int first, int64_t slots, std::optional<Int> end,
                            function_ref<void(int64_t slot, Place place)> visit) {
  Place start = windowOf(view, row, first), place = windowOf(view, row, first + threads.column(0));
  for (int64_t slot = 0; slot < slots; ++slot) {
    if (slot > 0)
      place = e.at(place, view.stride1 * (threads.distance(slot) - threads.distance(slot - 1)));
    Place inside = place;
    if (end)
      inside.pointer = LLVM::SelectOp::create(e, isLess(first + threads.column(slot), *end), place.pointer, start.pointer);
    visit(slot, inside);
  }
}

Int KernelContext::scratch(int64_t bytes) {
  finishStores();
  int64_t start = prefetching ? afterRing : first;
  allocated = std::max(allocated, start + static_cast<int64_t>(llvm::alignTo(bytes, 16)));
  return e.integer(start);
}

/// Each thread looks at all of them, at the same places: so all threads of a block go the same way.
Value KernelContext::isAnySet(const View &flags, Int first, Int count, int64_t most) {
  Value none = e.number(e.i32, 0);
  Value found = e.loop(e.integer(llvm::divideCeil(most, kFlagsOfTurn)), none, [&](Int turn, ValueRange before) -> CodeBuilder::Values {
    Value bits = before[0];
    for (int64_t look = 0; look < kFlagsOfTurn; ++look) {
      Int token = smaller(turn * kFlagsOfTurn + look, count - 1); // one that is there
      bits = arith::OrIOp::create(e, bits, e.load(e.at(flags.base, first + token)));
    }
    return {bits};
  })[0];
  return arith::CmpIOp::create(e, arith::CmpIPredicate::ne, found, none);
}

// ---- control ------------------------------------------------------------------------------------

/// Tiles that a loop carries are values: of the thread's elements, or of its line.
FailureOr<CodeBuilder::Values> KernelContext::startOf(scf::ForOp loop) {
  CodeBuilder::Values start;
  for (auto [value, argument] : llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs())) {
    if (!isa<TileType>(argument.getType()) || tile(value).read)
      return loop.emitOpError() << "carries a value of type " << argument.getType() << "; loops of a kernel carry tiles that are computed";
    llvm::append_range(start, tile(value).values);
  }
  return start;
}

/// What the loop carries, 'tiles' at one place, has these values there.
void KernelContext::adopt(scf::ForOp loop, ValueRange tiles, ValueRange values) {
  for (auto [value, first] : llvm::zip_equal(tiles, loop.getInitArgs())) {
    Tile carried = tile(first);
    carried.values = llvm::to_vector(values.take_front(carried.values.size()));
    values = values.drop_front(carried.values.size());
    setTile(value, carried);
  }
}

/// Of the threads that share a row, thread p merges states p, p + parts and so on. Turns that all
/// of them take are counted by a constant, so that the assembler reads several states before it
/// merges the first. What they have is merged by the first thread.
LogicalResult KernelContext::convertMerging(scf::ForOp loop, MapOp merge) {
  FailureOr<CodeBuilder::Values> start = startOf(loop);
  if (failed(start))
    return failure();
  const Sharing &sharing = threads.sharing;
  LogicalResult converted = success();
  Int part = e.thread() / sharing.rows;
  auto mergeNext = [&](Int turn, ValueRange current) {
    setScalar(loop.getInductionVar(), turn * sharing.parts + part);
    adopt(loop, loop.getRegionIterArgs(), current);
    converted = convertBlock(*loop.getBody());
    return succeeded(converted) ? valuesOf(merge) : CodeBuilder::Values(current);
  };
  int64_t count = *getConstantIntValue(loop.getUpperBound()), turns = count / sharing.parts, rest = count % sharing.parts;
  CodeBuilder::Values merged = e.loop(e.integer(turns), *start, mergeNext);
  SmallVector<Type> types(ValueRange(merged).getTypes());
  if (rest && succeeded(converted))
    merged = e.choose(isLess(part, rest), types, [&] { return mergeNext(e.integer(turns), merged); }, [&] { return merged; });
  if (failed(converted))
    return failure();
  adopt(loop, loop.getResults(), joinParts(loop, merge, part, merged));
  return success();
}

CodeBuilder::Values KernelContext::valuesOf(MapOp merge) {
  return llvm::map_to_vector(merge.getResults(), [&](Value result) { return tile(result).values.front(); });
}

/// In the threads with part 0 of their rows: the states of all parts, in their order.
CodeBuilder::Values KernelContext::joinParts(scf::ForOp loop, MapOp merge, Int part, ValueRange mine) {
  const Sharing &sharing = threads.sharing;
  int64_t bytes = (sharing.parts - 1) * sharing.rows * 4; // of a slot of the state
  Int memory = scratch(mine.size() * bytes);
  auto placeOf = [&](size_t slot, Int line) { return e.at(e.shared(memory + slot * bytes, mine[slot].getType()), line); };
  e.barrier(); // whoever used this memory before is done
  e.when(isLess(e.integer(0), part), [&] {
    for (auto [slot, value] : llvm::enumerate(mine))
      e.store(value, placeOf(slot, e.thread() - sharing.rows));
  });
  e.barrier();
  auto join = [&] {
    return e.loop(e.integer(sharing.parts - 1), mine, [&](Int other, ValueRange state) {
      adopt(loop, loop.getRegionIterArgs(), state);
      for (auto [slot, value] : llvm::enumerate(merge.getInputs().slice(state.size(), state.size())))
        setTile(value, Tile{cast<TileType>(value.getType()), {e.load(placeOf(slot, e.thread() + other * sharing.rows))}, {}});
      (void)convertMap(*this, merge); // which was converted before
      return valuesOf(merge);
    });
  };
  return e.choose(isEqual(part, 0), SmallVector<Type>(mine.getTypes()), join, [&] { return CodeBuilder::Values(mine); });
}

LogicalResult KernelContext::holdRows(scf::ForOp loop) {
  for (Operation *op : findHeldRows(loop, threads.sharing)) {
    auto load = dyn_cast<LoadOp>(op);
    if (failed(load ? convertLoad(*this, load) : convertGather(*this, cast<LoadGatherOp>(op))))
      return failure();
    Tile rows = tile(op->getResult(0));
    for (int64_t slot = 0; slot < threads.sharing.rowSlots(); ++slot)
      rows.values.push_back(rows.read(threads.row(slot), e.integer(0)));
    setTile(op->getResult(0), rows);
    held.push_back(op);
  }
  return success();
}

const Tile *KernelContext::findHeld(Value view, Value row) const {
  LoadOp load = cuda::findHeld(held, view, row);
  return load ? &tile(load) : nullptr;
}

LogicalResult KernelContext::convert(scf::ForOp loop) {
  if (MapOp merge = threads.sharing.parts > 1 ? mergeOf(loop) : MapOp())
    return convertMerging(loop, merge);
  FailureOr<CodeBuilder::Values> start = startOf(loop);
  if (failed(start) || failed(holdRows(loop)))
    return failure();
  LogicalResult converted = success();
  if (prefetching && prefetching->getParentOp() == loop) {
    setScalar(loop.getInductionVar(), scalar(loop.getLowerBound()));
    e.when(isLess(scalar(loop.getLowerBound()), scalar(loop.getUpperBound())), [&] { converted = startTiles(*this, prefetching); });
    if (failed(converted))
      return failure();
  }
  auto turn = [&](Value number, ValueRange current) {
    setScalar(loop.getInductionVar(), e.integer(arith::ExtUIOp::create(e, e.i64, number)));
    adopt(loop, loop.getRegionIterArgs(), current);
    converted = convertBlock(*loop.getBody());
    CodeBuilder::Values next;
    if (succeeded(converted))
      for (Value yielded : loop.getYieldedValues())
        llvm::append_range(next, tile(yielded).values);
    return succeeded(converted) ? next : CodeBuilder::Values(current);
  };
  auto word = [&](Value bound) { return e.narrow(scalar(bound)); };
  CodeBuilder::Values results =
      e.loopOverWords(word(loop.getLowerBound()), word(loop.getUpperBound()), word(loop.getStep()), *start, turn);
  adopt(loop, loop.getResults(), results);
  held.clear();
  return converted;
}

/// Blocks that run at a time are neighbours in the grid. Where they make logits, those of some
/// tiles of rows go through the vocabulary together: each part of the weight is read from memory
/// once for all of them, while their hidden states stay in the L2. More rows would not fit: half of
/// 36 MB or more, which all chips have but the older ones for games. 0: the kernel makes no logits.
static int64_t rowsOfGroup(const KernelContext &k, scf::ForallOp forall) {
  constexpr int64_t kBytes = int64_t(16) << 20;
  int64_t bytes = 0; // of the hidden states of one tile of rows
  forall.walk([&](ProjectOp project) {
    const View &hidden = k.view(project.getHidden());
    bytes += cast<TileType>(project.getType()).getExtent(0) * hidden.extent(1) * CodeBuilder::bytesOf(hidden.base.element);
  });
  return bytes <= 0 || forall.getRank() != 2 ? 0 : std::max<int64_t>(kBytes / bytes, 1);
}

Value KernelContext::bindInGroups(scf::ForallOp forall, int64_t rows, int64_t together, Int task) {
  SmallVector<Int> lower, upper, step, count;
  for (int64_t axis : {0, 1}) {
    lower.push_back(bound(forall.getMixedLowerBound()[axis]));
    upper.push_back(bound(forall.getMixedUpperBound()[axis]));
    step.push_back(bound(forall.getMixedStep()[axis]) * (axis == 0 ? together : 1));
    count.push_back(divideUp(upper[axis] - lower[axis], step[axis]));
  }
  auto atLeastOne = [&](Int number) { return number.isKnown() ? number : choose(isLess(number, 1), e.integer(1), number); };
  Int tasks = atLeastOne(count[1]) * rows, firstRow = task / tasks * rows, rest = task % tasks;
  Int here = atLeastOne(smaller(count[0] - firstRow, rows)); // the last group may have fewer
  Int row = lower[0] + (firstRow + rest % here) * step[0], column = lower[1] + rest / here * step[1];
  setScalar(forall.getInductionVar(0), row);
  setScalar(forall.getInductionVar(1), column);
  return e.both(isLess(row, upper[0]), isLess(column, upper[1]));
}

/// The grid is for the most tokens that may count: blocks beyond them have nothing to do.
LogicalResult KernelContext::convert(scf::ForallOp forall) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, forall.getRank())));
  int64_t rows = rowsOfGroup(*this, forall), together = blocksTogether(kernel);
  Int task = together > 1 ? e.block() / together : e.block();
  Value isThere = rows > 0 ? bindInGroups(forall, std::max<int64_t>(rows / together, 1), together, task)
                           : bindTask(forall, axes, task, together);
  for (Value variable : forall.getInductionVars())
    setScalar(variable, narrowed(e, scalar(variable)));
  if (together > 1) {
    FailureOr<Value> ofPair = bindPair(forall, isThere);
    if (failed(ofPair))
      return failure();
    isThere = *ofPair;
  }
  if (!isThere)
    return convertBlock(*forall.getBody());
  LogicalResult converted = success();
  e.when(isThere, [&] {
    converted = convertBlock(*forall.getBody());
    if (pair) // the other block may still arrive at mbarriers of this one
      e.when(pair->isShared, [&] { e.clusterBarrier(); });
  });
  return converted;
}
} // namespace logitile::cuda
