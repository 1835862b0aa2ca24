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
/// A tile as this thread sees it: the values of the thread's elements, or functions that read
/// elements. A tile that is held has both.
struct Tile {
  TileType type;
  CodeBuilder::Values values;                  // of the thread's elements, row slot by row slot
  std::function<mlir::Value(Int, Int)> read;   // (row, column)
  /// Reads 'run' columns at once. The first column must be a multiple of 'run'.
  std::function<CodeBuilder::Values(Int, Int)> readRun = {};
  int64_t run = 1;
  /// Each thread has the value of one line: of row Threads::line, or of the column with the
  /// thread's number. The kernel's other tiles are cut into fragments.
  bool isOwned = false;
  LoadOp source = {};                          // set: the tile was not loaded, because its only use is a store that copies from view to view
};

/// This block's part in a pair of blocks that share an operand. If the other block has no task, or
/// an operand of either block cannot be copied as boxes, they share nothing: both are alone.
struct Pair {
  Int rank;             // 0 or 1
  mlir::Value isShared; // i1: whether the two are not alone
  mlir::Value blocks;   // i16, a bit for each block that gets what this one copies of the shared operand
  mlir::Value reader;   // i32: where the mbarriers of the other block are; of this block if it is alone
};

class KernelContext;

// ---- families of ops ----------------------------------------------------------------------------
mlir::LogicalResult convertLoad(KernelContext &k, LoadOp op);                     // Loads.cpp
mlir::LogicalResult convertStore(KernelContext &k, StoreOp op);                   // Stores.cpp
mlir::LogicalResult convertGather(KernelContext &k, LoadGatherOp op);             // Loads.cpp
mlir::LogicalResult convertMap(KernelContext &k, MapOp op);                       // Elementwise.cpp
mlir::LogicalResult convertUpdateState(KernelContext &k, UpdateStateOp op);       // RowState.cpp
mlir::LogicalResult convertProject(KernelContext &k, ProjectOp op);               // Contractions.cpp
mlir::LogicalResult convertContract(KernelContext &k, ContractOp op);             // Contractions.cpp
/// Before the loop that 'op' is in: requests the boxes of the first tile that 'op' computes.
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
  /// 'workspace': the buffers that are in the workspace, not in the caller's memory.
  KernelContext(KernelOp kernel, Emitter &emitter, const Sharing &sharing, const Pipeline &pipeline, const Buffers &workspace)
      : KernelTiles(kernel, emitter), threads(emitter, sharing), stages(pipeline.stages), prefetching(pipeline.prefetching),
        workspace(workspace), first(pipeline.first), afterRing(pipeline.bytes), allocated(pipeline.bytes) {}

  Threads threads;
  const int64_t stages; // of a pipeline; 0: of none
  const ProjectOp prefetching;

  /// After the arguments that the ops of the kernel know, the function takes two more for each of
  /// 'maps' (KernelPlan).
  mlir::LogicalResult bindArguments(mlir::LLVM::LLVMFuncOp function, llvm::ArrayRef<TensorMap> maps);
  /// The tensor map of an operand, and the column of its view at which the map begins. If this
  /// launch has no such map, that column is larger than any column.
  struct BoundMap {
    mlir::Value map;
    Int firstColumn;
    mlir::Value isThere() const { return isLess(firstColumn, int64_t(1) << 32); } // i1
  };
  BoundMap mapOf(mlir::Operation *product, bool isRight) const { return findMap(tensorMapOf(product, isRight)); }
  /// The map of a store; none if the store does not write boxes.
  std::optional<BoundMap> mapOf(StoreOp store) const;
  /// Waits until the boxes that this thread stores have been read from shared memory, so that the
  /// memory can be used again.
  void finishStores();
  /// The position in the ring of stages to which the next block is copied as boxes
  /// (Products/BoxCopies.h). Only in kernels with maps of operands.
  std::optional<Place> boxPosition;
  /// The number of this warp, as a value that the assembler knows to be the same in all its
  /// threads. Only in kernels of warpgroups.
  std::optional<Int> warp;
  /// Whether warpgroups multiply: only then are there maps.
  bool isOfWarpgroups() const { return warp.has_value(); }
  static constexpr int64_t kMbarrierBytes = 8;
  /// The two mbarriers of a stage. Threads wait at 'arrival' until the stage's block is there. The
  /// thread that copies waits at 'departure' until all warps have read it.
  Place arrival(Int slot) { return e.shared(slot * kMbarrierBytes, e.i64); }
  Place departure(Int slot) { return arrival(slot + stages); }
  /// The most tokens that the launch may have. Fewer of them may count.
  std::optional<Int> mostTokens;
  /// Whether (i1) maps may be used for the rows before 'last' of an operand that ends with the
  /// tokens, at 'end'. Maps include all tokens that the launch may have. Rows after the tokens that
  /// count have not been written.
  mlir::Value haveTokens(Int last, Int end);
  /// Only in kernels in which pairs of blocks share operands.
  std::optional<Pair> pair;
  /// Whether no warp needs what another one leaves in shared memory, other than operands of
  /// products: then warps do not wait for each other between products.
  bool areWarpsApart() const;

  // ---- tiles ------------------------------------------------------------------------------------
  int64_t rowSlots(TileType type) const { return type.getExtent(0) == 1 ? 1 : turnRows ? turnRows : threads.sharing.rowSlots(); }
  int64_t columnSlots(TileType type) const { return type.getExtent(1) == 1 ? 1 : threads.sharing.columnSlots(); }
  /// The element at these slots of the thread. A tile with one row or one column has the same
  /// element at all slots along that dimension.
  mlir::Value element(const Tile &tile, int64_t rowSlot, int64_t columnSlot);
  /// All elements of one row slot, read at once where they are neighbours in memory.
  CodeBuilder::Values elementsOf(const Tile &tile, int64_t rowSlot);
  /// The number of columns that one load or store of 'view' may have, for a tile that begins at
  /// column 'first'. In the workspace, rows begin at multiples of kVectorBytes and are padded.
  /// Elsewhere, rows may begin anywhere.
  int64_t runOf(const View &view, mlir::Value first) const;
  /// The same for the caller's memory if isAligned() holds. It is 1 if a longer run might reach
  /// beyond the end of a row.
  int64_t runIfAligned(const View &view, mlir::Value first) const;
  /// Whether 'view' is in the workspace and has such padded rows.
  bool isPadded(const View &view) const;
  /// Whether (i1) all rows of 'view' begin at multiples of 'bytes', and the elements of a row are
  /// neighbours in memory.
  mlir::Value isAligned(const View &view, int64_t bytes);
  /// Where a run of columns begins.
  Place placeOfRun(const View &view, Int row, Int column) { return e.at(view.base, row * view.stride0 + column); }
  /// Calls 'visit' with each column slot of this thread and with its place in a row of 'view', for
  /// a tile that begins at column 'first'. Each address is computed from the one before, so few
  /// addresses take registers at the same time. For columns from 'end' on, the place is that of the
  /// tile's first column.
  void walkRow(const View &view, Int row, Int first, int64_t slots, std::optional<Int> end,
               llvm::function_ref<void(int64_t slot, Place place)> visit);
  /// From here to leaveTurn, the thread's row slots are only those of a turn (RowLoop.h): 'rows' of
  /// them, starting at 'first'.
  void enterTurn(Int first, int64_t rows) { threads.shiftRows(first), turnRows = rows; }
  void leaveTurn() { enterTurn(e.integer(0), 0); }
  /// Whether a tile of this type has one column, of which each thread has one value: that of row
  /// Threads::line.
  bool isOwned(TileType type) const;

  /// Whether the values of this op's rows were read before the loop that the op is in.
  bool isHeld(mlir::Operation *load) const { return llvm::is_contained(held, load); }
  /// The rows of vector 'view' from 'row' on, if they were read so; else null.
  const Tile *findHeld(mlir::Value view, mlir::Value row) const;

  // ---- views ------------------------------------------------------------------------------------
  /// Fails with an error at 'op' if a view is not strided.
  mlir::LogicalResult checkLayout(mlir::Operation *op, const View &view) const;
  /// The number of entries in dimension 'dim' of 'view'; a dimension of '?' ends with the tokens of
  /// the launch.
  mlir::FailureOr<Int> end(mlir::Operation *op, const View &view, unsigned dim);
  /// Whether a tile of 'count' entries that begins at 'first' may reach past the end of the view.
  bool mayClip(const View &view, unsigned dim, mlir::Value first, int64_t count) const;
  /// Calls 'body' once; or twice if columns may be clipped: for whole tiles, and for the tile at
  /// the end. Returns the values of 'body', which have 'types'.
  CodeBuilder::Values splitTail(bool mayClip, Int first, int64_t count, Int end, mlir::TypeRange types,
                                llvm::function_ref<CodeBuilder::Values(bool isTail)> body);

  /// Memory from which threads read elements at each use. Threads whose entries are past the end
  /// read an entry of another thread there.
  llvm::SmallDenseSet<mlir::StringAttr> readPastEnds;

  // ---- shared memory ----------------------------------------------------------------------------
  /// The start of the memory that pipelines, row states and sums use one after the other. Each use
  /// begins with a barrier, so that the use before it has ended; in kernels whose warps are apart,
  /// with one of the warp.
  Int ring() { return e.integer(first); }
  /// The start of memory for an op that needs 'bytes' of it. If stages may be filled between two
  /// products, that memory comes after the stages; else it is the stages' own memory.
  Int scratch(int64_t bytes);
  int64_t sharedBytes() const { return allocated; }

