// TensorMaps.h - the tensor maps that a kernel takes: one for each way in which warpgroup products
// read an argument, and one for each argument that is written as boxes.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"

namespace logitile::cuda {
/// The bytes of a tensor map. Its address is a multiple of this number too.
inline constexpr int64_t kTensorMapBytes = 128;

/// A tensor map of the view that is argument 'argument' of the kernel. Its boxes have 'rows' rows
/// of 'columns' neighbours in memory.
struct TensorMap {
  unsigned argument;
  int64_t columns, rows;
  bool operator==(const TensorMap &) const = default;
};

/// The layout in shared memory of a block of 16-bit elements that a warpgroup multiplies. The block
/// has 'outer' entries by 'depth' entries of the shared axis. It consists of 'count' boxes, one
/// after the other. A box has 'lines' lines of up to 8 chunks of 16 bytes.
struct Boxes {
  static constexpr int64_t kElementBytes = 2, kPerChunk = 16 / kElementBytes; // elements
  int64_t lines, chunks, count;
  static Boxes of(int64_t outer, int64_t depth, bool isInnerShared);
  int64_t columns() const { return chunks * kPerChunk; }
};

/// Whether a box of an operand has half of its lines, because each block of a pair copies one half.
bool isHalved(mlir::Operation *product, bool isRight);
/// The tensor map of an operand of a product of warpgroups.
TensorMap tensorMapOf(mlir::Operation *product, bool isRight);
/// The tensor map of a store of a warpgroup's tile, in boxes with the rows of a warp. None if the
/// store cannot write boxes: elements must have 16 bits, rows must be those of the tile, and no
/// other op of the kernel may use the memory.
std::optional<TensorMap> tensorMapOf(StoreOp store);
/// The tensor maps of a kernel, in the order of its parameters.
llvm::SmallVector<TensorMap> tensorMapsOf(KernelOp kernel);
} // namespace logitile::cuda
