// KernelCache.h - loaded plans by key and interval of tokens, in memory. A plan that two threads ask for is made once.
// How plans are made, or found on disk, is the caller's business.
#pragma once
#include "runtime/ForkGuard.h"
#include "runtime/LoadedPlan.h"
#include <functional>
#include <unordered_map>

namespace logitile {
class KernelCache {
public:
  static constexpr int64_t kMostIntervals = 4; // of one key

  struct Limits {
    int64_t plans = 256;
    int64_t codeBytes = int64_t(256) << 20;
  };
  explicit KernelCache(Limits limits) : limits(limits) {}

  using Plan = std::shared_ptr<const LoadedPlan>;
  using Make = std::function<Result<Plan>()>;
  struct Found {
    Plan plan;
    bool isNew; // this call made it
  };
  /// The plan of 'key' whose interval holds 'tokens', made by 'make' where there is none. Other threads that ask for the
  /// same key wait meanwhile; a failure is told to all who wait for the same number of tokens, and not kept.
  Result<Found> get(const KernelKey &key, int64_t tokens, const Make &make);

  struct Usage {
    int64_t plans = 0, codeBytes = 0;
  };
  Usage usage();
  void clear();

private:
  struct Flight;
  struct Item {
    Plan plan;
    uint64_t lastUse;
  };
  struct Entry {
    std::vector<Item> items;
    std::shared_ptr<Flight> flight; // a plan that is being made
  };
  Plan find(Entry &entry, int64_t tokens);
  Result<Plan> fly(const KernelKey &key, int64_t tokens, const Make &make);
  void insert(const KernelKey &key, const Plan &plan);
  void evict(const Plan &kept);
  void remove(Entry &entry, size_t item);

  const Limits limits;
  ForkSafeMutex mutex;
  std::unordered_map<KernelKey, Entry> entries;
  uint64_t uses = 0;
  Usage counts;
};
} // namespace logitile
