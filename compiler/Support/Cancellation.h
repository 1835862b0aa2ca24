// Cancellation.h - tells a compilation that no caller waits for it any more.
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
