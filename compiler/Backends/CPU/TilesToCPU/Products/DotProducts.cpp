// DotProducts.cpp - logits of few tokens: rows of the head times rows of hidden states, with the
// hidden axis in the lanes. In panels most lanes would be empty. Rows of the head are read once,
// without packing.
#include "compiler/Backends/CPU/TilesToCPU/Products/DotProducts.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// ---- one block in registers ---------------------------------------------------------------------

namespace {
/// All products of a few rows of the head with a few tokens while they are built. Sums stand row by
/// row, tokens inside.
class DotBlock {
public:
  DotBlock(Emitter &e, ValueRange args, const DotShape &shape)
      : e(e), shape(shape), weight{args[0], shape.weight}, hidden{args[2], shape.hidden}, out{args[4], e.f32}, kept{args[6], e.f32},
        weightStride(e, args[1]), hiddenStride(e, args[3]), outStride(e, args[5]), first(e, args[7]),
        steps(shape.isOfPairs() ? 2 * e.lanes : e.lanes) {}

  void build() {
    int64_t whole = shape.size / steps * steps;
    Emitter::Values start, sums;
    for (int64_t i = 0; i < shape.rows * shape.tokens; ++i)
      start.push_back(shape.part == DotShape::Whole ? e.number(Emitter::widen(e.f32, e.lanes), 0) : e.loadBits(keptPlace(i), e.lanes));
    sums = addWhole(whole, start);
    if (shape.part == DotShape::Inner) {
      for (auto [i, sum] : llvm::enumerate(sums))
        e.storeBits(sum, keptPlace(i));
      return;
    }
    if (int64_t rest = shape.size - whole)
      sums = add(e.integer(whole), e.lanesBelow(e.integer(0), e.integer(rest), steps), sums, [](int64_t) {});
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value total = vector::ReductionOp::create(e, vector::CombiningKind::ADD, sum, arith::FastMathFlags::reassoc);
      e.store(total, e.at(out, outStride * (i / shape.tokens) + i % shape.tokens));
    }
  }

private:
  Place keptPlace(int64_t i) { return e.at(kept, e.integer(i * e.lanes)); }

  /// Meanwhile the next block of rows is brought in, one row after the other, each from its first
  /// element to its last. Few tokens are multiplied faster than memory delivers, and in this order
  /// it delivers fastest. So the steps are in as many stretches as there are rows. A part is one
  /// stretch, for its share of the rows.
  Emitter::Values addWhole(int64_t whole, ValueRange start) {
    const int64_t stretches = shape.part == DotShape::Whole ? shape.rows : 1;
    const int64_t stretch = llvm::divideCeil(whole / steps, stretches) * steps;
    return e.loop(e.integer(stretches), start, [&](Int number, ValueRange sums) {
      Int from = number * stretch, end = smaller(from + stretch, whole);
      Place next = shape.part == DotShape::Whole ? e.at(weight, weightStride * (number + shape.rows)) : nextOfPart();
      int64_t bytes = steps * Emitter::bytesOf(next.element);
      return e.loop(from, choose(isLess(from, end), end, from), e.integer(steps), sums, [&](Int k, ValueRange sums) {
        Place portion = e.at(next, (k - from) * shape.rows);
        return add(k, Value(), sums, [&](int64_t row) { e.fetch(e.at(portion, e.integer(row * steps)), bytes); });
      });
    });
  }
  Place nextOfPart() {
    Int position = first * shape.rows, row = position / shape.length;
    return e.at(weight, weightStride * (row + shape.rows) + (position - row * shape.length) - first);
  }
  /// The products of one vector of every row; 'inside' masks lanes after the end.
  Emitter::Values add(Int k, Value inside, ValueRange sums, function_ref<void(int64_t row)> fetch) {
    Emitter::Values right, next;
    for (int64_t token = 0; token < shape.tokens; ++token)
      right.push_back(read(e.at(hidden, hiddenStride * token + k), inside));
    for (int64_t row = 0; row < shape.rows; ++row) {
      fetch(row);
      Value left = read(e.at(weight, weightStride * row + k), inside);
      for (int64_t token = 0; token < shape.tokens; ++token)
        next.push_back(e.multiplyAdd(left, right[token], sums[row * shape.tokens + token]));
    }
    return next;
  }
  Value read(Place place, Value inside) {
    Value bits = inside ? e.loadBitsWhere(inside, place, steps) : e.loadBits(place, steps);
    if (!shape.isOfPairs())
      return e.toValue(bits, place.element);
    Value halves = place.element.isBF16() ? bits : e.toBits(e.toValue(bits, place.element), e.getBF16Type());
    return LLVM::BitcastOp::create(e, Emitter::widen(e.getBF16Type(), steps), halves);
  }

  Emitter &e;
  const DotShape &shape;
  Place weight, hidden, out, kept; // kept: sums of a part, where the next one finds them
  Int weightStride, hiddenStride, outStride, first;
  int64_t steps; // of the hidden axis, in one vector
};
} // namespace

func::FuncOp Helpers::dots(const DotShape &shape) {
  Type p = e.pointerType, i = e.i64;
  return make(shape.name(), {p, i, p, i, p, i, p, i}, [&](ValueRange args) { DotBlock(e, args, shape).build(); });
}

