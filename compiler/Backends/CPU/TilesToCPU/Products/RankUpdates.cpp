// RankUpdates.cpp - gradients of hidden states of few tokens: rows of the head times the gradients
// of their logits. Rows are read without packing, because packing would take longer than
// multiplying.
#include "compiler/Backends/CPU/TilesToCPU/Products/RankUpdates.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// ---- a few rows ---------------------------------------------------------------------------------

namespace {
/// C += A B of a few rows of B while it is built.
class RankUpdate {
public:
  RankUpdate(Emitter &e, ValueRange args, const UpdateShape &shape)
      : e(e), shape(shape), b{args[0], shape.weight}, a{args[2], shape.pairs ? e.i32 : e.f32}, c{args[3], e.f32}, bStride(e, args[1]),
        cStride(e, args[4]), rows(e, args[5]), tokens(e, args[6]), columns(e, args[7]), steps(shape.pairs ? 2 * e.lanes : e.lanes) {}

  /// The columns are in as many parts as there are rows: during each of them, one row of the next
  /// block is brought in, from its first element to its last. Few tokens are multiplied faster than
  /// memory delivers, and in this order it delivers fastest.
  void build() {
    Int whole = columns / steps * steps, part = divideUp(columns / steps, shape.rows) * steps;
    e.loop(e.integer(shape.rows), [&](Int row) {
      Int first = row * part, end = smaller(first + part, whole);
      Place next = e.at(b, bStride * (row + shape.rows));
      e.loop(first, choose(isLess(first, end), end, first), e.integer(steps), [&](Int column) {
        e.fetch(e.at(next, (column - first) * shape.rows), shape.rows * steps * Emitter::bytesOf(next.element));
        add(column, Value());
      });
    });
    e.when(isLess(whole, columns), [&] { add(whole, e.lanesBelow(whole, columns, steps)); });
  }

private:
  /// One vector of every token, or two of them next to each other; 'inside' masks what is after
  /// the last column.
  void add(Int column, Value inside) {
    int64_t units = shape.units(), vectors = steps / e.lanes;
    Emitter::Values right; // unit by unit
    for (int64_t unit = 0; unit < units; ++unit)
      if (shape.pairs)
        right.append(pairOf(read(2 * unit, column, inside), read(2 * unit + 1, column, inside)));
      else
        right.push_back(read(unit, column, inside));
    e.loop(tokens, [&](Int token) {
      Emitter::Values sums(vectors, e.number(Emitter::widen(e.f32, e.lanes), 0));
      for (int64_t unit = 0; unit < units; ++unit) {
        Value left = e.spread(e.loadBits(e.at(a, token * units + unit), 0), e.lanes);
        for (int64_t v = 0; v < vectors; ++v)
          sums[v] = e.multiplyAdd(operand(left), operand(right[unit * vectors + v]), sums[v]);
      }
      for (auto [v, sum] : llvm::enumerate(sums)) {
        Place place = e.at(c, cStride * token + column + v * e.lanes);
        e.storeBits(arith::AddFOp::create(e, e.loadBits(place, e.lanes), sum), place);
      }
    });
  }
  /// A vector of one row; zeros where there is no such row or column.
  Value read(int64_t row, Int column, Value inside) {
    Place place = e.at(b, bStride * row + column);
    if (!shape.isWhole) {
      Value isThere = e.spread(isLess(e.integer(row), rows), steps);
      inside = inside ? e.both(inside, isThere) : isThere;
    }
    Value bits = inside ? e.loadBitsWhere(inside, place, steps) : e.loadBits(place, steps);
    if (!shape.pairs)
      return e.toValue(bits, place.element);
    return place.element.isBF16() ? bits : e.toBits(e.toValue(bits, place.element), e.getBF16Type());
  }
  /// a0 b0 a1 b1 ... as two vectors of 32-bit lanes.
  Emitter::Values pairOf(Value first, Value second) {
    Emitter::Values halves;
    for (int64_t half = 0; half < 2; ++half) {
      SmallVector<int64_t> lanes;
      for (int64_t i = half * e.lanes; i < (half + 1) * e.lanes; ++i)
        lanes.append({i, steps + i});
      halves.push_back(vector::ShuffleOp::create(e, first, second, lanes));
    }
    return halves;
  }
  Value operand(Value bits) {
    return shape.pairs ? Value(LLVM::BitcastOp::create(e, Emitter::widen(e.getBF16Type(), 2 * e.lanes), bits)) : bits;
  }

