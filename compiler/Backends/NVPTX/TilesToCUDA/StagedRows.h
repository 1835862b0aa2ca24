// StagedRows.h - writes rows of fragments to memory. A thread has pairs of neighbours, which would
// fill only a quarter of the widest store. So the four threads of a row exchange pairs through
// shared memory, and write runs of eight; or boxes are written from there.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"

namespace logitile::cuda {
class StagedRows {
public:
  /// Columns of a thread's run.
  static constexpr int64_t kRun = 8;
  /// Whether rows of 'tile' should go to 'view' like this, from column 'first' on, where runs of it
  /// are aligned: those of warpgroups. Blocks of mma.sync have short rows, of which a thread has
  /// many: there it takes longer.
  static bool suit(const KernelContext &k, const Tile &tile, const View &view, mlir::Value first);

  /// Elements have 16 bits. Behind a barrier, where other ops have used the same memory.
  StagedRows(KernelContext &k, mlir::Type element);
  /// One row slot: all elements of this thread. Where its row 'isThere', its part goes to the row
  /// that begins, for the tile, at 'to'.
  struct Row {
    CodeBuilder::Values elements;
    mlir::Value isThere;
    std::function<Place()> to;
  };
  /// All rows of this thread, once. Every thread of a warp has to be here.
  void store(llvm::ArrayRef<Row> rows);
  /// The same, as boxes of a tensor map: to the tile from 'row' and 'column' on, whose rows of this
  /// warp are there.
  void storeBoxes(llvm::ArrayRef<Row> rows, const KernelContext::BoundMap &map, Int row, Int column);

private:
  KernelContext &k;
  Emitter &e;
  const mlir::Type element;
  Int ofWarp;      // where the memory of this warp begins
  Int chunks, runs; // where the row of a matrix goes that this thread says, and where its first run lies
};
} // namespace logitile::cuda
