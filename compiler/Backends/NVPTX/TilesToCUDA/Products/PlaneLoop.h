// PlaneLoop.h - the product of two f32 operands over a shared axis, by single warps or warpgroups.
// Threads split a block of both operands into planes of bf16 in shared memory, while tensor cores
// multiply the planes of the block before. Products of 16-bit operands are in MainLoop.h and
// WarpgroupLoop.h.
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
  CodeBuilder::Values runBlocks(mlir::ValueRange start, Int first, Int count);
  CodeBuilder::Values runElements(mlir::ValueRange start, Int first, Int count);
  /// Splits a chunk of four numbers into planes. The first plane begins at 'planes' bytes from the
  /// start of shared memory; each has 'planeBytes'.
  void split(const Stager::Chunk &chunk, mlir::Value numbers, Int planes, int64_t planeBytes);
  /// Returns 'sums' plus the products of the planes in 'slot' (i32: 0 or 1). 'meanwhile' is called
  /// where the thread may work on the other slot beside the products.
  CodeBuilder::Values multiply(mlir::Value slot, mlir::ValueRange sums, llvm::function_ref<void()> meanwhile);
  /// The same by fragments of single warps.
  CodeBuilder::Values multiplyFragments(mlir::Value slot, mlir::ValueRange start);
  /// With warpgroups: starts the products of the planes in 'slot' as one group, and returns their
  /// sums.
  mlir::Value startProducts(mlir::Value slot);
  /// With warpgroups: waits for 'products', and adds them to 'sums'.
  CodeBuilder::Values addProducts(mlir::ValueRange sums, mlir::Value products);
  /// Before products: what this thread has split, and what the others have, may be read.
  void sharePlanes();
  Int bytesBefore(mlir::Value slot) const;

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const Int end;
  Stager toLeft, toRight;
  const int64_t leftBytes, rightBytes, slotBytes; // of a plane of each operand, of all planes of both
  const Int leftPlanes, rightPlanes;              // bytes from the start of shared memory, in slot 0
  std::optional<WarpgroupBlock> leftBlock, rightBlock; // with warpgroups: the first planes in slot 0
};
} // namespace logitile::cuda
