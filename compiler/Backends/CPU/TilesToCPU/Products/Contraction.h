// Contraction.h - shared by project and contract: blocks of the shared axis, and a tile cut into
// blocks of rows and panels.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"

namespace logitile::cpu {
/// The left operand of one block in the layout that microkernels read. Elements are one f32, or a
/// pair of bf16.
struct LeftBlock {
  Place base;
  Int stride;  // from row to row
  /// The rows that one microkernel reads are stored step by step of the shared axis, not row by
  /// row. They take the same memory either way.
  bool kMajor;
};

/// Memory that the next block will read: 'rows' rows of 'bytes' bytes each.
struct NextRows {
  Place first;
  Int stride; // from row to row, in elements
  Int rows, bytes;
};

class Contraction {
public:
  /// With `pairs`, operands are bf16, and two neighbours on the shared axis are one element.
  /// `sizes`: the numbers of lines that the tile can have. It is empty if the lines are tokens.
  Contraction(KernelContext &k, Algorithm algorithm, bool pairs, const Tile &tile, llvm::ArrayRef<int64_t> sizes)
      : k(k), e(k.e), algorithm(algorithm), pairs(pairs), tile(tile), sizes(sizes) {}

  /// The number of entries of the shared axis that one step multiplies.
  int64_t together() const { return pairs ? 2 : 1; }
  mlir::Type unit() const { return pairs ? e.i32 : e.f32; }
  /// Scratch memory for a block of the left operand, of 'lines' lines.
  LeftBlock allocateLeft(int64_t lines, int64_t length, bool kMajor);
  /// Copies the lines of a kMajor block from 'from'. The elements of a step are neighbours there,
  /// and steps are 'stride' elements apart.
  void packLeft(const LeftBlock &left, Place from, Int stride, Int count);
  /// Adds the product of one block to the tile if 'accumulate' holds, else overwrites the tile with
  /// it. `right` returns a panel of the right operand. Meanwhile `next` is prefetched into the
  /// cache of this core.
  void multiply(const LeftBlock &left, llvm::function_ref<Place(Int)> right, Int depth, mlir::Value accumulate,
                llvm::ArrayRef<NextRows> next = {});

  KernelContext &k;
  Emitter &e;
  const Algorithm algorithm; // panels, or amx_tiles
  const bool pairs;
  const Tile tile;

  /// Fails with an error at an op that is 'using' amx_tiles if the target has no tile registers, or
  /// if the operands are not pairs of bf16.
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
