// Families.h - the handlers of all instructions, by family; each family has its own file.
// Instruction.cpp maps intrinsics to handlers.
#pragma once
#include "emulator/core/Instruction.h"

namespace logitile::emulator {
// ---- AsyncCopies.cpp
/// Modifiers: the bytes, and whether an operand says how many of them the source has.
void copyAsync(Thread &thread, const Op &op, Slot *frame);
void commitCopies(Thread &thread, const Op &op, Slot *frame);
void waitCopyGroups(Thread &thread, const Op &op, Slot *frame);
void waitAllCopies(Thread &thread, const Op &op, Slot *frame);

// ---- Barriers.cpp
enum class BarrierCount : uint32_t { all, given };
enum class BarrierAction : uint32_t { sync, arrive };
enum class BarrierVote : uint32_t { count, all, any };
/// Modifiers: BarrierCount, BarrierAction, and whether all lanes of a warp must come to the same
/// instruction. One that combines predicates has its BarrierVote in Instruction::operands.
void blockBarrier(Thread &thread, const Op &op, Slot *frame);
void warpBarrier(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);

// ---- Mbarriers.cpp
void mbarrierInit(Thread &thread, const Op &op, Slot *frame);
void mbarrierInvalidate(Thread &thread, const Op &op, Slot *frame);
/// What the second operand of an arrival says.
enum class ArrivalOperand : uint32_t { none, count, bytes };
enum class ArrivalEffect : uint32_t {
  plain,
  drop = 1,       // later phases expect fewer arrivals
  noComplete = 2, // it must not be the last arrival of its phase
};
/// Modifiers: ArrivalOperand, ArrivalEffect as bits, and whether it is relaxed and so orders
/// nothing. The result is the state before it: the phase, and above it the arrivals that were
/// pending.
void mbarrierArrive(Thread &thread, const Op &op, Slot *frame);
void mbarrierExpect(Thread &thread, const Op &op, Slot *frame);
void mbarrierComplete(Thread &thread, const Op &op, Slot *frame);
void mbarrierPendingCount(Thread &thread, const Op &op, Slot *frame);
enum class WaitKind : uint32_t { test, attempt, attemptForTime };
/// Modifiers: WaitKind, whether the operand is a parity rather than a state, and whether it is
/// relaxed.
void mbarrierWait(Thread &thread, const Op &op, Slot *frame);
/// Modifier: whether the promised arrival is one beyond those that the barrier expects.
void mbarrierArriveAfterCopies(Thread &thread, const Op &op, Slot *frame);

/// An arrival without a result, at an mbarrier of any block of the cluster.
void mbarrierArriveInCluster(Thread &thread, const Op &op, Slot *frame);

// ---- Clusters.cpp
/// Modifier: whether it orders nothing.
void clusterArrive(Thread &thread, const Op &op, Slot *frame);
void clusterWait(Thread &thread, const Op &op, Slot *frame);
/// Of an address in shared memory and the number of a block of the cluster: the same place there.
void mapShared(Thread &thread, const Op &op, Slot *frame);

// ---- BulkCopies.cpp: operands as those of the intrinsics
/// Modifiers: the rank, and whether a flag says that the copy goes to several blocks of a cluster.
void loadTensor(Thread &thread, const Op &op, Slot *frame);
/// Modifiers: the rank, and whether it adds to what is there.
void storeTensor(Thread &thread, const Op &op, Slot *frame);
/// Modifier: whether a flag says that the copy goes to several blocks of a cluster.
void loadBytes(Thread &thread, const Op &op, Slot *frame);
void storeBytes(Thread &thread, const Op &op, Slot *frame);
void commitBulk(Thread &thread, const Op &op, Slot *frame);
/// Modifier: whether it waits only until sources have been read.
void waitBulk(Thread &thread, const Op &op, Slot *frame);

// ---- Proxies.cpp
/// Shows what its thread knows to the asynchronous proxy.
void fenceProxies(Thread &thread, const Op &op, Slot *frame);
/// Shows the mbarriers whose initialisation its thread knows to the asynchronous proxy.
void fenceMbarriers(Thread &thread, const Op &op, Slot *frame);

// ---- Registers.cpp
/// Modifier: whether the warp takes registers, rather than gives them back.
void setMostRegisters(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);

// ---- Shuffles.cpp
enum class ShuffleMode : uint32_t { butterfly, up, down, index };
void shuffle(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
enum class VoteMode : uint32_t { any, all, uniform, ballot };
void vote(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Modifier: whether values have 64 bits. The result is the mask of lanes with the same value.
void matchAny(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// The same, or 0 where not all lanes have the same value; and whether they have.
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
/// The operands of a wgmma, by their number in Instruction::operands: slots, or literals of the
/// text. A fragment of A takes 4 slots.
enum class ProductOperand : uint32_t { sums, results, a, b, adds, signA, signB, transposesA, transposesB, groups = 0 };
constexpr uint32_t kLiteral = 1u << 31;
/// Modifiers: the columns, Element, and whether A is in registers.
void multiplyAsync(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
void fenceProducts(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
void commitProducts(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Operands: the count of groups, and then pairs of a result and what it repeats.
void waitProducts(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask);
/// Called by generated code before it uses what may be a sum of wgmma: the number.
float resolveSum(Thread *thread, const Op *op, float value);

// ---- Arithmetic.cpp
enum class Function : uint32_t { exp2, log2, reciprocal, reciprocalRoot, root };
/// Modifiers: Function, and whether subnormal numbers count as zero.
void approximate(Thread &thread, const Op &op, Slot *frame);
void divide(Thread &thread, const Op &op, Slot *frame);
/// Modifier: Element. The first operand goes to the upper half.
void packPair(Thread &thread, const Op &op, Slot *frame);
void roundToHalf(Thread &thread, const Op &op, Slot *frame);
/// Each byte of the result is one of 8, or its sign.
void permuteBytes(Thread &thread, const Op &op, Slot *frame);

// ---- Updates.cpp
/// Adds 2 or 4 numbers of f32; the count is in Instruction::operands.
void addVector(Thread &thread, const Op &op, Slot *frame);
/// Modifier: Space; none stands for local memory.
void isInSpace(Thread &thread, const Op &op, Slot *frame);
} // namespace logitile::emulator
