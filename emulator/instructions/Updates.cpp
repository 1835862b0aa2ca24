// Updates.cpp - atomic operations that LLVM IR has no instruction for, and which memory an address
// is in.
#include "emulator/block/Access.h"
#include "emulator/core/Families.h"

namespace logitile::emulator {
/// The numbers one by one are atomic, in no order.
void addVector(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t count = op.instruction.operands[0];
  auto *to = get<float *>(frame, 0);
  checkAccess(&thread, &op, to, count * sizeof(float));
  for (uint32_t i = 0; i < count; ++i)
    to[i] += get<float>(frame, 1 + i);
}

void isInSpace(Thread &thread, const Op &op, Slot *frame) {
  const auto *address = get<const uint8_t *>(frame, 0);
  const Block &block = *thread.block;
  const bool isShared = block.shared.isNear(address), isLocal = block.stacks.holds(thread.fiber, address, 1);
  const auto space = static_cast<Space>(op.instruction.modifiers[0]);
  set<uint8_t>(frame, 1, space == Space::shared ? isShared : space == Space::none ? isLocal : !isShared && !isLocal);
}
} // namespace logitile::emulator
