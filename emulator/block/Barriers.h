// Barriers.h - state of a block's barriers: the sixteen named ones and the mbarriers in shared
// memory. Their instructions are in Barriers.cpp and Mbarriers.cpp.
#pragma once
#include "emulator/core/Clock.h"
#include "emulator/core/Instruction.h"
#include <optional>

namespace logitile::emulator {
/// A named barrier in its current round.
struct NamedBarrier {
  uint32_t arrived = 0, expected = 0;
  uint32_t votes = 0; // predicates that were true
  bool isForAll = false;
  Gathering gathering;
  std::vector<uint32_t> waiting;  // threads
  std::vector<const Op *> places; // per warp, where its first lane arrived
};

/// An mbarrier. A phase ends when all arrivals have come and all announced bytes have been copied.
struct Mbarrier {
  struct Waiter {
    uint32_t thread, phase; // the phase whose end it waits for
  };
  uint32_t expected = 0, phase = 0;
  int64_t pending = 0, bytes = 0; // bytes may be copied before they are announced: then 'bytes' is negative
  Gathering gathering;
  ClockRef completed; // what is known once the last phase has ended
  std::vector<Waiter> waiters;
  uint32_t initThread = 0, initTime = 0, initOp = 0;
  uint32_t landing = 0; // the number of the actor for bulk copies that this mbarrier counts
  bool isFenced = false; // whether a fence allows the asynchronous proxy to use it
  /// The last bulk copy that has finished, as a time of its actor. A thread that waits for the
  /// mbarrier is ordered after the earlier copies too.
  struct Landed {
    const Op *op = nullptr;
    const Thread *thread = nullptr;
    uint32_t engine = 0, time = 0;
  };
  Landed landed;
};
} // namespace logitile::emulator