// ---- a tile -------------------------------------------------------------------------------------

DotProducts::DotProducts(KernelContext &k, const Tile &tile, const View &hidden, const View &weight, Int row, Int column)
    : k(k), e(k.e), tile(tile), hidden(hidden), weight(weight), row(row), column(column), size(weight.extent(1)),
      registers(e.tier.tileRows * e.tier.panelVectors), flat{4, registers / 4 / 2 * 2}, tall{kDotRows, registers / kDotRows},
      operand(hidden.base.element),
      copies(k.allocate(weight.base.element, (hasTallBlocks() ? tall.rows : flat.rows) * dotCopyStride(size))),
      sums(k.allocate(e.f32, hasTallBlocks() ? tall.rows * kDotTokens * e.lanes : 0)) {}

/// Blocks of sums fill the registers. If they have more rows, hidden states are read less often; if
/// they have more tokens, rows are. So one block for all tokens is best if there are so few.
void DotProducts::emit() {
  auto inBlocks = [&](Block block) {
    Int whole = tile.columns / block.rows;
    e.loop(whole, [&](Int number) { rows(number * block.rows, block); });
    e.loop(whole * block.rows, tile.columns, e.integer(1), [&](Int line) { rows(line, {1, 1}); });
  };
  if (!hasTallBlocks())
    return inBlocks(flat);
  e.when(isLess(tile.rows, flat.tokens + 1), [&] { inBlocks(flat); }, [&] { inBlocks(tall); });
}

/// Rows whose elements are not neighbours are copied first.
void DotProducts::rows(Int line, Block block) {
  Place first = k.windowOf(weight, column + line, e.integer(0));
  Value areNeighbours = isEqual(weight.stride1, 1);
  Int stride = e.integer(dotCopyStride(size));
  auto copyRow = [&](Int row) {
    Place from = k.windowOf(weight, column + line + row, e.integer(0)), to = e.at(copies, row * stride);
    k.inBlocks(size, [&](Int first, Int count) {
      k.call(k.helpers.copy(from.element, to.element),
             {e.at(from, first * weight.stride1).pointer, weight.stride1, e.at(to, first).pointer, e.integer(1), count});
    });
  };
  e.when(areNeighbours, [] {}, [&] { e.loop(e.integer(block.rows), copyRow); });
  Place head{arith::SelectOp::create(e, areNeighbours, first.pointer, copies.pointer), first.element};
  multiply(line, head, choose(areNeighbours, weight.stride0, stride), block);
}

/// Long rows of a tall block come in parts, so that they stay in the L1 cache while all tokens pass
/// by.
void DotProducts::multiply(Int line, Place head, Int stride, Block block) {
  constexpr int64_t kPartBytes = 2048; // of operands: eight rows are half of 32 KB
  const int64_t part = kPartBytes / Emitter::bytesOf(operand), last = (llvm::divideCeil(size, part) - 1) * part;
  DotShape shape{block.rows, block.tokens, size, size, head.element, operand};
  if (block.rows < kDotRows || last == 0)
    return tokens({line, e.integer(0), tile.rows, e.integer(0)}, head, stride, shape);
  func::FuncOp clear = k.helpers.clear(e.f32);
  e.loop(e.integer(0), tile.rows, e.integer(kDotTokens), [&](Int first) {
    Int count = smaller(tile.rows - first, kDotTokens);
    k.call(clear, {sums.pointer, e.integer(1), count * (block.rows * e.lanes)});
    auto multiplyPart = [&](Int entry, int64_t size, DotShape::Part which) {
      shape.size = size, shape.part = which;
      tokens({line, first, count, entry}, head, stride, shape);
    };
    e.loop(e.integer(0), e.integer(last), e.integer(part),
           [&](Int entry) { k.unlessInterrupted(size, [&] { multiplyPart(entry, part, DotShape::Inner); }); });
    multiplyPart(e.integer(last), size - last, DotShape::Last);
  });
}

/// Blocks of as many tokens as the shape has. What is left comes in powers of two, or one by one if
/// it is at most two: each size is compiled.
void DotProducts::tokens(Range range, Place head, Int stride, DotShape shape) {
  auto block = [&](Int token, int64_t tokens) {
    shape.tokens = tokens;
    Place left = e.at(head, range.entry), right = k.windowOf(hidden, row + range.first + token, range.entry);
    Place to = k.placeOf(tile, range.line, range.first + token), kept = e.at(sums, token * (shape.rows * e.lanes));
    SmallVector<Value> operands{left.pointer, stride, right.pointer, hidden.stride0, to.pointer, tile.stride, kept.pointer, range.entry};
    k.unlessInterrupted(shape.size, [&] { k.call(k.helpers.dots(shape), operands); });
  };
  const int64_t most = shape.tokens;
  Int whole = range.count / most, rest = range.count % most;
  e.loop(whole, [&](Int number) { block(number * most, most); });
  if (most <= 3)
    return e.loop(rest, [&](Int number) { block(whole * most + number, 1); });
  for (int64_t size = static_cast<int64_t>(llvm::PowerOf2Ceil(most)) / 2; size > 0; size /= 2)
    e.when(isEqual(rest / size % 2, 1), [&] { block(whole * most + rest / (2 * size) * (2 * size), size); });
}
