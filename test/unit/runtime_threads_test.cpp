// runtime_threads_test.cpp - the pool of threads: every task once, nested and concurrent launches, forks, environment.
#include "runtime/FloatEnvironment.h"
#include "runtime/cpu/ThreadPool.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <sched.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
using namespace logitile;

/// How often each task ran, and the largest thread number seen.
struct Tally {
  explicit Tally(int64_t tasks) : counts(tasks) {}
  void operator()(int64_t task, int thread) {
    ++counts[task];
    for (int seen = most; thread > seen && !most.compare_exchange_weak(seen, thread);) {
    }
  }
  bool isOnceEach() const {
    for (const std::atomic<int> &count : counts)
      if (count != 1)
        return false;
    return true;
  }
  std::vector<std::atomic<int>> counts;
  std::atomic<int> most{0};
};

TEST(ThreadPool, EveryTaskOnce) {
  ThreadPool pool;
  for (int threads : {1, 2, 7, 3, 1, 16})
    for (int64_t tasks : {0, 1, 2, 5, 1000}) {
      Tally tally(tasks);
      pool.run(tasks, threads, tally);
      EXPECT_TRUE(tally.isOnceEach()) << threads << " " << tasks;
      EXPECT_LT(tally.most, threads);
    }
}
TEST(ThreadPool, OtherThreadsHelp) {
  ThreadPool pool;
  std::atomic<int> waiting{0};
  // Every task waits for the other: one thread alone would never end.
  pool.run(3, 3, [&](int64_t, int) {
    ++waiting;
    while (waiting < 3)
      std::this_thread::yield();
  });
  EXPECT_EQ(waiting, 3);
}
TEST(ThreadPool, ManyShortLaunches) {
  ThreadPool pool;
  int64_t total = 0;
  for (int round = 0; round < 20000; ++round) {
    std::atomic<int64_t> sum{0};
    pool.run(4, 4, [&](int64_t task, int) { sum += task; });
    total += sum;
  }
  EXPECT_EQ(total, 6 * 20000);
}
TEST(ThreadPool, NestedLaunchesRunInline) {
  ThreadPool pool;
  std::atomic<int> inner{0}, wrongThread{0};
  pool.run(4, 2, [&](int64_t, int) {
    std::thread::id outer = std::this_thread::get_id();
    pool.run(5, 4, [&](int64_t, int thread) {
      ++inner;
      wrongThread += thread != 0 || std::this_thread::get_id() != outer;
    });
  });
  EXPECT_EQ(inner, 20);
  EXPECT_EQ(wrongThread, 0);
}
TEST(ThreadPool, CallersDoNotWaitForEachOther) {
  ThreadPool pool;
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Tally tally(17);
        pool.run(17, 3, tally);
        wrong += !tally.isOnceEach();
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}
TEST(ThreadPool, PoolsComeAndGo) {
  for (int round = 0; round < 50; ++round) {
    ThreadPool pool;
    Tally tally(8);
    pool.run(8, 4, tally);
    EXPECT_TRUE(tally.isOnceEach());
  }
}
TEST(ThreadPool, TasksKeepDenormals) {
  ThreadPool pool;
  std::atomic<int> lost{0};
  DefaultFloatEnvironment environment;
  pool.run(64, 4, [&](int64_t task, int) {
    volatile float tiny = 1e-39f * static_cast<float>(task + 1);
    lost += tiny * 0.5f == 0;
  });
  EXPECT_EQ(lost, 0);
}

// ---- forks ------------------------------------------------------------------------------------------------------------------

/// Runs 'body' in a forked child and returns its exit status; -1 where it crashed or hung.
template <typename Body> static int inChild(Body body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    quick_exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static bool worksOn(ThreadPool &pool) {
  Tally tally(100);
  pool.run(100, 4, tally);
  return tally.isOnceEach();
}
TEST(ThreadPoolFork, ChildAndParentBothWork) {
  ThreadPool pool;
  ASSERT_TRUE(worksOn(pool));
  EXPECT_EQ(inChild([&] { return worksOn(pool) && worksOn(pool) && inChild([&] { return worksOn(pool); }) == 0; }), 0);
  EXPECT_TRUE(worksOn(pool));
}
TEST(ThreadPoolFork, WhileAnotherThreadLaunches) {
  ThreadPool pool;
  std::atomic<bool> stops{false};
  std::thread busy([&] {
    while (!stops)
      worksOn(pool);
  });
  for (int round = 0; round < 10; ++round)
    EXPECT_EQ(inChild([&] { return worksOn(pool); }), 0);
  stops = true;
  busy.join();
}
TEST(ThreadPoolFork, ChildMayEndWithoutUsingIt) {
  EXPECT_EQ(inChild([&] {
              auto pool = std::make_unique<ThreadPool>();
              worksOn(*pool);
              bool isFine = inChild([&] {
                              pool.reset();
                              return true;
                            }) == 0;
              return isFine;
            }),
            0);
}

// ---- how many -----------------------------------------------------------------------------------------------------------------

class ThreadCount : public testing::Test {
protected:
  void TearDown() override { unsetenv("LOGITILE_NUM_THREADS"); }
};
TEST_F(ThreadCount, TheEnvironmentWins) {
  setenv("LOGITILE_NUM_THREADS", "3", 1);
  EXPECT_EQ(*chooseThreads(8), 3);
}
TEST_F(ThreadCount, ThenTheCaller) { EXPECT_EQ(*chooseThreads(5), 5); }
TEST_F(ThreadCount, ThenTheCoresOfThisProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(*chooseThreads(0), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &before))
      CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(*chooseThreads(0), 1);
  sched_setaffinity(0, sizeof(before), &before);
}
TEST_F(ThreadCount, NonsenseIsRefused) {
  for (const char *text : {"0", "-2", "four", "4x", "99999999999"}) {
    setenv("LOGITILE_NUM_THREADS", text, 1);
    Result<int> count = chooseThreads(2);
    ASSERT_FALSE(count.isOk()) << text;
    EXPECT_EQ(count.status().error().text, "LOGITILE_NUM_THREADS is '" + std::string(text) + "'; it must be a number from 1 to 1024");
  }
}
