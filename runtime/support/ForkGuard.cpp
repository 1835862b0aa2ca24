// ForkGuard.cpp - the handlers that run around a fork.
#include "runtime/support/ForkGuard.h"
#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <vector>
using namespace logitile;

namespace {
std::atomic<uint64_t> generation{0};
} // namespace

namespace logitile {
/// All mutexes of the process. It is never destroyed: forks may happen while the process ends.
struct ForkRegistry {
  std::mutex mutex;
  std::vector<ForkSafeMutex *> members;

  static ForkRegistry &get() {
    static ForkRegistry *registry = [] {
      pthread_atfork(&prepare, &parent, &child);
      return new ForkRegistry;
    }();
    return *registry;
  }
  static void prepare() {
    get().mutex.lock();
    for (ForkSafeMutex *member : get().members)
      member->mutex.lock();
  }
  static void parent() {
    for (ForkSafeMutex *member : get().members)
      member->mutex.unlock();
    get().mutex.unlock();
  }
  static void child() {
    generation.fetch_add(1);
    parent();
  }
};
} // namespace logitile

uint64_t logitile::forkGeneration() {
  ForkRegistry::get();
  return generation.load(std::memory_order_relaxed);
}

ForkSafeMutex::ForkSafeMutex() {
  ForkRegistry &registry = ForkRegistry::get();
  std::lock_guard lock(registry.mutex);
  registry.members.push_back(this);
}
ForkSafeMutex::~ForkSafeMutex() {
  ForkRegistry &registry = ForkRegistry::get();
  std::lock_guard lock(registry.mutex);
  std::erase(registry.members, this);
}
