// RowLoop.h - a loop over a thread's rows of a tile, a few rows at a time. The ops decide what
// happens to the rows.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"

namespace logitile::cuda {
/// Goes through the rows of a thread in turns of two, or of one where a row has much code. The code
/// of a turn is there once, in a loop, and only the values of its own rows are computed with at a
/// time. Registers cannot be indexed, so the values of a tile go round as the arguments of the
/// loop: each turn takes those at the front, and appends the values that it computed, or that it
/// took unchanged, at the end.
class RowLoop {
public:
  explicit RowLoop(KernelContext &k) : k(k) {}

  /// Turns read 'tile'. If it 'isDead' afterwards, the values that turns make may take the place of
  /// its own.
  void take(const Tile &tile, bool isDead = false) { tiles.push_back(tile), dead.push_back(isDead); }
  /// Turns append the values of their rows to 'results', which in the end has those of all rows.
  void make(TileType type);
  /// Turns do for each element what is in 'region'.
  void compute(mlir::Region &region);
  /// Turns may change 'carried'.
  void carry(mlir::ValueRange values) { carried.assign(values.begin(), values.end()); }

  /// Emits all turns. In 'body' the context's row slots are those of one turn.
  void run(llvm::function_ref<void()> body);

  llvm::SmallVector<Tile> tiles;                // in a turn: with the values of its rows; afterwards those that went round unchanged
  llvm::SmallVector<CodeBuilder::Values> results;
  CodeBuilder::Values carried;

private:
  /// Values that go round.
  struct Ring {
    int64_t tile = -1, result = -1; // whose they are; -1: nobody's
    CodeBuilder::Values values;
  };
  void formRings();
  void turn(llvm::MutableArrayRef<Ring> rings, int64_t turns, llvm::function_ref<void()> body);

  KernelContext &k;
  llvm::SmallVector<bool> dead;
  llvm::SmallVector<TileType> types; // of the results
  int64_t rowsOfTurn = 2;            // g and g + 8: what a fragment has
  llvm::SmallVector<Ring> rings;
};

/// The rows of one turn of a RowLoop, as lines of a block of shared memory: those of a warp are
/// neighbours.
class TurnLines {
public:
  static constexpr int64_t kMostSlots = 2, kRowsOfFragment = 8;
  /// In a turn.
  explicit TurnLines(KernelContext &k);
  /// What shared memory for 'columns' values of each line of any turn has to hold.
  static int64_t most(const Sharing &sharing) { return sharing.warpRows * kMostSlots * kRowsOfFragment; }
  int64_t count() const { return k.threads.sharing.warpRows * slots * kRowsOfFragment; }
  int64_t countSlots() const { return slots; }
  /// The line of a slot of this thread.
  Int ofSlot(int64_t slot) const { return (k.threads.warpRow * slots + slot) * kRowsOfFragment + k.threads.group; }
  /// The row of the tile that a line is of.
  Int rowOf(Int line) const;

private:
  KernelContext &k;
  int64_t slots;
};

/// Whether a region has so much code that its columns, like its rows, share it in a loop: code for
/// each of them would take longer to make, and would no longer fit the instruction cache.
bool isLong(mlir::Region &region);
/// Whether functions of a region take a hundred instructions or more for each element. Beside them
/// another comparison takes little time.
bool isMostlyFunctions(mlir::Region &region);

/// Whether no op behind 'op' uses 'value'.
bool isLastUse(mlir::Value value, mlir::Operation *op);

/// Operands of an op whose values go round in its loop and are used again behind it. From there on
/// they are what the loop gave back: else both would take registers.
class PassedTiles {
public:
  PassedTiles(KernelContext &k, mlir::Operation *op, mlir::ValueRange operands);
  /// After the loop that took the operands, in this order: the values of all passed ones.
  CodeBuilder::Values valuesOf(const RowLoop &loop) const;
  /// Values of this kind are theirs.
  void set(mlir::ValueRange passed) const;
  llvm::SmallVector<mlir::Type> types() const;

private:
  KernelContext &k;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<size_t> places; // of those that are passed, among the operands
};
} // namespace logitile::cuda
