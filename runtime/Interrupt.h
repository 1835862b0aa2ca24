// Interrupt.h - how the caller of the library is asked whether to stop.
#pragma once
#include <chrono>

namespace logitile {
/// Asked from time to time, always on the thread of the caller.
struct Interrupt {
  bool (*isRequested)(void *context) = nullptr; // null: never
  void *context = nullptr;

  explicit operator bool() const { return isRequested != nullptr; }
  bool operator()() const { return isRequested && isRequested(context); }
};

/// How often a thread that waits asks.
inline constexpr std::chrono::milliseconds kInterruptPeriod{50};
} // namespace logitile
