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
  /// The plan of 'key' that serves 'tokens' tokens; null if there is none.
  Plan find(const KernelKey &key, int64_t tokens);

  struct Found {
    Plan plan;
    bool isNew; // this call made it
  };
  /// The plan of 'key' whose interval contains 'tokens'. If there is none, 'make' makes it. 'make'
  /// runs as a background job: it owns what it uses. Other threads that ask for the same key wait
  /// meanwhile. A failure is returned to all callers that wait for the same number of tokens, and
  /// is not stored. An error if the caller is interrupted; the plan is still made if others wait
  /// for it.
  Result<Found> get(const KernelKey &key, int64_t tokens, const Make &make, const Interrupt &interrupt = {});

  struct Usage {
    int64_t plans = 0, codeBytes = 0;
  };
  Usage usage();
  void clear();

private:
  struct Flight;
  class Plans;
  std::shared_ptr<Plans> plans; // background jobs use it too, and may outlive the cache
};
} // namespace logitile
