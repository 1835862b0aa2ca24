// StagedRows.h - rows of fragments on their way to memory. A thread has pairs of neighbours: written as they are, they fill an eighth of
// what a store can write. So the four threads of a row trade pairs through shared memory for runs of eight.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"

namespace logitile::cuda {
class StagedRows {
public:
  /// Columns of a thread's run.
  static constexpr int64_t kRun = 8;
  /// Whether rows of 'tile' can go to 'view' like this, from column 'first' on, where runs of it are aligned.
  static bool suit(const KernelContext &k, const Tile &tile, const View &view, mlir::Value first);

  /// Elements have 16 bits. Behind a barrier, where other ops have used the same memory.
  StagedRows(KernelContext &k, mlir::Type element);
  /// All columns of one row slot: 'elements' of this thread. Where this thread's row 'isThere', its part goes to the row that begins,
  /// for the tile, at 'to'. Every thread of a warp has to be here.
  void store(mlir::ValueRange elements, mlir::Value isThere, llvm::function_ref<Place()> to);

private:
  /// Where chunk number 8 'line' + 'chunk' of this thread's row lies.
  Int placeOf(int64_t line, Int chunk);

  KernelContext &k;
  Emitter &e;
  const mlir::Type element;
  Int row, turned; // of this thread: where it lies, and what numbers of its chunks are turned by
};
} // namespace logitile::cuda
