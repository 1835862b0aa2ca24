// WarpgroupLoop.h - the product of two 16-bit operands over a shared axis by warpgroups: tensor
// cores read both operands from shared memory, and compute while threads copy. Products of single
// warps are in MainLoop.h.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/BoxCopies.h"

namespace logitile::cuda {
/// The loop over tiles that a product is in: the right operand's tile moves by 'step'. Blocks of a
/// tile end with their operands, and are as many as boxes are ahead.
struct TileLoop {
  mlir::Value hasNext;
  Int step;
};

class WarpgroupLoop {
public:
  /// Over the shared axis up to 'end', which blocks of 'depth' entries may reach past where it
  /// 'mayClip'. 'endsWithOperands': neither of them has entries behind it.
  WarpgroupLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip, bool endsWithOperands);

  /// The tile's values after adding the product from entry 'first' on to 'start'.
  /// In a loop over 'tiles', boxes of the next tile are asked for while the last ones of this tile
  /// are multiplied.
  CodeBuilder::Values run(mlir::ValueRange start, Int first, const std::optional<TileLoop> &tiles);
  /// Before such a loop: asks for the first boxes of its first tile.
  void askForFirst(Int first);

private:
  void beginStages();
  void askForFirst(BoxCopies &copies, mlir::Value start, Int first, Int blocks);
  mlir::Value runBoxes(mlir::Value sums, Int first, Int count, const std::optional<TileLoop> &tiles);
  mlir::Value runPipelined(mlir::Value sums, Int first, Int count);
  mlir::Value runUnaligned(mlir::Value sums, Int first, Int count);
  /// What threads copy themselves. Its places are computed where it is made: other loops should not
  /// keep them in registers.
  struct Stagers {
    Stager left, right;
  };
  Stagers makeStagers() { return {Stager(k, left, depth, end, mayClip), Stager(k, right, depth, end, mayClip)}; }
  /// Copies a block, and waits for the copy and its products.
  mlir::Value multiplyAlone(Stagers &stagers, Int shared, mlir::Value sums, bool areAligned);
  /// Starts the products of the block in stage 'slot' of the ring, as one group.
  mlir::Value multiplyBlock(mlir::Value slot, mlir::Value sums);
  /// What tells tensor cores where an operand lies: two i32, of which the second is the same for
  /// all stages.
  struct Descriptor {
    mlir::Value place; // in stage 0
    int64_t layout;
  };
  /// From 'offset' bytes of shared memory on.
  Descriptor descriptorOf(const Operand &operand, Int offset) const;
  /// So many units behind the descriptor's place.
  SharedOperand behind(const Descriptor &descriptor, mlir::Value units, const Operand &operand);
  /// Bytes from the first 16 steps of an operand to the next.
  int64_t stepOf(const Operand &operand) const;
  /// The values of a tile in the order in which registers of warpgroups have them, and back.
  mlir::Value gather(mlir::ValueRange values);
  CodeBuilder::Values spread(mlir::Value sums);

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const Int end;
  const bool mayClip, isCutByBoxes; // the second: what boxes have behind 'end' are zeros
  const int64_t leftBytes, blockBytes; // of a stage
  Descriptor leftDescriptor, rightDescriptor;
};
} // namespace logitile::cuda
