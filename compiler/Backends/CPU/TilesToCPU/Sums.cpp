// Sums.cpp - sums over the rows of a view and over the tokens of a tile.
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

LogicalResult cpu::convertSumRows(KernelContext &k, SumRowsOp op) {
  Emitter &e = k.e;
  const View &view = k.view(op.getView());
  FailureOr<Int> columns = k.countInside(op, view, 1, op.getColumn(), cast<TileType>(op.getType()).getExtent(1));
  if (failed(columns))
    return failure();
  Tile tile = k.allocateTile(cast<TileType>(op.getType()), /*lanesAlongRows=*/false, e.integer(1), *columns, /*isWhole=*/false);
  Int column = k.scalar(op.getColumn());
  auto add = [&](const View &from, Int row) {
    Place place = k.windowOf(from, row, column);
    k.call(k.helpers.addScaled(from.base.element), {tile.base.pointer, e.number(e.f32, 1), place.pointer, from.stride1, *columns});
  };
  k.call(k.helpers.clear(e.f32), {tile.base.pointer, e.integer(1), *columns});
  if (op.getPlus())
    e.when(k.condition(op.getWhen()), [&] { add(k.view(op.getPlus()), e.integer(0)); });
  e.loop(k.scalar(op.getCount()), [&](Int row) { add(view, row); });
  k.setTile(op.getResult(), tile);
  return success();
}

/// The sum of all lanes, halves first.
static Value sumLanes(Emitter &e, Value total) {
  for (int64_t lanes = e.lanes / 2; lanes >= 1; lanes /= 2) {
    SmallVector<int64_t> low = llvm::to_vector(llvm::seq<int64_t>(0, lanes)), high = llvm::to_vector(llvm::seq<int64_t>(lanes, 2 * lanes));
    total = arith::AddFOp::create(e, vector::ShuffleOp::create(e, total, total, low), vector::ShuffleOp::create(e, total, total, high));
  }
  return vector::ExtractOp::create(e, total, 0);
}

/// Lanes are summed across groups first, then with each other: the same order for every number of
/// tokens.
LogicalResult cpu::convertSumTokens(KernelContext &k, SumTokensOp op) {
  Emitter &e = k.e;
  const Tile &tile = k.tile(op.getTile());
  if (!tile.lanesAlongRows)
    return op.emitOpError() << "sums a tile whose lanes are not tokens";
  Tile sums =
      k.allocateTile(cast<TileType>(op.getResult().getType()), /*lanesAlongRows=*/false, e.integer(1), tile.columns, /*isWhole=*/false);
  Value zero = e.number(Emitter::widen(e.f32, e.lanes), 0);
  // A tile that is made of constants has more rows than there are tokens.
  Int tokens = smaller(k.scalar(op.getCount()) - k.scalar(op.getRow()), tile.rows);
  e.loop(tile.columns, [&](Int line) {
    Value total = e.loop(divideUp(tokens, e.lanes), zero, [&](Int group, ValueRange sum) {
      Value value = e.load(k.placeOf(tile, line, group * e.lanes), e.lanes);
      Value kept = arith::SelectOp::create(e, e.lanesBelow(group * e.lanes, tokens, e.lanes), value, zero);
      return Emitter::Values{arith::AddFOp::create(e, sum[0], kept)};
    })[0];
    e.store(sumLanes(e, total), e.at(sums.base, line));
  });
  k.setTile(op.getResult(), sums);
  return success();
}
