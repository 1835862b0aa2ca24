// TensorMaps.h - the tensor maps that a kernel takes: one for each way in which warpgroup products
// read an argument, and one for each argument that is written as boxes.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"

namespace logitile::cuda {
/// The bytes of a tensor map, which is also what its address is a multiple of.
inline constexpr int64_t kTensorMapBytes = 128;

/// Of the view that is an argument of the kernel, boxes of some neighbours in memory and some rows.
struct TensorMap {
  unsigned argument;
  int64_t columns, rows;
  bool operator==(const TensorMap &) const = default;
};

/// How a block of 16-bit elements lies in shared memory for a warpgroup, 'outer' entries by 'depth'
/// steps of the shared axis: boxes one behind the other, of lines of up to 8 chunks of 16 bytes.
struct Boxes {
  static constexpr int64_t kPerChunk = 8; // elements
  int64_t lines, chunks, count;
  static Boxes of(int64_t outer, int64_t depth, bool isInnerShared);
  int64_t columns() const { return chunks * kPerChunk; }
};

/// Whether an operand's boxes have half of its lines: those that one block of a pair copies.
bool isHalved(mlir::Operation *product, bool isRight);
/// That of an operand of a product of warpgroups.
TensorMap tensorMapOf(mlir::Operation *product, bool isRight);
/// That of a store of what warpgroups make, in boxes of the rows of a warp; none where it takes
/// another way. Elements have 16 bits, rows are those of the tile, and nothing else of the kernel
/// uses the memory.
std::optional<TensorMap> tensorMapOf(StoreOp store);
/// Those of a kernel, in the order of its parameters.
llvm::SmallVector<TensorMap> tensorMapsOf(KernelOp kernel);
} // namespace logitile::cuda
