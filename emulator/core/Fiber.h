// Fiber.h - stacks of the emulated threads, and the switch between them. The block decides which
// thread runs next.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace logitile::emulator {
/// Saves the running fiber's stack pointer in 'from' and goes on where 'to' was saved.
extern "C" void logitileSwitchFiber(void **from, void *to);

/// A stack for each of 'count' fibers, each with a page below it that may not be touched.
class FiberStacks {
public:
  explicit FiberStacks(uint32_t count);
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;

  /// False where the machine gave no memory.
  bool isValid() const { return memory != nullptr; }
  /// The saved stack pointer of a fiber that starts in 'function', which must not return.
  void *start(uint32_t fiber, void (*function)());
  bool holds(uint32_t fiber, const void *address, size_t bytes) const;
  /// Bytes of a fiber's stack below an address in it that its local memory may take; the rest is
  /// the emulator's own.
  size_t left(uint32_t fiber, const void *address) const;
  /// Local memory of a thread: CUDA programming guide, table of technical specifications.
  static constexpr size_t kLocalBytes = 512 * 1024;

private:
  uint8_t *memory = nullptr;
  size_t totalBytes = 0;
};

/// Launches of one call run one after another and take the same stacks: new ones cost as much as
/// running a short kernel.
class KeptStacks {
public:
  /// Stacks for at least 'count' fibers, until the next call.
  FiberStacks &of(uint32_t count);

private:
  std::unique_ptr<FiberStacks> stacks;
  uint32_t held = 0;
};
} // namespace logitile::emulator
