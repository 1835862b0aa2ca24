// PlaneLoop.h - the product of two f32 operands by warpgroups. Threads split a block of both
// operands into planes of bf16 in shared memory, while tensor cores multiply the planes of the
// block before. Products of 16-bit operands are in WarpgroupLoop.h.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Warpgroups.h"

namespace logitile::cuda {
class PlaneLoop {
public:
  /// A product over the shared axis up to 'end', in blocks of 'depth' entries. 'mayClip': the last
  /// block may reach past 'end'.
  PlaneLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip);
  /// The values of the tile: 'start' plus the product over the shared axis from entry 'first' on.
  CodeBuilder::Values run(mlir::ValueRange start, Int first);

private:
  CodeBuilder::Values runBlocks(mlir::ValueRange start, Int first, Int count, bool areAligned);
  /// Splits the chunks that this thread has copied to 'copied' into the planes of an operand in
  /// 'slot' (i32). In slot 0 they begin at 'planes', and each has 'planeBytes'.
  void split(const Stager &stager, Int copied, Int planes, int64_t planeBytes, mlir::Value slot);
  /// Starts the products of the planes in 'slot' as one group, and returns their sums.
  mlir::Value startProducts(mlir::Value slot);
  Int bytesBefore(mlir::Value slot) const;

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const Int end;
  const bool mayClip;
  // Bytes from the start of shared memory, of planes those in slot 0.
  const Int leftCopy, rightCopy, leftPlanes, rightPlanes;
  const int64_t slotBytes;                    // of the planes of both operands
  const WarpgroupBlock leftBlock, rightBlock; // the first planes in slot 0
};
} // namespace logitile::cuda
