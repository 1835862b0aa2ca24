// Sharing.h - the assignment of a kernel's tile elements to the threads of a block. The ops decide
// where tiles are stored.
#pragma once
#include "compiler/Backends/NVPTX/GPU.h"
#include "dialect/Logitile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace logitile::cuda {
inline constexpr int64_t kWarp = 32, kWarpgroup = 4 * kWarp;
inline constexpr int64_t kBlocksOfPair = 2;
/// Of a tile: the rows of a warpgroup's products, and the most columns.
inline constexpr int64_t kWarpgroupRows = 64, kMostWarpgroupColumns = 256;
/// Bytes of the widest load or store of a thread. Rows of the workspace begin at multiples of it.
inline constexpr int64_t kVectorBytes = 16;
/// Tokens that a lane looks at together, where a warp looks for those that name a row of the tile.
inline constexpr int64_t kLooks = 16;
/// Flags of tokens that a thread looks at in each turn of a loop.
inline constexpr int64_t kFlagsOfTurn = 8;
/// How a tile of rows x columns is shared out. Tiles of two dimensions are cut as the results of
/// tensor cores are: each warp has a block of 16 x 8 fragments, each thread of it rows g and g + 8
/// and columns 2 q and 2 q + 1 of every fragment, where its lane is 4 g + q. Where warpgroups
/// multiply, each of their warps has 16 rows with all columns. Kernels without products are free to
/// give each thread more neighbours, which it reads at once: columns 8 q to 8 q + 7 of 32. In
/// kernels without tiles of two dimensions, each thread has one row, or one column. Where a loop
/// merges many row states, 'parts' threads share a row: each merges some of them. Thread t has row
/// t % rows, and of the rest of the kernel what the first of them makes is stored.
struct Sharing {
  /// By the tiles of 'kernel' and the registers of 'gpu'. Fails with an error where it has tiles of
  /// several sizes, or of sizes that cannot be cut.
  static mlir::FailureOr<Sharing> get(KernelOp kernel, const GpuInfo &gpu);

  int64_t rows = 1, columns = 1;         // of the tile that is shared out
  int64_t warpRows = 1, warpColumns = 1; // warps along each side
  int64_t threads = 1, parts = 1;
  int64_t neighbours = 2;                // columns beside each other that a thread has
  bool isFragments = false;

  /// Rows and columns of a warp's block.
  int64_t blockRows() const { return rows / warpRows; }
  int64_t blockColumns() const { return columns / warpColumns; }
  /// Elements of a thread along each side.
  int64_t rowSlots() const { return isFragments ? blockRows() / 8 : 1; }
  int64_t columnSlots() const { return isFragments ? blockColumns() / 4 : 1; }
};

/// How a product multiplies; null for other ops.
std::optional<Algorithm> algorithmOf(mlir::Operation *op);
/// Whether it is a product of warpgroups.
bool isOfWarpgroups(mlir::Operation *op);
/// Thread blocks that share the right operand of such a product: 2 where it is one of pairs, else
/// 1. Those of a kernel make neighbouring steps of the first axis of its grid.
int64_t blocksTogether(Algorithm algorithm);
int64_t blocksTogether(KernelOp kernel);

/// The map of a loop that does nothing but merge row states from memory into those it carries, one
/// in each turn, from the empty state on; null for any other loop.
MapOp mergeOf(mlir::scf::ForOp loop);

/// Whether the only use of a loaded tile is to be stored: then it goes from view to view.
bool isCopied(LoadOp load);
} // namespace logitile::cuda
