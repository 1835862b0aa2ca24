// KernelContext.h - the state of one kernel while it becomes the code of a GPU thread: this
// thread's part of each tile. Each family of ops has its own file that uses this context.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Pipeline.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/TensorMaps.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Threads.h"
#include "compiler/Conversion/Tiles/KernelTiles.h"
#include "dialect/checks/Workspace.h"
#include <functional>

namespace logitile::cuda {
/// A tile as this thread sees it: values of its own, or how to get an element.
struct Tile {
  TileType type;
  CodeBuilder::Values values;                  // of the thread's elements, row slot by row slot
  std::function<mlir::Value(Int, Int)> read;   // (row, column): set where there are no values
  /// The same for 'run' columns at once, from a multiple of it on.
  std::function<CodeBuilder::Values(Int, Int)> readRun = {};
  int64_t run = 1;
  /// The values are those of line `thread`, one for each thread, in a kernel whose other tiles are
  /// fragments.
  bool isOwned = false;
  LoadOp source = {};                          // set: nothing was loaded; the one store copies from view to view
};

/// This block of a pair, in a kernel with such products. Where the other one has no task, or an
/// operand of either is not copied as boxes, both are alone.
struct Pair {
  Int rank;             // 0 or 1
  mlir::Value isShared; // i1: whether the two are not alone
  mlir::Value blocks;   // i16, a bit for each block that gets what this one copies of the shared operand
  mlir::Value reader;   // i32, in the shared memory of the other one that reads: its mbarriers. Alone, it is this block
};

class KernelContext;

// ---- families of ops ----------------------------------------------------------------------------
mlir::LogicalResult convertLoad(KernelContext &k, LoadOp op);                     // Copies.cpp
mlir::LogicalResult convertStore(KernelContext &k, StoreOp op);                   // Copies.cpp
mlir::LogicalResult convertGather(KernelContext &k, LoadGatherOp op);             // Copies.cpp
mlir::LogicalResult convertMap(KernelContext &k, MapOp op);                       // Elementwise.cpp
mlir::LogicalResult convertUpdateState(KernelContext &k, UpdateStateOp op);       // RowState.cpp
mlir::LogicalResult convertProject(KernelContext &k, ProjectOp op);               // Contractions.cpp
mlir::LogicalResult convertContract(KernelContext &k, ContractOp op);             // Contractions.cpp
/// Asks for boxes of the tile that 'op' makes first, before the loop that it is in.
mlir::LogicalResult startTiles(KernelContext &k, ProjectOp op);                   // Contractions.cpp
mlir::LogicalResult convertContractSparse(KernelContext &k, ContractSparseOp op); // Sparse/Terms.cpp
mlir::LogicalResult convertSparseTerms(KernelContext &k, SparseTermsOp op);       // Sparse/Terms.cpp
mlir::LogicalResult convertSumRows(KernelContext &k, SumRowsOp op);               // Sums.cpp
mlir::LogicalResult convertSumTokens(KernelContext &k, SumTokensOp op);           // Sums.cpp
mlir::LogicalResult convertUpdateLists(KernelContext &k, UpdateListsOp op);       // Sparse/Lists.cpp
mlir::LogicalResult convertFinishList(KernelContext &k, FinishListOp op);         // Sparse/Lists.cpp
mlir::LogicalResult convertPickEntries(KernelContext &k, PickEntriesOp op);       // Sparse/Places.cpp
mlir::LogicalResult convertFinishPlaces(KernelContext &k, FinishPlacesOp op);     // Sparse/Places.cpp
mlir::LogicalResult convertScatterTerms(KernelContext &k, ScatterTermsOp op);     // Sparse/Places.cpp

class KernelContext : public KernelTiles<KernelContext, Emitter, Tile> {
public:
  /// The buffers 'workspace' are ours.
  KernelContext(KernelOp kernel, Emitter &emitter, const Sharing &sharing, const Pipeline &pipeline, const Buffers &workspace)
      : KernelTiles(kernel, emitter), threads(emitter, sharing), stages(pipeline.stages), prefetching(pipeline.prefetching),
        workspace(workspace), first(pipeline.first), behindRing(pipeline.bytes), allocated(pipeline.bytes) {}

