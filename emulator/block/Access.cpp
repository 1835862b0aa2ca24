// Access.cpp - loads, stores and atomic operations of threads. Asynchronous and warp-wide accesses
// come through the same functions.
#include "emulator/block/Access.h"

namespace logitile::emulator {
namespace {
const char *direction(AccessKind kind) { return kind == AccessKind::read ? "read" : "write"; }

[[noreturn]] void failOutside(const Access &access, Space space, const void *address, uint64_t bytes) {
  Block &block = *access.thread.block;
  Report report = block.describe(Fault::outOfBounds, access.thread, access.op, direction(access.kind), std::to_string(bytes) + " bytes, ");
  report.space = space;
  report.address = space == Space::shared ? block.shared.offsetOf(address) : reinterpret_cast<uintptr_t>(address);
  report.detail += space == Space::shared ? "the block has " + std::to_string(block.launch.sharedBytes) + " bytes"
                                          : block.launch.global.describe(address);
  block.fail(std::move(report));
}

Space spaceOf(const Access &access, const void *address, uint64_t bytes) {
  const auto declared = static_cast<IrSpace>(access.op.instruction.modifiers[1]);
  if (declared == IrSpace::shared)
    return Space::shared;
  const Block &block = *access.thread.block;
  if (declared == IrSpace::global)
    return Space::global;
  if (block.shared.isNear(address))
    return Space::shared;
  return block.stacks.holds(access.thread.fiber, address, bytes) ? Space::none : Space::global;
}
} // namespace

bool Access::repeats(const uint8_t *word, uint8_t bytes, uint32_t earlier, uint32_t earlierOp) const {
  const Actors &actors = thread.block->actors;
  if (!value || earlierOp != op.index || actors.engineOf(earlier) != Engine::thread || earlier / 32 != thread.warpIndex)
    return false;
  for (uint32_t i = 0; i < 4; ++i)
    if ((bytes >> i & 1) && value[word + i - address] != word[i])
      return false;
  return true;
}

void requireAligned(Thread &thread, const Op &op, Space space, const void *address, uint32_t alignment) {
  if (reinterpret_cast<uintptr_t>(address) % alignment == 0)
    return;
  Block &block = *thread.block;
  Report report = block.describe(Fault::misaligned, thread, op, "access", "the address must be a multiple of " + std::to_string(alignment));
  report.space = space;
  report.address = space == Space::shared ? block.shared.offsetOf(address) : reinterpret_cast<uintptr_t>(address);
  block.fail(std::move(report));
}

void touchShared(const Access &access, const void *address, uint64_t bytes) {
  touchSharedOf(*access.thread.block, access, address, bytes);
}

void touchSharedOf(Block &block, const Access &access, const void *address, uint64_t bytes) {
  if (!block.shared.contains(address, bytes))
    failOutside(access, Space::shared, address, bytes);
  block.shared.check(block, access, block.shared.offsetOf(address), static_cast<uint32_t>(bytes)); // no more than the block has
}

void touchGlobal(const Access &access, const void *address, uint64_t bytes) {
  Block &block = *access.thread.block;
  GlobalMemory::Buffer *buffer = block.launch.global.find(address, bytes);
  if (!buffer)
    failOutside(access, Space::global, address, bytes);
  block.launch.global.check(block, access, *buffer, GlobalMemory::offsetIn(*buffer, address), bytes);
}

void countTraffic(const Access &access, Space space, const void *address, uint64_t bytes) {
  const Thread &thread = access.thread;
  Block &block = *thread.block;
  Counters &counters = block.launch.counters;
  const bool isShared = space == Space::shared, reads = access.kind != AccessKind::write, writes = access.kind != AccessKind::read;
  (isShared ? counters.sharedReadBytes : counters.globalReadBytes) += reads ? bytes : 0;
  (isShared ? counters.sharedWriteBytes : counters.globalWriteBytes) += writes ? bytes : 0;
  const uint64_t where = isShared ? block.shared.offsetOf(address) : reinterpret_cast<uintptr_t>(address);
  block.traffic.note(space, thread.warpIndex, access.op.index, thread.lane, block.warpOf(thread).live, where, bytes);
}

static void checkAny(const Access &access, const void *address, uint64_t bytes) {
  const Space space = spaceOf(access, address, bytes);
  if (space == Space::none || !bytes)
    return;
  Thread &thread = access.thread;
  requireAligned(thread, access.op, space, address, access.op.instruction.modifiers[2]);
  if (space == Space::shared)
    touchShared(access, address, bytes);
  else
    touchGlobal(access, address, bytes);
  synchronise(access, space == Space::shared ? thread.block->releases : thread.block->launch.global.releases, address);
  countTraffic(access, space, address, bytes);
}

void checkAccess(Thread *thread, const Op *op, const void *address, uint64_t bytes) {
  const auto kind = static_cast<AccessKind>(op->instruction.modifiers[0]);
  const bool writesStrongly = kind != AccessKind::read && strengthOf(*op) != Strength::weak;
  const uint32_t actor = writesStrongly ? thread->block->actors.strongWritesOf(thread->linear) : thread->linear;
  checkAny({*thread, actor, *op, kind}, address, bytes);
}

void checkStore(Thread *thread, const Op *op, const void *address, uint64_t bytes, const void *value) {
  checkAny({*thread, thread->linear, *op, AccessKind::write, static_cast<const uint8_t *>(address), static_cast<const uint8_t *>(value)},
           address, bytes);
}

void checkWithin(Thread *thread, const Op *op, const void *address, uint64_t bytes, const void *start, uint64_t size) {
  const auto offset = reinterpret_cast<intptr_t>(address) - reinterpret_cast<intptr_t>(start);
  if (!bytes || (offset >= 0 && bytes <= size && static_cast<uint64_t>(offset) <= size - bytes))
    return;
  Block &block = *thread->block;
  const bool isShared = block.shared.isNear(start);
  Report report = block.describe(Fault::outOfBounds, *thread, *op, "access",
                                 std::to_string(bytes) + " bytes, byte " + std::to_string(offset) + " from the start of a " +
                                     (isShared ? "shared" : "local") + " variable, which has " + std::to_string(size) + " bytes");
  report.space = isShared ? Space::shared : Space::none;
  report.address = isShared ? block.shared.offsetOf(address) : 0;
  block.fail(std::move(report));
}

void trap(Thread *thread, const Op *op) {
  Block &block = *thread->block;
  block.fail(block.describe(Fault::trap, *thread, *op, "runs", "the kernel ends itself here"));
}
} // namespace logitile::emulator
