// Families.h - the handlers of all instructions, by family. Each family has its own file.
// InstructionTable.cpp maps intrinsics to handlers.
#pragma once
#include "emulator/core/Instruction.h"

namespace logitile::emulator {
// ---- AsyncCopies.cpp
/// Modifiers: the number of bytes to copy, and whether an operand gives the number of bytes that
/// the source has.
void copyAsync(Thread &thread, const Op &op, Slot *frame);
void commitCopies(Thread &thread, const Op &op, Slot *frame);
void waitCopyGroups(Thread &thread, const Op &op, Slot *frame);
void waitAllCopies(Thread &thread, const Op &op, Slot *frame);

// ---- Barriers.cpp
enum class BarrierCount : uint32_t { all, given };
enum class BarrierAction : uint32_t { sync, arrive };
enum class BarrierVote : uint32_t { count, all, any };
/// Modifiers: BarrierCount, BarrierAction, and whether all lanes of a warp must come to the same
/// instruction. A barrier that combines predicates has its BarrierVote in Instruction::operands.
void blockBarrier(Thread &thread, const Op &op, Slot *frame);
void warpBarrier(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);

// ---- Mbarriers.cpp
void mbarrierInit(Thread &thread, const Op &op, Slot *frame);
void mbarrierInvalidate(Thread &thread, const Op &op, Slot *frame);
/// What the second operand of an arrival means.
enum class ArrivalOperand : uint32_t { none, count, bytes };
enum class ArrivalEffect : uint32_t {
  plain,
  drop = 1,       // later phases expect fewer arrivals
  noComplete = 2, // the arrival must not be the last one of its phase
};
/// Modifiers: ArrivalOperand, bits of ArrivalEffect, and whether the arrival is relaxed. A relaxed
/// arrival orders nothing. The result is the state before the arrival: the lower half is the phase,
/// and the upper half is the number of pending arrivals.
void mbarrierArrive(Thread &thread, const Op &op, Slot *frame);
void mbarrierExpect(Thread &thread, const Op &op, Slot *frame);
void mbarrierComplete(Thread &thread, const Op &op, Slot *frame);
void mbarrierPendingCount(Thread &thread, const Op &op, Slot *frame);
enum class WaitKind : uint32_t { test, attempt, attemptForTime };
/// Modifiers: WaitKind, whether the operand is a parity instead of a state, and whether the wait is
/// relaxed.
void mbarrierWait(Thread &thread, const Op &op, Slot *frame);
/// Modifier: whether the promised arrival is in addition to those that the mbarrier expects.
void mbarrierArriveAfterCopies(Thread &thread, const Op &op, Slot *frame);

/// An arrival without a result, at an mbarrier of any block of the cluster.
void mbarrierArriveInCluster(Thread &thread, const Op &op, Slot *frame);

// ---- Clusters.cpp
/// Modifier: whether the arrival is relaxed, so that it orders nothing.
void clusterArrive(Thread &thread, const Op &op, Slot *frame);
void clusterWait(Thread &thread, const Op &op, Slot *frame);
/// Operands: an address in shared memory, and the number of a block of the cluster. The result is
/// the address of the same place in the shared memory of that block.
void mapShared(Thread &thread, const Op &op, Slot *frame);

// ---- BulkCopies.cpp: the operands are those of the intrinsics
/// Modifiers: the rank, and whether the operands include a mask of blocks of the cluster. A flag
/// among the operands then says whether the copy goes to the blocks of that mask.
void loadTensor(Thread &thread, const Op &op, Slot *frame);
/// Modifiers: the rank, and whether the copy is added to the elements of the tensor.
void storeTensor(Thread &thread, const Op &op, Slot *frame);
/// Modifier: whether the operands include a mask of blocks and a flag, as those of loadTensor may.
void loadBytes(Thread &thread, const Op &op, Slot *frame);
void storeBytes(Thread &thread, const Op &op, Slot *frame);
void commitBulk(Thread &thread, const Op &op, Slot *frame);
/// Modifier: whether the wait ends as soon as the sources have been read.
void waitBulk(Thread &thread, const Op &op, Slot *frame);

// ---- Proxies.cpp
/// Makes all writes that the thread knows visible to the asynchronous proxy.
void fenceProxies(Thread &thread, const Op &op, Slot *frame);
/// Makes mbarriers visible to the asynchronous proxy, if the thread knows their initialisation.
void fenceMbarriers(Thread &thread, const Op &op, Slot *frame);

// ---- Registers.cpp
/// Modifier: whether the warp takes registers from its block; otherwise it gives them back.
void setMostRegisters(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);

// ---- Shuffles.cpp
enum class ShuffleMode : uint32_t { butterfly, up, down, index };
void shuffle(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
enum class VoteMode : uint32_t { any, all, uniform, ballot };
void vote(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Modifier: whether values have 64 bits. The result is the mask of the lanes that have the same
/// value as this lane.
void matchAny(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Modifier: as for matchAny. There are two results. If all lanes that take part have the same
/// value, the results are the mask of these lanes, and true; otherwise 0, and false.
void matchAll(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
void elect(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
enum class ReduceMode : uint32_t { add, smallest, largest, unsignedSmallest, unsignedLargest, bitAnd, bitOr, bitXor };
void reduceWarp(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);

// ---- Matrices.cpp
enum class Element : uint32_t { bf16, f16 };
/// D = A B + C with 16 rows, 8 columns and f32 sums; k is 8 or 16.
template <Element type, uint32_t k> void multiplyMatrices(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Modifiers: the number of 8x8 matrices, and whether they are transposed.
void loadMatrices(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
void storeMatrices(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);

// ---- Wgmma.cpp
/// The operands of a wgmma, by their number in Instruction::operands. That member has the slot of
/// an operand, or, with the bit kLiteral, a number from the text. A fragment of A takes 4 slots.
enum class ProductOperand : uint32_t { sums, results, a, b, adds, signA, signB, transposesA, transposesB, groups = 0 };
constexpr uint32_t kLiteral = 1u << 31;
/// Modifiers: the number of columns, Element, and whether A is in registers.
void multiplyAsync(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
void fenceProducts(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
void commitProducts(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Instruction::operands has the number of groups that may stay unfinished. Pairs of slots follow:
/// the slot of a result, and the slot of the operand whose value the result repeats.
void waitProducts(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Called by generated code before it uses a value that may be the mark of a sum of wgmma. Returns
/// the sum, or 'value' if it is no mark.
float resolveSum(Thread *thread, const Op *op, float value);

// ---- Arithmetic.cpp
enum class Function : uint32_t { exp2, log2, reciprocal, reciprocalRoot, root };
/// Modifiers: Function, and whether subnormal numbers count as zero.
void approximate(Thread &thread, const Op &op, Slot *frame);
void divide(Thread &thread, const Op &op, Slot *frame);
/// Modifier: Element. The first operand goes to the upper half.
void packPair(Thread &thread, const Op &op, Slot *frame);
void roundToHalf(Thread &thread, const Op &op, Slot *frame);
/// Each byte of the result is one of the 8 bytes of two operands, or 8 copies of its sign bit.
void permuteBytes(Thread &thread, const Op &op, Slot *frame);

// ---- Updates.cpp
/// Adds 2 or 4 f32 numbers to numbers in memory. Their count is in Instruction::operands.
void addVector(Thread &thread, const Op &op, Slot *frame);
/// Modifier: Space. Space::none stands for local memory.
void isInSpace(Thread &thread, const Op &op, Slot *frame);
} // namespace logitile::emulator
