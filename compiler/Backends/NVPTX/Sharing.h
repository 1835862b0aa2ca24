// Sharing.h - the assignment of a kernel's tile elements to the threads of a block. The ops decide
// where tiles are stored.
#pragma once
#include "compiler/Backends/NVPTX/GPU.h"
#include "dialect/Logitile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace logitile::cuda {
inline constexpr int64_t kWarp = 32, kWarpgroup = 4 * kWarp;
inline constexpr int64_t kBlocksOfPair = 2;
/// A float32 number is the sum of so many bf16 numbers, its planes.
inline constexpr int64_t kPlanes = 3;
/// The rows of the tile that a warpgroup multiplies, and the most columns that it may have.
inline constexpr int64_t kWarpgroupRows = 64, kMostWarpgroupColumns = 256;
/// Bytes of the widest load or store of a thread. Rows of the workspace begin at multiples of it.
inline constexpr int64_t kVectorBytes = 16;
/// How many tokens a lane checks at a time when a warp searches for tokens whose index is a row of
/// the tile.
inline constexpr int64_t kLooks = 16;
/// How many flags of tokens a thread checks in one iteration of a loop.
inline constexpr int64_t kFlagsOfTurn = 8;
/// Which threads have which elements of a tile of rows x columns:
/// * Tiles with two dimensions are cut as the results of tensor cores are. Each warp has a block of
///   16 x 8 fragments. The thread of lane 4 g + q has rows g and g + 8 and columns 2 q and 2 q + 1 of
///   every fragment.
/// * In products of warpgroups, each warp has 16 rows with all columns.
/// * In kernels without products, a thread may have more neighbouring columns, which it reads at
///   once: columns 8 q to 8 q + 7 of every 32.
/// * In kernels whose tiles have only one dimension, each thread has one row, or one column.
/// * If a loop merges many row states, 'parts' threads share a row. Each of them merges a part of
///   the row's states. Thread t has row t % rows. In the rest of the kernel these threads compute
///   the same, and only the first of them stores results.
struct Sharing {
  /// Derives the sharing from the tiles of 'kernel' and the registers of 'gpu'. Fails with an error
  /// if the kernel has tiles of several sizes, or of a size that cannot be cut in this way.
  static mlir::FailureOr<Sharing> get(KernelOp kernel, const GpuInfo &gpu);

  int64_t rows = 1, columns = 1;         // of the tile
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
  /// Whether a warp has all columns of its rows. Then its lanes have the states of these rows: lane
  /// l that of row l. Otherwise thread t has that of row t of the tile.
  bool haveWarpsStates() const { return isFragments && warpColumns == 1 && blockRows() <= kWarp; }
};

/// The most sums of products of a thread, in a kernel that holds so many tiles at a time.
int64_t sumsOfThread(int64_t tiles, bool drawsRandomNumbers, const GpuInfo &gpu);
/// The algorithm of a product; none for other ops.
std::optional<Algorithm> algorithmOf(mlir::Operation *op);
/// Whether 'op' is a product of warpgroups.
bool isOfWarpgroups(mlir::Operation *op);
/// Whether 'kernel' has such a product.
bool hasWarpgroups(KernelOp kernel);
/// Thread blocks that share the right operand of a product of warpgroups: 2 where it is one of
/// pairs, else 1. Those of a kernel make neighbouring steps of the first axis of its grid.
int64_t blocksTogether(Algorithm algorithm);
int64_t blocksTogether(KernelOp kernel);

/// Whether 'op' is a product whose operands are f32, which threads split into planes.
bool isOfPlanes(mlir::Operation *op);
/// The planes in shared memory of a block of 'depth' steps, for operands that have 'entries' in a
/// tile together. Kernels hold those of two blocks: one is multiplied while the other is made.
int64_t bytesOfPlanes(int64_t entries, int64_t depth);
inline constexpr int64_t kBlocksOfPlanes = 2;

/// Whether 'loop' has turns only if one of its tokens has a flag, as hardly any token has.
bool isForFlaggedTokens(mlir::scf::ForOp loop);

/// If 'loop' only merges row states from memory into the states that it carries, one in each
/// iteration, starting from the empty state: the map that merges. Null for any other loop.
MapOp mergeOf(mlir::scf::ForOp loop);

/// Whether a store is the only use of the loaded tile. Then the tile is copied from view to view.
bool isCopied(LoadOp load);
} // namespace logitile::cuda
