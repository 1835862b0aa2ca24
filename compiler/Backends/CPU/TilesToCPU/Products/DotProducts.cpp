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
      : e(e), shape(shape), weight{args[0], shape.weight}, hidden{args[2], shape.hidden}, out{args[4], e.f32}, weightStride(e, args[1]),
        hiddenStride(e, args[3]), outStride(e, args[5]), steps(shape.isOfPairs() ? 2 * e.lanes : e.lanes) {}

  void build() {
    int64_t whole = shape.size / steps * steps;
    SmallVector<Value> start(shape.rows * shape.tokens, e.number(Emitter::widen(e.f32, e.lanes), 0));
    Emitter::Values sums = addWhole(whole, start);
    if (int64_t rest = shape.size - whole)
      sums = add(e.integer(whole), e.lanesBelow(e.integer(0), e.integer(rest), steps), sums, [](int64_t) {});
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value total = vector::ReductionOp::create(e, vector::CombiningKind::ADD, sum, arith::FastMathFlags::reassoc);
      e.store(total, e.at(out, outStride * (i / shape.tokens) + i % shape.tokens));
    }
  }

private:
  /// In as many parts as there are rows: during each of them, one row of the next block is brought
  /// in, from its first element to its last. Few tokens are multiplied faster than memory delivers,
  /// and in this order it delivers fastest.
  Emitter::Values addWhole(int64_t whole, ValueRange start) {
    int64_t part = llvm::divideCeil(whole / steps, shape.rows) * steps;
    return e.loop(e.integer(shape.rows), start, [&](Int row, ValueRange sums) {
      Int first = row * part, end = smaller(first + part, whole);
      Place next = e.at(weight, weightStride * (row + shape.rows));
      int64_t bytes = steps * Emitter::bytesOf(next.element);
      return e.loop(first, choose(isLess(first, end), end, first), e.integer(steps), sums, [&](Int k, ValueRange sums) {
        Place portion = e.at(next, (k - first) * shape.rows);
        return add(k, Value(), sums, [&](int64_t row) { e.fetch(e.at(portion, e.integer(row * steps)), bytes); });
      });
    });
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
  Place weight, hidden, out;
  Int weightStride, hiddenStride, outStride;
  int64_t steps; // of the hidden axis, in one vector
};
} // namespace

func::FuncOp Helpers::dots(const DotShape &shape) {
  Type p = e.pointerType, i = e.i64;
  return make(shape.name(), {p, i, p, i, p, i}, [&](ValueRange args) { DotBlock(e, args, shape).build(); });
}

// ---- a tile -------------------------------------------------------------------------------------

void DotProducts::emit() {
  Int whole = tile.columns / kDotRows;
  e.loop(whole, [&](Int number) { rows(number * kDotRows, kDotRows); });
  e.loop(whole * kDotRows, tile.columns, e.integer(1), [&](Int line) { rows(line, 1); });
}

/// Rows whose elements are not neighbours are copied first.
void DotProducts::rows(Int line, int64_t count) {
  Place first = k.windowOf(weight, column + line, e.integer(0));
  auto copied = [&] {
    func::FuncOp copy = k.helpers.copy(weight.base.element, operand);
    for (int64_t row = 0; row < count; ++row) {
      Place from = k.windowOf(weight, column + line + row, e.integer(0)), to = e.at(copies, e.integer(row * copyStride()));
      k.inBlocks(size, [&](Int first, Int count) {
        k.call(copy, {e.at(from, first * weight.stride1).pointer, weight.stride1, e.at(to, first).pointer, e.integer(1), count});
      });
    }
    tokens(line, count, copies, e.integer(copyStride()));
  };
  e.when(isEqual(weight.stride1, 1), [&] { tokens(line, count, first, weight.stride0); }, copied);
}

/// Blocks of as many tokens as registers allow; what is left, in powers of two.
void DotProducts::tokens(Int line, int64_t count, Place rows, Int stride) {
  auto block = [&](Int token, int64_t tokens) {
    Place from = k.windowOf(hidden, row + token, e.integer(0)), to = k.placeOf(tile, line, token);
    DotShape shape{count, tokens, size, rows.element, hidden.base.element};
    auto multiply = [&] { k.call(k.helpers.dots(shape), {rows.pointer, stride, from.pointer, hidden.stride0, to.pointer, tile.stride}); };
    k.unlessInterrupted(size, multiply);
  };
  const int64_t most = e.tier.tileRows * e.tier.panelVectors / kDotRows / 2 * 2; // an even number, with room for operands
  Int whole = tile.rows / most, rest = tile.rows % most;
  e.loop(whole, [&](Int number) { block(number * most, most); });
  for (int64_t size = static_cast<int64_t>(llvm::PowerOf2Ceil(most)) / 2; size > 0; size /= 2)
    e.when(isEqual(rest / size % 2, 1), [&] { block(whole * most + rest / (2 * size) * (2 * size), size); });
}