private:
  using KernelTiles::convert;
  mlir::Value isAnySet(const View &flags, Int first, Int count, int64_t most) override;
  mlir::LogicalResult convert(mlir::scf::ForallOp op) override;
  mlir::LogicalResult convert(mlir::scf::ForOp op) override;
  int64_t regionLanes() const override { return 0; }
  void startRow(mlir::Value row, mlir::Value value) override;
  mlir::LogicalResult holdRows(mlir::scf::ForOp loop);
  mlir::LogicalResult convertMerging(mlir::scf::ForOp loop, MapOp merge);
  CodeBuilder::Values joinParts(mlir::scf::ForOp loop, MapOp merge, Int part, mlir::ValueRange mine);
  CodeBuilder::Values valuesOf(MapOp merge);
  void adopt(mlir::scf::ForOp loop, mlir::ValueRange tiles, mlir::ValueRange values);
  mlir::FailureOr<CodeBuilder::Values> startOf(mlir::scf::ForOp loop);

  int64_t longestRun(const View &view, mlir::Value first) const;
  /// Binds the variables of 'forall', which has two axes, for task number 'task'. Tasks are in
  /// groups of 'rows' steps of the first axis. Each group goes through the whole second axis. A
  /// task has 'together' steps of the first axis. Returns whether there is such a task.
  mlir::Value bindInGroups(mlir::scf::ForallOp forall, int64_t rows, int64_t together, Int task);

  BoundMap findMap(const TensorMap &map) const;
  void prepareBoxes();
  /// Sets up 'pair' for a task of two blocks, and returns whether this block has a task. Before,
  /// the variables are bound as for block 0. Fails with an error if the blocks would not share
  /// right operands.
  mlir::FailureOr<mlir::Value> bindPair(mlir::scf::ForallOp forall, mlir::Value isThere); // Pairs.cpp
  mlir::FailureOr<mlir::Value> findShared(mlir::scf::ForallOp forall);                    // Pairs.cpp

  const Buffers &workspace;
  const int64_t first, afterRing;
  int64_t allocated;
  llvm::SmallVector<std::pair<TensorMap, BoundMap>> maps;
  bool storesBoxes = false;
  llvm::SmallVector<mlir::Operation *> held;
  int64_t turnRows = 0; // 0: not in a turn
};
} // namespace logitile::cuda
