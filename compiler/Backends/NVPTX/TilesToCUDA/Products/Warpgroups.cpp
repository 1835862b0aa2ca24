// Warpgroups.cpp - descriptors of operands, and the layout of sums. PTX ISA, "Asynchronous
// warpgroup level matrix multiply-accumulate operations".
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Warpgroups.h"
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kAddressEnd = 1 << 18; // a descriptor has so much of an address

/// PTX ISA, "Matrix descriptor format": where the operand starts, how far it is from one panel to
/// the next and from one 8 lines to the next, and which chunks trade places: those of StageShape,
/// whose lines have 32, 64 or 128 bytes. Where a line is steps of the shared axis there are no
/// panels, and the manual wants a 1.
WarpgroupBlock::WarpgroupBlock(KernelContext &k, const Operand &operand, int64_t depth, Int offset)
    : e(&k.e), isInnerShared(operand.isInnerShared) {
  StageShape shape = operand.shape(depth);
  int64_t lineBytes = shape.lineBytes();
  uint64_t swizzle = lineBytes == 128 ? 1 : lineBytes == 64 ? 2 : 3;
  int64_t leading = isInnerShared ? 1 : shape.panelBytes() / kDescriptorUnit;
  place = e->narrow(e->sharedAddress(offset) % kAddressEnd / kDescriptorUnit + (leading << 16));
  layout = static_cast<int64_t>(uint64_t(8 * lineBytes / kDescriptorUnit) << 32 | swizzle << 62);
  bytesOfSteps = kProductSteps * (isInnerShared ? Boxes::kElementBytes : lineBytes);
}

WarpgroupBlock WarpgroupBlock::later(Value units) const {
  WarpgroupBlock block = *this;
  block.place = arith::AddIOp::create(*e, place, units);
  return block;
}

SharedOperand WarpgroupBlock::operandAt(int64_t step) const {
  Value further = e->word(step * bytesOfSteps / kDescriptorUnit);
  Value at = arith::AddIOp::create(*e, place, further);
  return {e->integer(arith::ExtUIOp::create(*e, e->i64, at)) + layout, isInnerShared};
}

Int rowsOfWarpgroup(KernelContext &k, int64_t bytes) {
  int64_t groups = k.threads.sharing.threads / kWarpgroup;
  return groups == 1 ? k.e.integer(0) : *k.warp / (kWarpgroup / kWarp) * (bytes / groups);
}

void beginStages(KernelContext &k) {
  Emitter &e = k.e;
  k.finishStores();
  e.fenceProxy(); // boxes may be copied to where this thread has written
  // Whoever used this memory before is done, and has read what sums start from, even where nothing
  // is added to them. The other block of a pair writes to it, too.
  if (k.pair)
    e.when(k.pair->isShared, [&] { e.clusterBarrier(); }, [&] { e.barrier(); });
  else
    e.barrier();
}

/// PTX ISA, "Register fragments for wgmma.mma_async", D: registers 4 j + 2 h + i are row slot h,
/// column slot 2 j + i.
static int64_t slotOf(int64_t place, int64_t columnSlots) { return place / 2 % 2 * columnSlots + place / 4 * 2 + place % 2; }

Value gatherSums(KernelContext &k, ValueRange values) {
  CodeBuilder::Values registers;
  for (int64_t place = 0, count = values.size(); place < count; ++place)
    registers.push_back(values[slotOf(place, k.threads.sharing.columnSlots())]);
  return k.e.pack(registers);
}

CodeBuilder::Values spreadSums(KernelContext &k, Value sums) {
  CodeBuilder::Values registers = k.e.unpack(sums), values(registers.size());
  for (auto [place, value] : llvm::enumerate(registers))
    values[slotOf(place, k.threads.sharing.columnSlots())] = value;
  return values;
}
} // namespace logitile::cuda
