// Meetings.h - how generated code synchronises the lanes of a warp. The instruction then runs for
// all of them.
#pragma once
#include "emulator/block/Block.h"

namespace logitile::emulator {
/// Called by generated code: runs the instructions of 'place' once all lanes they need are there.
/// 'mask' is ~0 where all lanes that have not ended take part.
void meet(Thread *thread, const Meet *place, Slot *frame, uint32_t mask);
} // namespace logitile::emulator
