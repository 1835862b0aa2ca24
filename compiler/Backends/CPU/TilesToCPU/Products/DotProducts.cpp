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
        next{args[7], e.getI8Type()}, weightStride(e, args[1]), hiddenStride(e, args[3]), outStride(e, args[5]),
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

  /// In as many stretches as there are rows to bring in: during each of them one row comes, from
  /// its first element to its last. Few tokens are multiplied faster than memory delivers, and in
  /// this order it delivers fastest.
  Emitter::Values addWhole(int64_t whole, ValueRange start) {
    constexpr int64_t kLine = 64;
    const int64_t stretch = llvm::divideCeil(whole / steps, shape.fetchedRows); // in steps
    const int64_t lines = llvm::divideCeil(shape.fetchedBytes, kLine * std::max<int64_t>(stretch, 1)); // of each step
    Int rowBytes = weightStride * Emitter::bytesOf(shape.weight);
    return e.loop(e.integer(shape.fetchedRows), start, [&](Int row, ValueRange sums) {
      Int first = row * (stretch * steps), end = smaller(first + stretch * steps, whole);
      Place fetched = e.at(next, rowBytes * row);
      return e.loop(choose(isLess(first, end), first, end), end, e.integer(steps), sums, [&](Int k, ValueRange sums) {
        Place portion = e.at(fetched, (k - first) * (lines * kLine / steps));
        return add(k, Value(), sums, [&](int64_t row) {
          int64_t from = row * lines / shape.rows, end = (row + 1) * lines / shape.rows;
          e.fetch(e.at(portion, e.integer(from * kLine)), (end - from) * kLine);
        });
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
  Place weight, hidden, out, kept, next;
  Int weightStride, hiddenStride, outStride;
  int64_t steps; // of the hidden axis, in one vector
};
} // namespace

func::FuncOp Helpers::dots(const DotShape &shape) {
  Type p = e.pointerType, i = e.i64;
  return make(shape.name(), {p, i, p, i, p, i, p, p}, [&](ValueRange args) { DotBlock(e, args, shape).build(); });
}

// ---- a tile -------------------------------------------------------------------------------------

DotProducts::DotProducts(KernelContext &k, const Tile &tile, const View &hidden, const View &weight, Int row, Int column)
    : k(k), e(k.e), tile(tile), hidden(hidden), weight(weight), row(row), column(column), size(weight.extent(1)),
      operand(hidden.base.element), copies(k.allocate(operand, kDotRows * dotCopyStride(size))),
      sums(k.allocate(e.f32, kDotRows * kDotTokens * e.lanes)) {}

void DotProducts::emit() {
  const int64_t most = e.tier.dotRows();
  Int whole = tile.columns / most;
  e.loop(whole, [&](Int number) { rows(number * most, most); });
  e.loop(whole * most, tile.columns, e.integer(1), [&](Int line) { rows(line, 1); });
}

/// Rows whose elements are not neighbours are copied first.
void DotProducts::rows(Int line, int64_t count) {
  Place first = k.windowOf(weight, column + line, e.integer(0));
  auto copied = [&] {
    const int64_t stride = dotCopyStride(size);
    func::FuncOp copy = k.helpers.copy(weight.base.element, operand);
    for (int64_t row = 0; row < count; ++row) {
      Place from = k.windowOf(weight, column + line + row, e.integer(0)), to = e.at(copies, e.integer(row * stride));
      k.inBlocks(size, [&](Int first, Int count) {
        k.call(copy, {e.at(from, first * weight.stride1).pointer, weight.stride1, e.at(to, first).pointer, e.integer(1), count});
      });
    }
    multiply(line, {copies, e.integer(stride), count});
  };
  e.when(isEqual(weight.stride1, 1), [&] { multiply(line, {first, weight.stride0, count}); }, copied);
}

/// Long rows come in parts, so that those of one block stay in the L1 cache while all tokens pass
/// by.
void DotProducts::multiply(Int line, const HeadRows &rows) {
  constexpr int64_t kPartBytes = 4096;
  const int64_t part = kPartBytes / Emitter::bytesOf(operand), parts = llvm::divideCeil(size, part);
  DotShape shape{rows.count, 0, size, rows.first.element, operand};
  auto whole = [&] {
    shape.fetchedRows = rows.count;
    tokens(line, rows, {e.integer(0), tile.rows}, {e.integer(0), e.integer(0)}, shape);
  };
  auto inParts = [&] {
    shape.fetchedRows = llvm::divideCeil(rows.count, parts);
    func::FuncOp clear = k.helpers.clear(e.f32);
    e.loop(e.integer(0), tile.rows, e.integer(kDotTokens), [&](Int first) {
      Int count = smaller(tile.rows - first, kDotTokens);
      k.call(clear, {sums.pointer, e.integer(1), count * (rows.count * e.lanes)});
      auto multiplyPart = [&](Int number, int64_t size, DotShape::Part which) {
        shape.size = size, shape.part = which;
        tokens(line, rows, {first, count}, {number * part, number * shape.fetchedRows}, shape);
      };
      e.loop(e.integer(parts - 1), [&](Int number) { multiplyPart(number, part, DotShape::Inner); });
      multiplyPart(e.integer(parts - 1), size - (parts - 1) * part, DotShape::Last);
    });
  };
  if (parts == 1 || rows.count == 1)
    return whole();
  e.when(isLess(tile.rows, e.tier.dotTokens() + 1), whole, inParts);
}

/// Blocks of as many tokens as registers allow; what is left, in powers of two.
void DotProducts::tokens(Int line, const HeadRows &rows, Span span, Start start, DotShape shape) {
  shape.fetchedBytes = size * Emitter::bytesOf(rows.first.element);
  Place head = e.at(rows.first, start.entry), next = e.at(rows.first, rows.stride * (start.fetched + rows.count));
  auto block = [&](Int token, int64_t tokens) {
    shape.tokens = tokens;
    Place from = k.windowOf(hidden, row + span.first + token, start.entry), to = k.placeOf(tile, line, span.first + token);
    Place kept = e.at(sums, token * (rows.count * e.lanes));
    auto multiply = [&] {
      k.call(k.helpers.dots(shape), {head.pointer, rows.stride, from.pointer, hidden.stride0, to.pointer, tile.stride, kept.pointer, next.pointer});
    };
    k.unlessInterrupted(shape.size, multiply);
  };
  const int64_t most = e.tier.dotTokens();
  Int whole = span.count / most, rest = span.count % most;
  e.loop(whole, [&](Int number) { block(number * most, most); });
  for (int64_t size = static_cast<int64_t>(llvm::PowerOf2Ceil(most)) / 2; size > 0; size /= 2)
    e.when(isEqual(rest / size % 2, 1), [&] { block(whole * most + rest / (2 * size) * (2 * size), size); });
}