  Threads threads;
  const int64_t stages; // of a pipeline
  const ProjectOp prefetching;

  /// Behind what the ops of the kernel know, the function takes two arguments for each of 'maps'
  /// (KernelPlan).
  mlir::LogicalResult bindArguments(mlir::LLVM::LLVMFuncOp function, llvm::ArrayRef<TensorMap> maps);
  /// The tensor map of an operand, and the column of its view with which it begins; beyond all
  /// columns where this launch has none.
  struct BoundMap {
    mlir::Value map;
    Int firstColumn;
    mlir::Value isThere() const { return isLess(firstColumn, int64_t(1) << 32); } // i1
  };
  BoundMap mapOf(mlir::Operation *product, bool isRight) const { return findMap(tensorMapOf(product, isRight)); }
  /// That of a store; none where it does not write boxes.
  std::optional<BoundMap> mapOf(StoreOp store) const;
  /// Waits for boxes that this thread writes from shared memory, before that is used again.
  void finishStores();
  /// Where the next block that is copied as boxes goes, and the mbarriers of a stage: for threads
  /// that wait for its block, and for who copies the next one there (Products/BoxCopies.h). Only in
  /// kernels with maps.
  std::optional<Place> boxPosition;
  /// The number of this warp, which its threads have agreed upon. Only in kernels with maps.
  std::optional<Int> warp;
  /// Whether warpgroups multiply: only then are there maps.
  bool isOfWarpgroups() const { return warp.has_value(); }
  static constexpr int64_t kMbarrierBytes = 8;
  Place arrival(Int slot) { return e.shared(slot * kMbarrierBytes, e.i64); }
  Place departure(Int slot) { return arrival(slot + stages); }
  /// How many tokens the launch has at most, of which only some may count.
  std::optional<Int> mostTokens;
  /// Whether maps may be used for rows before 'last' of an operand that ends with the tokens, 'end'
  /// (i1). They are for all tokens that the launch may have: behind those that count there are
  /// others, which nobody has written.
  mlir::Value haveTokens(Int last, Int end);
  /// In kernels whose products are of pairs of blocks.
  std::optional<Pair> pair;

  // ---- tiles ------------------------------------------------------------------------------------
  int64_t rowSlots(TileType type) const { return type.getExtent(0) == 1 ? 1 : turnRows ? turnRows : threads.sharing.rowSlots(); }
  int64_t columnSlots(TileType type) const { return type.getExtent(1) == 1 ? 1 : threads.sharing.columnSlots(); }
  /// The element of a thread's slots; tiles with one row or column repeat it.
  mlir::Value element(const Tile &tile, int64_t rowSlot, int64_t columnSlot);
  /// All elements of one row slot, read at once where they are neighbours in memory.
  CodeBuilder::Values elementsOf(const Tile &tile, int64_t rowSlot);
  /// Columns of a thread that one load or store of 'view' has, for a tile from column 'first' on.
  /// In the workspace rows begin at multiples of kVectorBytes, and are padded to them; elsewhere a
  /// row may begin anywhere.
  int64_t runOf(const View &view, mlir::Value first) const;
  /// The same for the caller's memory where isAligned() holds: 1 where a run might reach behind the
  /// end of a row.
  int64_t runIfAligned(const View &view, mlir::Value first) const;
  /// Whether 'view' is memory of the workspace with such rows.
  bool isPadded(const View &view) const;
  /// Whether all rows of 'view' begin at multiples of 'bytes', and neighbours lie side by side.
  mlir::Value isAligned(const View &view, int64_t bytes);
  /// Where a run begins.
  Place placeOfRun(const View &view, Int row, Int column) { return e.at(view.base, row * view.stride0 + column); }
  /// Calls 'visit' with each column slot of this thread and its place in a row of 'view', of a tile
  /// from column 'first' on. Each address follows from the one before: few of them lie in registers
  /// at a time. Columns from 'end' on have the tile's first place.
  void walkRow(const View &view, Int row, Int first, int64_t slots, std::optional<Int> end,
               llvm::function_ref<void(int64_t slot, Place place)> visit);
  /// The row slots are 'rows' of those of the thread, from 'first' on (RowLoop.h), until the turn
  /// ends.
  void enterTurn(Int first, int64_t rows) { threads.shiftRows(first), turnRows = rows; }
  void leaveTurn() { enterTurn(e.integer(0), 0); }
  /// Whether tiles of one column are one value for each thread, the row of its number.
  bool isOwned(TileType type) const;

