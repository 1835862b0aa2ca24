// Warpgroups.h - what all products of warpgroups have in common: how tensor cores find an operand
// in shared memory, and the order of sums in registers.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Staging.h"

namespace logitile::cuda {
inline constexpr int64_t kDescriptorUnit = 16; // bytes that places in a descriptor count in
inline constexpr int64_t kProductSteps = 16;   // of the shared axis that one product takes

/// A block of an operand in shared memory, in the layout that tensor cores read.
class WarpgroupBlock {
public:
  /// The block of 'operand' with 'depth' steps that is 'offset' bytes from the start of shared
  /// memory. Of a left operand, 'offset' is the first row of this warpgroup.
  WarpgroupBlock(KernelContext &k, const Operand &operand, int64_t depth, Int offset);
  /// The same layout 'units' (i32, of 16 bytes) further on.
  WarpgroupBlock later(mlir::Value units) const;
  /// The operand of the product that takes 16 steps from number 'step' * 16 on.
  SharedOperand operandAt(int64_t step) const;

private:
  Emitter *e;
  mlir::Value place;    // i32, in units
  int64_t layout;       // the upper half of the descriptor, which is the same for all places
  int64_t bytesOfSteps; // from the first 16 steps of the operand to the next
  bool isInnerShared;
};

/// The bytes from the start of a left operand to the rows of this warpgroup, if the operand has
/// 'bytes'.
Int rowsOfWarpgroup(KernelContext &k, int64_t bytes);
/// Before the products of a tile: waits until all threads are done with the memory of stages.
void beginStages(KernelContext &k);
/// Converts the values of a tile to the order in which products of warpgroups have their sums;
/// 'spreadSums' converts them back.
mlir::Value gatherSums(KernelContext &k, mlir::ValueRange values);
CodeBuilder::Values spreadSums(KernelContext &k, mlir::Value sums);
} // namespace logitile::cuda
