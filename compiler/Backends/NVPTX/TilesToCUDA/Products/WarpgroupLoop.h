// WarpgroupLoop.h - the product of two 16-bit operands over a shared axis by warpgroups: tensor
// cores read both operands from shared memory, and compute while threads copy. Products of single
// warps are in MainLoop.h.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/BoxCopies.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Warpgroups.h"

namespace logitile::cuda {
/// The loop over tiles that contains a product. From one tile to the next, the right operand moves
/// by 'step'. Blocks of a tile do not reach past the ends of the operands, and a tile has at least
/// as many blocks as are copied ahead.
struct TileLoop {
  mlir::Value hasNext; // i1: whether there is a next tile
  Int step;
};

class WarpgroupLoop {
public:
  /// A product over the shared axis up to 'end', in blocks of 'depth' entries. 'mayClip': the last
  /// block may reach past 'end'. 'endsWithOperands': neither operand has entries beyond 'end'.
  WarpgroupLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip, bool endsWithOperands);

  /// The values of the tile: 'start' plus the product over the shared axis from entry 'first' on.
  /// In a loop over 'tiles', boxes of the next tile are requested while the last blocks of this
  /// tile are multiplied.
  CodeBuilder::Values run(mlir::ValueRange start, Int first, const std::optional<TileLoop> &tiles);
  /// Before such a loop: requests the first boxes of its first tile.
  void askForFirst(Int first);

private:
  void askForFirst(BoxCopies &copies, mlir::Value start, Int first, Int blocks);
  mlir::Value runBoxes(mlir::Value sums, Int first, Int count, const std::optional<TileLoop> &tiles);
  mlir::Value runPipelined(mlir::Value sums, Int first, Int count);
  mlir::Value runUnaligned(mlir::Value sums, Int first, Int count);
  /// Copies of blocks by the threads themselves. A Stager's addresses are computed where it is
  /// constructed, so it is constructed only where it is used: other loops should not keep the
  /// addresses in registers.
  struct Stagers {
    Stager left, right;
  };
  Stagers makeStagers() { return {Stager(k, left, depth, end, mayClip), Stager(k, right, depth, end, mayClip)}; }
  /// Copies one block, waits for the copy, multiplies the block and waits for the products.
  mlir::Value multiplyAlone(Stagers &stagers, Int shared, mlir::Value sums, bool areAligned);
  /// Starts the products of the block in stage 'slot' of the ring, as one group.
  mlir::Value multiplyBlock(mlir::Value slot, mlir::Value sums);

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const Int end;
  const bool mayClip, isCutByBoxes; // the second: boxes have zeros beyond 'end'
  const int64_t leftBytes, blockBytes; // of a stage: of the left operand, of both
  const WarpgroupBlock leftBlock, rightBlock; // of stage 0
};
} // namespace logitile::cuda