  // ---- how far views go -------------------------------------------------------------------------
  /// The number of entries in dimension 'dim' of 'view'; a dimension of '?' ends with the tokens of
  /// the launch.
  mlir::FailureOr<Int> end(mlir::Operation *op, const View &view, unsigned dim);
  /// Whether a tile of 'count' entries from 'first' on may reach past the end.
  bool mayClip(const View &view, unsigned dim, mlir::Value first, int64_t count) const;
  /// Calls 'body' once, or where columns may be clipped twice: for tiles that are whole and for the
  /// one at the end. Returns its values, of 'types'.
  CodeBuilder::Values splitTail(bool mayClip, Int first, int64_t count, Int end, mlir::TypeRange types,
                                llvm::function_ref<CodeBuilder::Values(bool isTail)> body);

  /// Memory whose tiles threads read where they use them, and where those past the end read an
  /// entry of another thread.
  llvm::SmallDenseSet<mlir::StringAttr> readPastEnds;

  // ---- shared memory ----------------------------------------------------------------------------
  /// Where the memory starts that pipelines, row states and sums use one after the other. Each
  /// starts with a barrier: whoever used it before is done.
  Int ring() { return e.integer(first); }
  /// The same for an op that takes so many bytes of it. Where stages are filled between two
  /// products, ops share memory behind them.
  Int scratch(int64_t bytes);
  int64_t sharedBytes() const { return allocated; }

private:
  using KernelTiles::convert;
  mlir::Value isAnySet(const View &flags, Int first, Int count, int64_t most) override;
  mlir::LogicalResult convert(mlir::scf::ForallOp op) override;
  mlir::LogicalResult convert(mlir::scf::ForOp op) override;
  int64_t regionLanes() const override { return 0; }
  void startRow(mlir::Value row, mlir::Value value) override;
  mlir::LogicalResult convertMerging(mlir::scf::ForOp loop, MapOp merge);
  CodeBuilder::Values joinParts(mlir::scf::ForOp loop, MapOp merge, Int part, mlir::ValueRange mine);
  CodeBuilder::Values valuesOf(MapOp merge);
  void adopt(mlir::scf::ForOp loop, mlir::ValueRange tiles, mlir::ValueRange values);
  mlir::FailureOr<CodeBuilder::Values> startOf(mlir::scf::ForOp loop);

  int64_t longestRun(const View &view, mlir::Value first) const;
  /// Binds the variables of 'forall', which has two axes, for task number 'task': in groups of
  /// 'rows' steps of the first axis, of which each goes through the second axis. A task has
  /// 'together' of those steps. Returns whether there is such a task.
  mlir::Value bindInGroups(mlir::scf::ForallOp forall, int64_t rows, int64_t together, Int task);

  BoundMap findMap(const TensorMap &map) const;
  void prepareBoxes();
  /// The rest of a task of pairs, whose variables are bound to those of block 0: this block, and
  /// whether it has a task. Fails with an error where the blocks would not share right operands.
  mlir::FailureOr<mlir::Value> bindPair(mlir::scf::ForallOp forall, mlir::Value isThere); // Pairs.cpp
  mlir::FailureOr<mlir::Value> findShared(mlir::scf::ForallOp forall);                    // Pairs.cpp

  const Buffers &workspace;
  const int64_t first, behindRing;
  int64_t allocated;
  llvm::SmallVector<std::pair<TensorMap, BoundMap>> maps;
  bool storesBoxes = false;
  int64_t turnRows = 0; // 0: not in a turn
};
} // namespace logitile::cuda
