// Contraction.cpp - cuts a tile into blocks that fit registers. Project.cpp and Contract.cpp select
// the operands.
#include "compiler/Backends/CPU/TilesToCPU/Products/Contraction.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

LogicalResult Contraction::checkAmxTiles(Operation *op, KernelContext &k, Type operand) {
  if (k.e.tier.hasAmxTiles && operand.isBF16())
    return success();
  InFlightDiagnostic error = op->emitOpError() << "is 'using' amx_tiles";
  if (!k.e.tier.hasAmxTiles)
    return error << ", which " << StringRef(k.e.tier.name) << " does not have; use panels";
  return error << ", which multiply bf16, but its operands are " << operand << "; use panels";
}

LeftBlock Contraction::allocateLeft(int64_t lines, int64_t length, bool kMajor) {
  // Lines 4 KB apart would fall into the same cache sets.
  int64_t stride = kMajor ? length : llvm::alignTo(length, e.width) + 16;
  return {k.allocate(unit(), lines * stride), e.integer(stride), kMajor};
}

void Contraction::packLeft(const LeftBlock &left, Place from, Int stride, Int count) {
  cut([&](Int line, int64_t lines) {
    func::FuncOp pack = k.helpers.packLines(lines, from.element, pairs ? Type(e.getBF16Type()) : Type(e.f32), pairs);
    k.call(pack, {e.at(from, line).pointer, stride, e.at(left.base, line * left.stride).pointer, count});
  });
}

void Contraction::multiply(const LeftBlock &left, Panels right, Int depth, Value accumulate, ArrayRef<NextRows> next) {
  if (algorithm == Algorithm::AmxTiles)
    return multiplyTiles(left, right, depth, accumulate, next);
  multiplyPanels(left, right, depth, accumulate, next);
}

void Contraction::multiplyPanels(const LeftBlock &left, Panels right, Int depth, Value accumulate, ArrayRef<NextRows> next) {
  Int panels = divideUp(tile.lanes(), e.width), all = panels * tile.lines();
  e.loop(panels, [&](Int panel) {
    Place b = right(panel);
    Int done = panel * tile.lines();
    cut([&](Int line, int64_t lines) {
      for (const NextRows &rows : next)
        fetch(rows, done + line, e.integer(lines), all);
      Place a = e.at(left.base, line * left.stride);
      Place c = k.placeOf(tile, line, panel * e.width);
      k.call(k.helpers.multiply(lines, left.kMajor, pairs),
             {a.pointer, left.stride, b.pointer, c.pointer, tile.stride, divideUp(depth, together()), accumulate});
    });
  });
}

/// What fills no whole step along the shared axis follows, as a step of its own. The rows of one
/// block stay in the L1 cache while all panels pass by: these are the operand whose lines are
/// neighbours, so prefetchers of the processor see them coming.
void Contraction::multiplyTiles(const LeftBlock &left, Panels right, Int depth, Value accumulate, ArrayRef<NextRows> next) {
  Place configuration = k.allocate(e.i64, 8);
  Int pairs = divideUp(depth, together()), whole = pairs / kTilePairs * kTilePairs, rest = pairs - whole;
  Int lines = tile.lines(), panels = divideUp(tile.lanes(), e.width);
  constexpr int64_t kLines = 2 * kTileRows;
  auto multiplySteps = [&](Int first, Int steps, Int pairs, Value accumulate, ArrayRef<NextRows> next) {
    auto multiplyPanel = [&](Int line, Int count, Int panel) {
      for (const NextRows &rows : next)
        fetch(rows, line * panels + panel * count, count, lines * panels);
      Place a = e.at(left.base, line * left.stride + first), b{right(panel).pointer, unit()}, c = k.placeOf(tile, line, panel * e.width);
      SmallVector<Value> operands{a.pointer, left.stride, e.at(b, first * e.width).pointer, c.pointer, tile.stride, steps, accumulate};
      e.when(
          isLess(count, kTileRows + 1), [&] { k.call(k.helpers.multiplyTiles(/*two=*/false), operands); },
          [&] { k.call(k.helpers.multiplyTiles(/*two=*/true), operands); });
    };
    e.loop(e.integer(0), lines, e.integer(kLines), [&](Int line) {
      Int count = smaller(lines - line, kLines);
      Value isFirst = isEqual(line, 0), isLast = isLess(count, kLines);
      e.when(arith::OrIOp::create(e, isFirst, isLast), [&] { k.call(k.helpers.configureTiles(), {configuration.pointer, count, pairs}); });
      e.loop(panels, [&](Int panel) { multiplyPanel(line, count, panel); });
    });
  };
  Value hasWhole = isLess(e.integer(0), whole), isAdded = arith::OrIOp::create(e, accumulate, hasWhole);
  e.when(hasWhole, [&] { multiplySteps(e.integer(0), whole / kTilePairs, e.integer(kTilePairs), accumulate, next); });
  e.when(isLess(e.integer(0), rest), [&] { multiplySteps(whole, e.integer(1), rest, isAdded, {}); });
  e.onTiles("tilerelease", {});
}

/// The share of 'next' that belongs to 'more' of 'all' lines that are multiplied: in small
/// portions, memory keeps up.
void Contraction::fetch(const NextRows &next, Int done, Int more, Int all) {
  Int from = done * next.rows / all, end = (done + more) * next.rows / all;
  Int stride = next.stride * Emitter::bytesOf(next.first.element);
  k.call(k.helpers.fetch(), {next.first.pointer, stride, from, end, next.bytes});
}

void Contraction::cut(Block block) {
  if (sizes.empty())
    return cutAny(tile.lines(), block);
  if (sizes.size() == 1)
    return cutKnown(sizes[0], block);
  e.when(isEqual(tile.lines(), sizes[0]), [&] { cutKnown(sizes[0], block); }, [&] { cutKnown(sizes[1], block); });
}

void Contraction::repeat(Int first, Int count, int64_t lines, Block block) {
  e.loop(count, [&](Int i) { block(first + i * lines, lines); });
}

/// As few blocks as registers allow, of two sizes that differ by one.
void Contraction::cutKnown(int64_t lines, Block block) {
  int64_t count = llvm::divideCeil(lines, e.tier.tileRows), small = lines / count, large = lines % count;
  repeat(e.integer(0), e.integer(large), small + 1, block);
  repeat(e.integer(large * (small + 1)), e.integer(count - large), small, block);
}

/// A number that only the run knows: blocks of the two largest sizes where they give it exactly,
/// else of the largest size and, for what is left, of few smaller ones: each size is compiled.
void Contraction::cutAny(Int lines, Block block) {
  int64_t most = e.tier.tileRows;
  Int count = divideUp(lines, most), least = count * (most - 1);
  auto even = [&] {
    Int large = lines - least;
    repeat(e.integer(0), large, most, block);
    repeat(large * most, count - large, most - 1, block);
  };
  auto uneven = [&] {
    Int done = e.integer(0);
    for (int64_t size : {most, std::min<int64_t>(4, most - 1), int64_t(1)}) {
      Int count = (lines - done) / size;
      repeat(done, count, size, block);
      done = done + count * size;
    }
  };
  e.when(isLess(lines, least), uneven, even);
}
