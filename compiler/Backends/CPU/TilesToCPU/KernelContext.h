// KernelContext.h - the state of one kernel while it becomes a function: the addresses of its views
// and tiles. Each family of ops has its own file that uses this context.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/Helpers.h"
#include "compiler/Conversion/Tiles/KernelTiles.h"

namespace logitile::cpu {
/// 16-bit packed buffers hold pairs of the inner axis side by side.
inline bool isOfPairs(const View &view) { return Emitter::bytesOf(view.type.getElement()) == 2; }
/// The element type that contractions read from the view.
inline mlir::Type operandOf(const View &view) { return Emitter::precisionOf(view.type.getElement()); }

/// Where a tile lies while a task runs. Lanes are neighbours in memory and run along the rows
/// (tokens) or the columns.
struct Tile {
  Place base;
  Int stride; // from one line of lanes to the next
  bool lanesAlongRows;
  Int rows, columns;       // how much of the tile is in use
  bool isWhole = false;    // all rows are: the tile does not end with the tokens
  bool isBorrowed = false; // lies in memory that a load named: read only
  mlir::StringAttr window = {}; // lies in a column_major view of this memory, which another view may share
  LoadOp source = {};      // set: nothing was loaded; the one store copies from view to view

  Int lines() const { return lanesAlongRows ? columns : rows; }
  Int lanes() const { return lanesAlongRows ? rows : columns; }
};

class KernelContext;

// ---- families of ops ----------------------------------------------------------------------------
mlir::LogicalResult convertLoad(KernelContext &k, LoadOp op);                     // Copies.cpp
mlir::LogicalResult convertStore(KernelContext &k, StoreOp op);                   // Copies.cpp
mlir::LogicalResult convertGather(KernelContext &k, LoadGatherOp op);             // Copies.cpp
mlir::LogicalResult storePacked(KernelContext &k, StoreOp op, LoadOp load);       // Packing.cpp
mlir::LogicalResult convertProject(KernelContext &k, ProjectOp op);               // Project.cpp
mlir::LogicalResult convertContract(KernelContext &k, ContractOp op);             // Contract.cpp
mlir::LogicalResult convertContractSparse(KernelContext &k, ContractSparseOp op); // Sparse/Terms.cpp
mlir::LogicalResult convertSparseTerms(KernelContext &k, SparseTermsOp op);       // Sparse/Terms.cpp
mlir::LogicalResult convertSumRows(KernelContext &k, SumRowsOp op);               // Sums.cpp
mlir::LogicalResult convertSumTokens(KernelContext &k, SumTokensOp op);           // Sums.cpp
mlir::LogicalResult convertUpdateState(KernelContext &k, UpdateStateOp op);       // RowState.cpp
mlir::LogicalResult convertMap(KernelContext &k, MapOp op);                       // Elementwise.cpp
mlir::LogicalResult convertUpdateLists(KernelContext &k, UpdateListsOp op);       // Sparse/Lists.cpp
mlir::LogicalResult convertFinishList(KernelContext &k, FinishListOp op);         // Sparse/Lists.cpp
mlir::LogicalResult convertPickEntries(KernelContext &k, PickEntriesOp op);       // Sparse/Places.cpp
mlir::LogicalResult convertFinishPlaces(KernelContext &k, FinishPlacesOp op);     // Sparse/Places.cpp
mlir::LogicalResult convertScatterTerms(KernelContext &k, ScatterTermsOp op);     // Sparse/Places.cpp

class KernelContext : public KernelTiles<KernelContext, Emitter, Tile> {
public:
  KernelContext(KernelOp kernel, Emitter &emitter, Helpers &helpers) : KernelTiles(kernel, emitter), helpers(helpers) {}

  Helpers &helpers;

  /// Reads the arguments; what the kernel's body uses must be among them.
  mlir::LogicalResult bindArguments(mlir::func::FuncOp function);

