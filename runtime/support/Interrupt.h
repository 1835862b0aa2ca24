// Interrupt.h - asks the caller of the library whether to stop.
#pragma once
#include <chrono>
#include <cstdint>

namespace logitile {
/// Asked from time to time, always on the thread of the caller.
struct Interrupt {
  bool (*isRequested)(void *context) = nullptr; // null: never
  void *context = nullptr;

  explicit operator bool() const { return isRequested != nullptr; }
  bool operator()() const { return isRequested && isRequested(context); }
};

/// What a task that may take long asks now and then, whether it is to end early. Compiled kernels
/// call it through their last argument; this layout is part of their interface.
struct Checkpoint {
  int32_t (*mustEnd)(Checkpoint *self);
};

/// How often a thread that waits asks.
inline constexpr std::chrono::milliseconds kInterruptPeriod{50};
} // namespace logitile
