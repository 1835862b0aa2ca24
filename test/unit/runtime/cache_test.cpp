// cache_test.cpp - the cache of plans: intervals, one maker for many askers, limits.
#include "runtime/cache/KernelCache.h"
#include "gtest/gtest.h"
#include <atomic>
#include <stdexcept>
#include <thread>
using namespace logitile;

namespace {
KernelCache::Plan plan(int64_t first, int64_t end, size_t codeBytes = 10) {
  auto loaded = std::make_shared<LoadedPlan>();
  loaded->plan.tokensFirst = first;
  loaded->plan.tokensEnd = end;
  loaded->plan.code.assign(codeBytes, 'x');
  return loaded;
}
KernelKey key(const std::string &name) { return KernelKey::ofBytes(name); }

/// Asks for a plan; makes one of this interval if there is none, and counts how many were made.
struct Asker {
  KernelCache &cache;
  int made = 0;

  KernelCache::Plan get(const std::string &name, int64_t tokens, int64_t first, int64_t end, size_t codeBytes = 10) {
    Result<KernelCache::Found> found = cache.get(key(name), tokens, [&](Cancellation &) -> Result<KernelCache::Plan> {
      ++made;
      return plan(first, end, codeBytes);
    });
    EXPECT_TRUE(found.isOk());
    return found->plan;
  }
};
} // namespace

TEST(KernelCache, IntervalsDecide) {
  KernelCache cache({});
  Asker asker{cache};
  KernelCache::Plan small = asker.get("a", 10, 0, 100);
  EXPECT_EQ(asker.get("a", 99, 0, 100), small);
  EXPECT_EQ(asker.made, 1);
  KernelCache::Plan large = asker.get("a", 100, 0, 1000);
  EXPECT_EQ(asker.made, 2);
  EXPECT_EQ(asker.get("a", 100, 0, 0), large);
  EXPECT_EQ(asker.get("a", 50, 0, 0), small) << "the plan for fewer tokens serves small calls better";
  EXPECT_NE(asker.get("b", 10, 0, 100), small);
  EXPECT_EQ(asker.made, 3);
}
TEST(KernelCache, FourIntervalsOfAKey) {
  KernelCache cache({});
  Asker asker{cache};
  for (int64_t i = 0; i < 4; ++i)
    asker.get("a", i, i, i + 1);
  asker.get("a", 0, 0, 0); // used again: interval 1 is the oldest now
  asker.get("a", 4, 4, 5);
  EXPECT_EQ(cache.usage().plans, 4);
  EXPECT_EQ(asker.made, 5);
  asker.get("a", 0, 0, 0);
  EXPECT_EQ(asker.made, 5);
  asker.get("a", 1, 1, 2);
  EXPECT_EQ(asker.made, 6);
}
TEST(KernelCache, LimitsOfPlansAndBytes) {
  KernelCache cache({3, 100});
  Asker asker{cache};
  for (const char *name : {"a", "b", "c", "d"})
    asker.get(name, 1, 0, 9);
  EXPECT_EQ(cache.usage().plans, 3);
  asker.get("b", 1, 0, 9);
  asker.get("e", 1, 0, 9, 80); // 10 of b fit beside it
  EXPECT_EQ(cache.usage().codeBytes, 100);
  asker.get("f", 1, 0, 9, 1000); // larger than the limit: kept until the next one comes
  EXPECT_EQ(cache.usage().plans, 1);
  EXPECT_EQ(asker.made, 6);
  asker.get("b", 1, 0, 9);
  EXPECT_EQ(asker.made, 7);
  EXPECT_EQ(cache.usage().codeBytes, 10);
  cache.clear();
  EXPECT_EQ(cache.usage().plans, 0);
}
TEST(KernelCache, PlansInUseOutliveTheCache) {
  KernelCache cache({1, 100});
  Asker asker{cache};
  KernelCache::Plan kept = asker.get("a", 1, 0, 9);
  asker.get("b", 1, 0, 9);
  EXPECT_EQ(kept->plan.tokensEnd, 9);
}

// ---- many askers --------------------------------------------------------------------------------

