// RowLoop.h - a loop over a thread's rows of a tile, a few rows at a time. The ops decide what
// happens to the rows.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"

namespace logitile::cuda {
/// Goes through the rows of a thread in turns. A turn handles two rows, or one row if the region
/// has many ops. The code of a turn exists once, in a loop, unless 'unroll' was called. A turn
/// needs the values of its own rows only, but registers cannot be indexed by the loop's counter. So
/// the values of a tile are arguments of the loop and rotate through them. Each turn reads the
/// values at the front. At the end it appends the values that it computed, or the values that it
/// read if it did not change them.
class RowLoop {
public:
  explicit RowLoop(KernelContext &k) : k(k) {}

  /// Turns read 'tile'. 'isDead': nothing reads the tile after the loop, so its values may be
  /// replaced by values that turns compute.
  void take(const Tile &tile, bool isDead = false) { tiles.push_back(tile), dead.push_back(isDead); }
  /// Each turn appends the values of its rows to 'results'. After the loop, the result has the
  /// values of all rows.
  void make(TileType type);
  /// Turns evaluate 'region' for each element: its size decides how many rows a turn handles.
  void compute(mlir::Region &region);
  /// Each turn gets code of its own. The values of a tile then stay where they are. A loop moves
  /// all of them in each turn, which takes longer than little other code does.
  void unroll() { isUnrolled = true; }
  /// Turns may change 'carried'.
  void carry(mlir::ValueRange values) { carried.assign(values.begin(), values.end()); }

  /// Emits all turns. In 'body' the context's row slots are those of one turn.
  void run(llvm::function_ref<void()> body);

  /// The tiles that turns read. In a turn, each has the values of the turn's rows. After the loop,
  /// the tiles that no result replaced have the values that the loop returned.
  llvm::SmallVector<Tile> tiles;
  llvm::SmallVector<CodeBuilder::Values> results;
  CodeBuilder::Values carried;

private:
  /// Values that rotate through the loop's arguments.
  struct Ring {
    int64_t tile = -1, result = -1; // the tile, and the result, whose values these are; -1: none
    CodeBuilder::Values values;
  };
  void formRings();
  void turn(llvm::MutableArrayRef<Ring> rings, int64_t turns, llvm::function_ref<void()> body);
  void giveBack();

  KernelContext &k;
  llvm::SmallVector<bool> dead;
  llvm::SmallVector<TileType> types; // of the results
  bool isUnrolled = false;
  int64_t rowsOfTurn = 2;            // rows g and g + 8, as in a fragment of a tensor core
  llvm::SmallVector<Ring> rings;
};

/// The rows of one turn of a RowLoop, as lines of a block of shared memory: those of a warp are
/// neighbours.
class TurnLines {
public:
  static constexpr int64_t kMostSlots = 2, kRowsOfFragment = 8;
  /// To be constructed in the body of a turn.
  explicit TurnLines(KernelContext &k);
  /// The most lines that any turn has: the size of shared memory that has a slot for each line.
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
bool hasMuchFunctionCode(mlir::Region &region);

/// Whether no op after 'op' uses 'value'.
bool isLastUse(mlir::Value value, mlir::Operation *op);

/// The operands of an op that its RowLoop passes through unchanged and that later ops use too.
/// After the loop, later ops use the values that the loop returns, not the values from before the
/// loop. If they used the earlier values, both copies would take registers.
class PassedTiles {
public:
  PassedTiles(KernelContext &k, mlir::Operation *op, mlir::ValueRange operands);
  /// The values of all these operands, one operand after the other, as 'loop' returned them. 'loop'
  /// has taken the operands in the same order.
  CodeBuilder::Values valuesOf(const RowLoop &loop) const;
  /// Makes 'passed', in the order of 'valuesOf', the values of these operands.
  void set(mlir::ValueRange passed) const;
  llvm::SmallVector<mlir::Type> types() const;

private:
  KernelContext &k;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<size_t> places; // the positions of these tiles among the op's operands
};
} // namespace logitile::cuda
