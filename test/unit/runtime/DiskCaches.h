// DiskCaches.h - what the tests of the disk cache share: a folder that goes away, keys by name, and
// small plans. Plans that run are in RuntimePlans.h.
#pragma once
#include "runtime/cache/DiskCache.h"
#include "test/unit/runtime/RuntimePlans.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>

namespace logitile::test {
struct TemporaryFolder {
  std::string path;

  TemporaryFolder() {
    path = testing::TempDir() + "disk_cache_XXXXXX";
    if (!mkdtemp(path.data()))
      ADD_FAILURE() << "no folder at " << path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

inline DiskKey keyOf(const std::string &name) { return {KernelKey::ofBytes(name), "request of " + name}; }

/// A plan that cannot run, which is small; its code is what tests know it by.
inline LaunchPlan smallPlan(int64_t first, int64_t end, const std::string &code = "code") {
  LaunchPlan plan = makePlan({PlanOptions::Gradients::None, 8});
  plan.code = code;
  plan.tokensFirst = first;
  plan.tokensEnd = end;
  return plan;
}

/// The code of the plan that is found; "" for none.
inline std::string find(DiskCache &cache, const std::string &name, int64_t tokens) {
  std::string code;
  cache.find(keyOf(name), tokens, [&](DiskEntry entry) {
    code = entry.plan.code;
    return Status();
  });
  return code;
}
} // namespace logitile::test
