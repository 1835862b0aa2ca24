// Cancellation.h - how a compilation learns that nobody waits for it any more.
#pragma once

namespace logitile {
class Cancellation {
public:
  virtual ~Cancellation() = default;
  /// Asked often, between passes, by all threads of the compilation.
  virtual bool isRequested() = 0;
};

/// Thrown by a code generator that is cancelled.
struct Cancelled {};
} // namespace logitile
