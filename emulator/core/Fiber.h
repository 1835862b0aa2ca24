// Fiber.h - stacks of the emulated threads, and the switch between them. The block decides which
// thread runs next.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace logitile::emulator {
/// Saves the running fiber's stack pointer in 'from', and resumes the fiber whose stack pointer is
/// 'to'.
extern "C" void logitileSwitchFiber(void **from, void *to);

/// A stack for each of 'count' fibers, each with a page below it that may not be touched.
class FiberStacks {
public:
  explicit FiberStacks(uint32_t count);
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;

  /// False if there was not enough memory.
  bool isValid() const { return memory != nullptr; }
  /// The saved stack pointer of a fiber that starts in 'function', which must not return.
  void *start(uint32_t fiber, void (*function)());
  bool holds(uint32_t fiber, const void *address, size_t bytes) const;
  /// The bytes of a fiber's stack below an address that the kernel's local memory may use. The rest
  /// of the stack is for the emulator.
  size_t left(uint32_t fiber, const void *address) const;
  /// Local memory of a thread: CUDA programming guide, table of technical specifications.
  static constexpr size_t kLocalBytes = 512 * 1024;

private:
  uint8_t *memory = nullptr;
  size_t totalBytes = 0;
};

/// Stacks that all launches of one call use, one after the other. Allocating new stacks would take
/// as long as running a short kernel.
class KeptStacks {
public:
  /// Stacks for at least 'count' fibers, until the next call.
  FiberStacks &of(uint32_t count);

private:
  std::unique_ptr<FiberStacks> stacks;
  uint32_t held = 0;
};
} // namespace logitile::emulator
