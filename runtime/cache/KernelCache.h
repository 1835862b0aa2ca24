// KernelCache.h - loaded plans by key and interval of tokens, in memory. If two threads request a
// plan, it is made once. The caller compiles plans or finds them on disk.
#pragma once
#include "compiler/Support/Cancellation.h"
#include "runtime/plan/LoadedPlan.h"
#include "runtime/support/Interrupt.h"
#include <functional>

namespace logitile {
class KernelCache {
public:
  static constexpr int64_t kMostIntervals = 4; // of one key

  struct Limits {
    int64_t plans = 256;
    int64_t codeBytes = int64_t(256) << 20;
  };
  explicit KernelCache(Limits limits);

  using Plan = std::shared_ptr<const LoadedPlan>;
  using Make = std::function<Result<Plan>(Cancellation &)>;
  /// Null where there is none.
  Plan find(const KernelKey &key, int64_t tokens);

  struct Found {
    Plan plan;
    bool isNew; // this call made it
  };
  /// The plan of 'key' whose interval holds 'tokens', made by 'make' where there is none. 'make'
  /// runs as an errand: it owns what it uses. Other threads that ask for the same key wait
  /// meanwhile. A failure is told to all who wait for the same number of tokens, and not kept. An
  /// error where the caller is interrupted; the plan is still made for others who wait.
  Result<Found> get(const KernelKey &key, int64_t tokens, const Make &make, const Interrupt &interrupt = {});

  struct Usage {
    int64_t plans = 0, codeBytes = 0;
  };
  Usage usage();
  void clear();

private:
  struct Flight;
  class Plans;
  std::shared_ptr<Plans> plans; // errands use it too, and may outlive the cache
};
} // namespace logitile
