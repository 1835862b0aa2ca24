// ForkGuard.h - mutexes that are unlocked at a fork, and a number that distinguishes a forked
// process from its parent. Threads do not survive a fork: a lock that one of them held would stay
// locked in the child for ever.
#pragma once
#include <cstdint>
#include <mutex>

namespace logitile {
/// The number of forks between the first process and this one.
uint64_t forkGeneration();

/// A mutex that no thread holds while the process forks. A thread that holds one may not lock
/// another.
class ForkSafeMutex {
public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex &) = delete;
  void lock() { mutex.lock(); }
  void unlock() { mutex.unlock(); }

private:
  friend struct ForkRegistry;
  std::mutex mutex;
};
} // namespace logitile
