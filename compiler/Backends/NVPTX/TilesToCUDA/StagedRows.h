// StagedRows.h - writes rows of fragments to memory. A thread has pairs of neighbouring elements. A
// pair fills only a quarter of the widest store. So the four threads of a row exchange pairs
// through shared memory, and each of them writes a run of eight elements. Or tensor copies write
// boxes from shared memory.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"

namespace logitile::cuda {
class StagedRows {
public:
  /// Columns of a thread's run.
  static constexpr int64_t kRun = 8;
  /// Whether rows of 'tile' should be written to 'view', from column 'first' on, in this way if the
  /// runs are aligned. That is so for tiles of warpgroups. In kernels with mma.sync a thread has
  /// many short rows, for which this way takes longer.
  static bool suit(const KernelContext &k, const Tile &tile, const View &view, mlir::Value first);

  /// Elements have 16 bits. A barrier must follow, since other ops may use the same memory; one of
  /// the warp is enough if warps are apart.
  StagedRows(KernelContext &k, mlir::Type element);
  /// One row slot: all elements of it that this thread has. If 'isThere', the row exists, and its
  /// columns of the tile are written from 'to' on.
  struct Row {
    CodeBuilder::Values elements;
    mlir::Value isThere;
    std::function<Place()> to;
  };
  /// Writes all rows of this thread. It is called once, by all threads of a warp.
  void store(llvm::ArrayRef<Row> rows);
  /// The same with boxes of a tensor map. The tile begins at 'row' and 'column', and all rows of
  /// this warp exist.
  void storeBoxes(llvm::ArrayRef<Row> rows, const KernelContext::BoundMap &map, Int row, Int column);

private:
  KernelContext &k;
  Emitter &e;
  const mlir::Type element;
  Int ofWarp;      // where the memory of this warp begins
  Int chunks; // where the row of a matrix is stored whose address this thread provides
  Int runs;   // where this thread's first run is
};
} // namespace logitile::cuda
