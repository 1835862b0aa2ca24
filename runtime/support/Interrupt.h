// Interrupt.h - asks the caller of the library whether to stop.
#pragma once
#include <chrono>
#include <cstdint>

namespace logitile {
/// A function that says whether to stop. It is called from time to time, always on the caller's
/// thread.
struct Interrupt {
  bool (*isRequested)(void *context) = nullptr; // null: never
  void *context = nullptr;

  explicit operator bool() const { return isRequested != nullptr; }
  bool operator()() const { return isRequested && isRequested(context); }
};

/// Says whether a long task should end early. Compiled kernels call 'mustEnd' through their last
/// argument, so this layout is part of their interface.
struct Checkpoint {
  int32_t (*mustEnd)(Checkpoint *self);
};

/// The time between two calls of an Interrupt while a thread waits.
inline constexpr std::chrono::milliseconds kInterruptPeriod{50};
} // namespace logitile
