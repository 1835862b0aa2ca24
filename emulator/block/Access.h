// Access.h - the path of every emulated access to memory: alignment, bounds, order, traffic. The
// memories implement the checks.
#pragma once
#include "emulator/block/Block.h"

namespace logitile::emulator {
/// Fails if 'address' is not a multiple of 'alignment'.
void requireAligned(Thread &thread, const Op &op, Space space, const void *address, uint32_t alignment);
/// Checks an access of shared memory. Fails if it is out of bounds. The caller counts the traffic.
void touchShared(const Access &access, const void *address, uint64_t bytes);
/// The same in the memory of 'block'. It may be another block of the cluster; then only writes, and
/// reads of mbarriers, are allowed.
void touchSharedOf(Block &block, const Access &access, const void *address, uint64_t bytes);
void touchGlobal(const Access &access, const void *address, uint64_t bytes);
/// Counts one thread's request.
void countTraffic(const Access &access, Space space, const void *address, uint64_t bytes);

/// Called by generated code before each load, store, atomic operation and copy. The instruction's
/// modifiers say its kind, its address space as in the IR, and its alignment.
void checkAccess(Thread *thread, const Op *op, const void *address, uint64_t bytes);
/// The same before a plain store; 'value' has the bytes that it stores.
void checkStore(Thread *thread, const Op *op, const void *address, uint64_t bytes, const void *value);
/// Called by generated code before an access through a variable that starts at 'start' and has
/// 'size' bytes.
void checkWithin(Thread *thread, const Op *op, const void *address, uint64_t bytes, const void *start, uint64_t size);
/// Called by generated code where a kernel ends itself: by a trap, or at a place that is declared
/// unreachable.
[[noreturn]] void trap(Thread *thread, const Op *op);
/// Called by generated code before divisions of integers.
void checkDivision(Thread *thread, const Op *op, uint32_t isUndefined);
/// Called by generated code before it allocates 'bytes' bytes of its thread's stack.
void checkStack(Thread *thread, const Op *op, uint64_t bytes);
/// Address spaces of the IR that kernels use.
enum class IrSpace : uint32_t { generic = 0, global = 1, shared = 3 };
} // namespace logitile::emulator