TEST(KernelCacheThreads, OneOfEightMakes) {
  KernelCache cache({});
  std::atomic<int> made{0}, isNew{0}, ready{0};
  std::vector<std::thread> threads;
  std::vector<KernelCache::Plan> plans(8);
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < 8)
        std::this_thread::yield();
      Result<KernelCache::Found> found = cache.get(key("a"), 5 + i, [&](Cancellation &) -> Result<KernelCache::Plan> {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return plan(0, 100);
      });
      isNew += found->isNew;
      plans[i] = found->plan;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(isNew, 1);
  for (const KernelCache::Plan &each : plans)
    EXPECT_EQ(each, plans[0]);
}
TEST(KernelCacheThreads, OtherIntervalsAndKeysAreMadeBesides) {
  KernelCache cache({});
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      int64_t interval = i % 2;
      Result<KernelCache::Found> found = cache.get(key(i < 4 ? "a" : "b"), 100 * interval + i, [&](Cancellation &) -> Result<KernelCache::Plan> {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return plan(100 * interval, 100 * interval + 100);
      });
      EXPECT_EQ(found->plan->plan.tokensFirst, 100 * interval);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 4);
}
TEST(KernelCacheThreads, AFailureIsToldToAllAndForgotten) {
  KernelCache cache({});
  std::atomic<int> made{0}, failed{0}, ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      ++ready;
      while (ready < 8)
        std::this_thread::yield();
      Result<KernelCache::Found> found = cache.get(key("a"), 5, [&](Cancellation &) -> Result<KernelCache::Plan> {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return Status(ErrorCode::Compile, "no");
      });
      failed += !found.isOk() && found.status().error().text == "no";
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failed, 8);
  EXPECT_EQ(made, 1);
  Asker asker{cache};
  EXPECT_TRUE(asker.get("a", 5, 0, 10));
}
TEST(KernelCacheThreads, AnExceptionDoesNotLeaveAskersWaiting) {
  KernelCache cache({});
  auto make = [](Cancellation &) -> Result<KernelCache::Plan> { throw std::runtime_error("out of luck"); };
  Result<KernelCache::Found> found = cache.get(key("a"), 5, make);
  ASSERT_FALSE(found.isOk());
  EXPECT_EQ(found.status().error().text, "making a plan failed: out of luck");
  Asker asker{cache};
  EXPECT_TRUE(asker.get("a", 5, 0, 10));
}
TEST(KernelCacheThreads, NoMemoryIsToldToTheCaller) {
  KernelCache cache({});
  EXPECT_THROW(static_cast<void>(cache.get(key("a"), 5, [](Cancellation &) -> Result<KernelCache::Plan> { throw std::bad_alloc(); })),
               std::bad_alloc);
  Asker asker{cache};
  EXPECT_TRUE(asker.get("a", 5, 0, 10));
}

// ---- interrupts ---------------------------------------------------------------------------------

namespace {
/// A plan that is being made until it is cancelled, or until the test lets it go.
struct SlowPlan {
  std::atomic<int> begun{0}, cancelled{0};
  std::atomic<bool> mayEnd{false};
};
KernelCache::Make makerOf(std::shared_ptr<SlowPlan> slow) {
  return [slow](Cancellation &cancellation) -> Result<KernelCache::Plan> {
    ++slow->begun;
    while (!slow->mayEnd) {
      if (cancellation.isRequested()) {
        ++slow->cancelled;
        return Status(ErrorCode::Compile, "cancelled");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return plan(0, 10);
  };
}
const Interrupt kAtOnce{[](void *) { return true; }, nullptr};
} // namespace

TEST(KernelCacheInterrupt, TheNextCallBeginsAgain) {
  KernelCache cache({});
  auto slow = std::make_shared<SlowPlan>();
  Result<KernelCache::Found> found = cache.get(key("a"), 5, makerOf(slow), kAtOnce);
  ASSERT_FALSE(found.isOk());
  EXPECT_EQ(found.status().error().code, ErrorCode::Interrupted);
  Asker asker{cache};
  EXPECT_TRUE(asker.get("a", 5, 0, 10)) << "the cancelled plan is not waited for";
  EXPECT_EQ(asker.made, 1);
  while (slow->cancelled == 0)
    std::this_thread::yield();
  EXPECT_EQ(cache.usage().plans, 1);
}
TEST(KernelCacheInterrupt, OthersStillGetThePlan) {
  KernelCache cache({});
  auto slow = std::make_shared<SlowPlan>();
  std::atomic<bool> hasLeft{false};
  std::thread first([&] {
    struct Context {
      SlowPlan &slow;
      int asked = 0;
    } context{*slow};
    // The other one has come by then.
    Interrupt later{[](void *given) { return ++static_cast<Context *>(given)->asked == 4; }, &context};
    EXPECT_FALSE(cache.get(key("a"), 5, makerOf(slow), later).isOk());
    hasLeft = true;
  });
  while (slow->begun == 0)
    std::this_thread::yield();
  std::thread second([&] {
    Result<KernelCache::Found> found = cache.get(key("a"), 5, makerOf(slow));
    ASSERT_TRUE(found.isOk());
    EXPECT_FALSE(found->isNew);
  });
  while (!hasLeft)
    std::this_thread::yield();
  slow->mayEnd = true;
  first.join();
  second.join();
  EXPECT_EQ(slow->begun, 1);
  EXPECT_EQ(slow->cancelled, 0);
}
TEST(KernelCacheInterrupt, APlanMayLandAfterItsCacheIsGone) {
  auto slow = std::make_shared<SlowPlan>();
  auto cache = std::make_unique<KernelCache>(KernelCache::Limits{});
  EXPECT_FALSE(cache->get(key("a"), 5, makerOf(slow), kAtOnce).isOk());
  cache.reset();
  slow->mayEnd = true;
}

TEST(KernelCache, APlanThatDoesNotCoverTheCallIsABug) {
  KernelCache cache({});
  Result<KernelCache::Found> found = cache.get(key("a"), 50, [](Cancellation &) -> Result<KernelCache::Plan> { return plan(0, 50); });
  ASSERT_FALSE(found.isOk());
  EXPECT_EQ(found.status().error().code, ErrorCode::Internal);
  EXPECT_EQ(found.status().error().text, "a plan for 50 tokens was asked for, but it covers 0 to below 50");
}