  // ---- values -----------------------------------------------------------------------------------
  /// How many of 'count' entries from 'first' on lie inside dimension 'dim' of 'view'. A dimension
  /// of '?' ends with the tokens of the launch; one entry of it always exists.
  mlir::FailureOr<Int> countInside(mlir::Operation *op, const View &view, unsigned dim, mlir::Value first, int64_t count);
  void call(mlir::func::FuncOp function, mlir::ValueRange arguments) { mlir::func::CallOp::create(e, function, arguments); }
  /// Emits one step of a loop that may take long. The step is skipped if the caller has asked the
  /// kernel to stop. Then the kernel's results are meaningless.
  void unlessInterrupted(llvm::function_ref<void()> step);
  /// The same for a step that works on 'elements' elements of an axis. If there are so few elements
  /// that checking would take longer than the step, the step is emitted without the check.
  void unlessInterrupted(int64_t elements, llvm::function_ref<void()> step);
  /// Emits a step on 'elements' elements of an axis in parts. 'step' gets the first element and the
  /// number of elements of a part.
  void inBlocks(int64_t elements, llvm::function_ref<void(Int first, Int count)> step);

  // ---- scratch ----------------------------------------------------------------------------------
  /// Memory of this thread that keeps its contents during a task.
  Place allocate(mlir::Type element, int64_t count);
  int64_t scratchBytes() const { return scratch; }
  /// A tile of `rows` x `columns` in scratch.
  Tile allocateTile(TileType type, bool lanesAlongRows, Int rows, Int columns, bool isWhole);
  void copyTile(const Tile &from, const Tile &to);
  /// Calls 'body' with the first lane of every group of lanes of a tile.
  void forGroups(const Tile &tile, llvm::function_ref<void(Int)> body) { e.loop(e.integer(0), tile.lanes(), e.integer(e.lanes), body); }
  Place placeOf(const Tile &tile, Int line, Int lane) { return e.at(tile.base, line * tile.stride + lane); }
  /// Prefetches what the next group of lanes has on 'line', if the tile lies in a window. Loops go
  /// from line to line, which are far apart there, so no prefetcher of a CPU sees the next one
  /// coming.
  void fetchNextGroup(const Tile &tile, Int line, Int lane);

  // ---- where results go: InPlace.cpp ------------------------------------------------------------
  /// Memory for the tile 'result', with its lanes along tokens: the window to which the tile is
  /// stored, the loop-carried tile as which it is yielded, or scratch. A window in which elements
  /// are rounded is chosen only with `mayRound`.
  Tile choosePlace(mlir::OpResult result, Int rows, Int columns, bool isWhole, bool mayRound);
  /// The extent of a result if no operand determines it: that of the memory to which it is stored,
  /// or that of its type if it is not stored.
  mlir::FailureOr<Int> storedExtent(mlir::OpResult result, unsigned dim);
  /// A tile with the values of 'operand' that may be changed in place: the operand's own tile, or a
  /// copy if later ops read it too.
  Tile takeOver(mlir::OpOperand &operand);
  /// Whether 'store' has nothing to do because its tile was computed in the memory that it writes.
  bool isStoredInPlace(StoreOp store) { return storedInPlace.contains(store); }
  /// Whether an op after 'op' reads a tile that lies in a window of 'memory', other than the tile
  /// 'except'.
  bool readsWindowAfter(mlir::Operation *op, mlir::Value except, mlir::StringAttr memory) const;

private:
  using KernelTiles::convert;
  mlir::LogicalResult convert(mlir::scf::ForallOp op) override;
  mlir::LogicalResult convert(mlir::scf::ForOp op) override;
  int64_t regionLanes() const override { return e.lanes; }
  void startRow(mlir::Value row, mlir::Value value) override; // RowState.cpp
  mlir::LogicalResult convertStep(mlir::scf::ForOp loop, llvm::ArrayRef<Tile> carried);
  Tile adoptStart(mlir::OpOperand &start);
  std::optional<StoreOp> findWindow(mlir::OpResult result, bool mayRound);

  llvm::DenseSet<mlir::Operation *> storedInPlace;
  mlir::Value scratchPointer, checkpoint;
  int64_t scratch = 0;
};
} // namespace logitile::cpu
