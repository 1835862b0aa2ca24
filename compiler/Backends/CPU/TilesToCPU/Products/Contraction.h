// Contraction.h - shared by project and contract: blocks of the shared axis, and a tile cut into
// blocks of rows and panels.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"

namespace logitile::cpu {
/// The left operand of one block as microkernels read it: element (row, k) in units of one f32 or
/// of a pair of bf16.
struct LeftBlock {
  Place base;
  Int stride;  // from row to row
  bool kMajor; // the rows that a microkernel takes lie step by step, in the memory that row by row they would take
};

/// Memory that the next block will read: 'rows' of 'bytes' each.
struct NextRows {
  Place first;
  Int stride; // from row to row, in elements
  Int rows, bytes;
};

class Contraction {
public:
  /// With `pairs`, operands are bf16 and two steps of the shared axis are one. `sizes`: the numbers
  /// of lines that the tile can have, empty where tokens are its lines.
  Contraction(KernelContext &k, Algorithm algorithm, bool pairs, const Tile &tile, llvm::ArrayRef<int64_t> sizes)
      : k(k), e(k.e), algorithm(algorithm), pairs(pairs), tile(tile), sizes(sizes) {}

  /// A step of the shared axis holds this many elements of each operand.
  int64_t together() const { return pairs ? 2 : 1; }
  mlir::Type unit() const { return pairs ? e.i32 : e.f32; }
  /// Lines of a block that is copied, in scratch.
  LeftBlock allocateLeft(int64_t lines, int64_t length, bool kMajor);
  /// Copies the lines of a kMajor block: elements of type 'from' that are neighbours, 'stride' of
  /// them from step to step.
  void packLeft(const LeftBlock &left, Place from, Int stride, Int count);
  /// Adds the product of one block to the tile, or starts it. `right` gives the panel of the right
  /// operand. Meanwhile `next` is brought to the cache of this core.
  void multiply(const LeftBlock &left, llvm::function_ref<Place(Int)> right, Int depth, mlir::Value accumulate,
                llvm::ArrayRef<NextRows> next = {});

  KernelContext &k;
  Emitter &e;
  const Algorithm algorithm; // panels, or amx_tiles
  const bool pairs;
  const Tile tile;

  /// Refuses an op that is 'using' amx_tiles where the target has none, or operands are no pairs of
  /// bf16.
  static mlir::LogicalResult checkAmxTiles(mlir::Operation *op, KernelContext &k, mlir::Type operand);

private:
  using Block = llvm::function_ref<void(Int line, int64_t lines)>;
  using Panels = llvm::function_ref<Place(Int)>;
  void multiplyPanels(const LeftBlock &left, Panels right, Int depth, mlir::Value accumulate, llvm::ArrayRef<NextRows> next);
  void multiplyTiles(const LeftBlock &left, Panels right, Int depth, mlir::Value accumulate, llvm::ArrayRef<NextRows> next);
  void fetch(const NextRows &next, Int done, Int more, Int all);
  void repeat(Int first, Int count, int64_t lines, Block block);
  void cutKnown(int64_t lines, Block block);
  void cutAny(Int lines, Block block);
  void cut(Block block);

  llvm::ArrayRef<int64_t> sizes;
};
} // namespace logitile::cpu