  Emitter &e;
  const UpdateShape &shape;
  Place b, a, c;
  Int bStride, cStride, rows, tokens, columns;
  int64_t steps; // columns of B that are read at a time
};
} // namespace

func::FuncOp Helpers::update(const UpdateShape &shape) {
  Type p = e.pointerType, i = e.i64;
  return make(shape.name(), {p, i, p, p, i, i, i, i}, [&](ValueRange args) { RankUpdate(e, args, shape).build(); });
}

// ---- a tile -------------------------------------------------------------------------------------

RankUpdates::RankUpdates(KernelContext &k, const Tile &tile, TileType type, const View &gradient, const View &weight, Int row, Int column,
                         int64_t depth, bool pairs)
    : k(k), e(k.e), tile(tile), block(k.allocateTile(type, tile.lanesAlongRows, tile.rows, tile.columns, tile.isWhole)), gradient(gradient),
      weight(weight), row(row), column(column), depth(depth), units(llvm::divideCeil(depth, pairs ? 2 : 1)),
      copyStride(llvm::alignTo(type.getExtent(1), 32) + 32), pairs(pairs), operand(pairs ? Type(e.getBF16Type()) : Type(e.f32)),
      coefficients(k.allocate(pairs ? e.i32 : e.f32, type.getExtent(0) * units)), copies(k.allocate(operand, depth * copyStride)) {}

void RankUpdates::emit(Int first, Int end) {
  constexpr int64_t kUpdates = 32; // in a block
  Int size = e.integer(kUpdates * depth);
  func::FuncOp clear = k.helpers.clear(e.f32), add = k.helpers.addScaled(e.f32);
  Value one = e.number(e.f32, 1);
  auto addUpdates = [&](Int from) {
    e.loop(tile.rows, [&](Int line) { k.call(clear, {k.placeOf(block, line, e.integer(0)).pointer, e.integer(1), tile.columns}); });
    addBlock(from, smaller(from + size, end));
    e.loop(tile.rows, [&](Int line) {
      Place sum = k.placeOf(tile, line, e.integer(0)), part = k.placeOf(block, line, e.integer(0));
      k.call(add, {sum.pointer, one, part.pointer, e.integer(1), tile.columns});
    });
  };
  e.loop(first, end, size, [&](Int from) { k.unlessInterrupted([&] { addUpdates(from); }); });
}

void RankUpdates::addBlock(Int first, Int end) {
  Int whole = first + (end - first) / depth * depth;
  e.loop(first, whole, e.integer(depth), [&](Int from) { update(from, e.integer(depth), /*isWhole=*/true); });
  e.when(isLess(whole, end), [&] {
    k.call(k.helpers.clear(e.f32), {coefficients.pointer, e.integer(1), tile.rows * units});
    update(whole, end - whole, /*isWhole=*/false);
  });
}

void RankUpdates::update(Int from, Int count, bool isWhole) {
  func::FuncOp pack = k.helpers.packLines(1, gradient.base.element, operand, pairs);
  e.loop(tile.rows, [&](Int token) {
    Place source = k.windowOf(gradient, row + token, from);
    k.call(pack, {source.pointer, gradient.stride1, e.at(coefficients, token * units).pointer, count});
  });
  auto multiply = [&](Place rows, Int stride) {
    func::FuncOp update = k.helpers.update({depth, rows.element, pairs, isWhole});
    k.call(update, {rows.pointer, stride, coefficients.pointer, block.base.pointer, block.stride, count, tile.rows, tile.columns});
  };
  Place rows = k.windowOf(weight, from, column);
  auto copied = [&] {
    copyRows(from, count);
    multiply(copies, e.integer(copyStride));
  };
  e.when(isEqual(weight.stride1, 1), [&] { multiply(rows, weight.stride0); }, copied);
}

/// Rows whose elements are not neighbours.
void RankUpdates::copyRows(Int from, Int count) {
  func::FuncOp copy = k.helpers.copy(weight.base.element, operand);
  e.loop(count, [&](Int line) {
    Place source = k.windowOf(weight, from + line, column), to = e.at(copies, line * copyStride);
    k.call(copy, {source.pointer, weight.stride1, to.pointer, e.integer(1), tile.columns});
  });
}
