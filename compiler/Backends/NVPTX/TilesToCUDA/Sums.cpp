// Sums.cpp - sums over the rows of a view and over the tokens of a tile, always in the same order.
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
using namespace mlir;

namespace logitile::cuda {
/// Each thread has a column.
LogicalResult convertSumRows(KernelContext &k, SumRowsOp op) {
  Emitter &e = k.e;
  const View &view = k.view(op.getView());
  auto type = cast<TileType>(op.getType());
  if (k.threads.sharing.isFragments)
    return op.emitOpError() << "sums rows of " << view.type << " in a kernel with tiles of several rows; CUDA kernels do not support that";
  FailureOr<Int> end = k.end(op, view, 1);
  if (failed(end))
    return failure();
  Int own = k.scalar(op.getColumn()) + k.threads.column(0), column = smaller(own, *end - 1);
  Value start = e.number(e.f32, 0);
  if (op.getPlus()) {
    auto read = [&]() -> CodeBuilder::Values { return {e.load(k.windowOf(k.view(op.getPlus()), e.integer(0), column))}; };
    // The thread that has the last column may have stored over what is there already: no other one
    // reads it.
    Value isThere = e.both(k.condition(op.getWhen()), isLess(own, *end));
    start = e.choose(isThere, e.f32, read, [&]() -> CodeBuilder::Values { return {e.number(e.f32, 0)}; })[0];
  }
  CodeBuilder::Values sum = e.loop(k.scalar(op.getCount()), start, [&](Int row, ValueRange sum) -> CodeBuilder::Values {
    return {arith::AddFOp::create(e, sum[0], e.load(k.windowOf(view, row, column)))};
  });
  k.setTile(op.getResult(), Tile{type, sum, {}});
  return success();
}

/// The rows of a thread, then of its column's eight threads, then of the warps above each other.
LogicalResult convertSumTokens(KernelContext &k, SumTokensOp op) {
  Emitter &e = k.e;
  const Sharing &sharing = k.threads.sharing;
  const Tile &tile = k.tile(op.getTile());
  if (!sharing.isFragments || tile.values.empty())
    return op.emitOpError() << "sums " << tile.type << "; expected a computed tile of two dimensions";
  Place parts = e.shared(k.scratch(sharing.warpRows * sharing.columns * 4), e.f32);
  Int tokens = k.scalar(op.getCount()), first = k.scalar(op.getRow());
  e.barrier(); // the sums of the tile before are read
  RowLoop loop(k);
  loop.take(tile);
  loop.carry(CodeBuilder::Values(sharing.columnSlots(), e.number(e.f32, 0)));
  loop.run([&] {
    for (int64_t rowSlot = 0; rowSlot < k.rowSlots(tile.type); ++rowSlot) {
      Value isToken = isLess(first + k.threads.row(rowSlot), tokens);
      for (auto [columnSlot, sum] : llvm::enumerate(loop.carried)) {
        Value value = arith::SelectOp::create(e, isToken, k.element(loop.tiles[0], rowSlot, columnSlot), e.number(e.f32, 0));
        sum = arith::AddFOp::create(e, sum, value);
      }
    }
  });
  PassedTiles passed(k, op, op.getTile());
  passed.set(passed.valuesOf(loop));
  for (auto [columnSlot, sum] : llvm::enumerate(loop.carried)) {
    for (int64_t mask : {4, 8, 16})
      sum = arith::AddFOp::create(e, sum, e.exchange(sum, mask));
    e.when(isEqual(k.threads.group, 0),
           [&] { e.store(sum, e.at(parts, k.threads.warpRow * sharing.columns + k.threads.column(columnSlot))); });
  }
  e.barrier();
  Int column = smaller(e.thread(), sharing.columns - 1); // threads without a column read any
  Value sum = e.load(e.at(parts, column));
  for (int64_t warp = 1; warp < sharing.warpRows; ++warp)
    sum = arith::AddFOp::create(e, sum, e.load(e.at(parts, column + warp * sharing.columns)));
  Tile result{cast<TileType>(op.getResult().getType()), {sum}, {}};
  result.isOwned = true;
  k.setTile(op.getResult(), result);
  return success();
}
} // namespace logitile::cuda
