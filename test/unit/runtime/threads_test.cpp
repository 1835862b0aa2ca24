// threads_test.cpp - the pool of threads: every task once, nested and concurrent launches, forks,
// environment.
#include "runtime/arrays/Floats.h"
#include "runtime/support/FloatEnvironment.h"
#include "runtime/cpu/ThreadCount.h"
#include "runtime/cpu/ThreadPool.h"
#include "test/unit/runtime/Child.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sched.h>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>
using namespace logitile;

static const Interrupt kNever;

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

// ---- subnormal numbers --------------------------------------------------------------------------

/// Tasks that lost such a number, as operand or as result. Each thread waits until all take part.
static int countFlushing(ThreadPool &pool) {
  std::atomic<int> lost{0}, begun{0};
  pool.run(4, 4, [&](int64_t, int) {
    for (++begun; begun < 4;)
      std::this_thread::yield();
    volatile float tiny = 1e-39f, large = 0x1p30f, least = 2e-38f, half = 0.25f;
    lost += tiny * large == 0 && least * half == 0;
  });
  return lost;
}
TEST(ThreadPool, TasksTreatSubnormalNumbersAsTheCallerDoes) {
  ThreadPool pool;
  for (uint32_t bits : {0u, 0x8040u, 0u}) {
    const uint32_t before = _mm_getcsr();
    _mm_setcsr((before & ~0x8040u) | bits);
    int inside, outside = countFlushing(pool);
    {
      DefaultFloatEnvironment environment;
      inside = countFlushing(pool);
    }
    const uint32_t after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after & 0x8040u, bits);
    EXPECT_EQ(inside, bits ? 4 : 0);
    EXPECT_EQ(outside, bits ? 4 : 0);
  }
}
TEST(ThreadPool, InterruptsAreAskedAsTheCallerIs) {
  ThreadPool pool;
  const uint32_t before = _mm_getcsr();
  std::atomic<uint32_t> asked{~0u};
  Interrupt ask{[](void *asked) {
                  *static_cast<std::atomic<uint32_t> *>(asked) = _mm_getcsr() & 0x8040;
                  return false;
                },
                &asked};
  pool.run(3, 1, [](int64_t, int) { _mm_setcsr(_mm_getcsr() | 0x8040); }, ask); // as a kernel may while it runs
  _mm_setcsr(before);
  EXPECT_EQ(asked, 0u);
}
TEST(Half, NumbersStayWhereSubnormalFloatsAreZero) {
  for (uint32_t bits : {0u, 0x8040u}) {
    const uint32_t before = _mm_getcsr();
    _mm_setcsr(before | bits);
    int wrong = 0;
    for (uint32_t half = 0; half < 0x7c00; ++half) {
      Half number;
      number.bits = static_cast<uint16_t>(half);
      const uint32_t exponent = half >> 10, fraction = half & 0x3ff;
      const double right = exponent ? std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25) : std::ldexp(fraction, -24);
      wrong += static_cast<double>(static_cast<float>(number)) != right || Half(static_cast<float>(number)).bits != half;
    }
    _mm_setcsr(before);
    EXPECT_EQ(wrong, 0) << bits;
  }
}

// ---- interrupts ---------------------------------------------------------------------------------

TEST(ThreadPoolInterrupt, NoTaskBeginsAfterwards) {
  ThreadPool pool;
  for (int threads : {1, 3}) {
    std::atomic<int> ran{0}, elsewhere{0};
    struct Caller {
      std::thread::id thread = std::this_thread::get_id();
      std::atomic<int> *ran, *elsewhere;
    } caller{std::this_thread::get_id(), &ran, &elsewhere};
    Interrupt after10{[](void *given) {
                        auto *caller = static_cast<Caller *>(given);
                        *caller->elsewhere += std::this_thread::get_id() != caller->thread;
                        return *caller->ran >= 10;
                      },
                      &caller};
    auto task = [&](int64_t, int) {
      ++ran;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    EXPECT_FALSE(pool.run(100000, threads, task, after10));
    int atEnd = ran;
    EXPECT_LT(atEnd, 10000);
    EXPECT_EQ(elsewhere, 0) << "the caller alone is asked";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(ran, atEnd) << "all tasks had ended";
    Tally tally(100);
    EXPECT_TRUE(pool.run(100, threads, tally, kNever));
    EXPECT_TRUE(tally.isOnceEach());
  }
}
TEST(ThreadPoolInterrupt, TheCallerIsAskedWhileHelpersWork) {
  ThreadPool pool;
  std::atomic<bool> asked{false};
  Interrupt ask{[](void *asked) { return static_cast<std::atomic<bool> *>(asked)->exchange(true) && false; }, &asked};
  // The caller's task ends at once, that of the helper when the caller was asked.
  EXPECT_TRUE(pool.run(
      2, 2,
      [&](int64_t, int thread) {
        while (thread > 0 && !asked)
          std::this_thread::yield();
      },
      ask));
}
TEST(ThreadPoolInterrupt, TasksThatTakeLongEndEarly) {
  ThreadPool pool;
  Interrupt always{[](void *) { return true; }, nullptr};
  auto untilItMustEnd = [](int64_t, int, Checkpoint &checkpoint) {
    while (!checkpoint.mustEnd(&checkpoint))
      std::this_thread::yield();
  };
  for (int threads : {1, 3})
    EXPECT_FALSE(pool.run(threads, threads, untilItMustEnd, always));
}
TEST(ThreadPoolInterrupt, AHandlerMayLaunchItself) {
  ThreadPool pool;
  Interrupt launch{[](void *pool) {
                     Tally tally(5);
                     static_cast<ThreadPool *>(pool)->run(5, 3, tally);
                     return !tally.isOnceEach();
                   },
                   &pool};
  Tally tally(50);
  EXPECT_TRUE(pool.run(50, 3, tally, launch));
  EXPECT_TRUE(tally.isOnceEach());
}
TEST(ThreadPool, HelpersReceiveNoSignals) {
  ThreadPool pool;
  std::atomic<int> open{0}, helped{0};
  pool.run(2, 2, [&](int64_t, int thread) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    open += thread > 0 && !sigismember(&blocked, SIGINT);
    helped += thread > 0;
    while (helped == 0)
      std::this_thread::yield();
  });
  EXPECT_EQ(open, 0);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGINT));
}

// ---- cores --------------------------------------------------------------------------------------

/// Tests put the caller on one of two cores.
class ThreadPoolCores : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &before))
        cores.push_back(core);
    if (cores.size() < 2)
      GTEST_SKIP() << "this process may use one core only";
    onHelper([] {}); // helpers begin with the cores of the thread that starts them
  }
  void TearDown() override { sched_setaffinity(0, sizeof before, &before); }

  static cpu_set_t only(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return one;
  }
  static void useOnly(int core) {
    cpu_set_t one = only(core);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  /// Runs 'body' on a helper of the pool. Returns the cores that the helper may use then.
  cpu_set_t onHelper(std::function<void()> body, int threads = 2) {
    cpu_set_t found;
    std::atomic<bool> isDone{false};
    pool.run(threads, threads, [&](int64_t, int thread) {
      if (thread == 1) {
        body();
        sched_getaffinity(0, sizeof found, &found);
        isDone = true;
      }
      while (!isDone)
        std::this_thread::yield();
    });
    return found;
  }

  ThreadPool pool;
  cpu_set_t before;
  std::vector<int> cores;
};
TEST_F(ThreadPoolCores, HelpersKeepOffThatOfTheCaller) {
  for (int core : {cores[0], cores[1], cores[0]}) {
    useOnly(core);
    cpu_set_t expected = before, found = onHelper([] {});
    CPU_CLR(core, &expected);
    EXPECT_TRUE(CPU_EQUAL(&found, &expected)) << core;
  }
}
TEST_F(ThreadPoolCores, MoreHelpersThanOtherCoresUseAll) {
  useOnly(cores[0]);
  onHelper([] {});
  sched_setaffinity(0, sizeof before, &before); // for the helpers that start now
  cpu_set_t found = onHelper([] {}, static_cast<int>(cores.size()) + 1);
  EXPECT_TRUE(CPU_EQUAL(&found, &before));
}
TEST_F(ThreadPoolCores, WhatOthersChooseForHelpersStays) {
  useOnly(cores[1]);
  onHelper([&] { useOnly(cores[1]); });
  for (int core : {cores[0], cores[1], cores[0]}) { // the second one leaves no other core
    useOnly(core);
    cpu_set_t expected = only(cores[1]), found = onHelper([] {});
    EXPECT_TRUE(CPU_EQUAL(&found, &expected)) << core;
  }
}

// ---- forks --------------------------------------------------------------------------------------

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

// ---- how many -----------------------------------------------------------------------------------

class ThreadCount : public testing::Test {
protected:
  void TearDown() override { unsetenv("LOGITILE_NUM_THREADS"); }
};
TEST_F(ThreadCount, TheEnvironmentWins) {
  setenv("LOGITILE_NUM_THREADS", "3", 1);
  EXPECT_EQ(*chooseThreads(8), 3);
}
static int withinQuota(int count) { return std::min(count, quotaOfCores().value_or(count)); }
TEST_F(ThreadCount, ThenTheCaller) { EXPECT_EQ(*chooseThreads(5), withinQuota(5)); }
TEST_F(ThreadCount, ThenTheCoresOfThisProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(*chooseThreads(0), withinQuota(CPU_COUNT(&before)));
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

// ---- quotas -------------------------------------------------------------------------------------

/// Files of a system, below a folder of its own.
class Quota : public testing::Test {
protected:
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories((root + path).substr(0, (root + path).find_last_of('/')));
    std::ofstream(root + path) << text;
  }
  void writeVersion2(const std::string &mountedGroup, const std::string &group) {
    write("/proc/self/mountinfo", "23 1 0:21 / /proc rw - proc proc rw\n"
                                  "31 23 0:26 " + mountedGroup + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    write("/proc/self/cgroup", "0::" + group + "\n");
  }
  void writeVersion1(const std::string &mountedGroup, const std::string &group) {
    write("/proc/self/mountinfo", "32 23 0:27 " + mountedGroup + " /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                                  "33 23 0:28 " + mountedGroup + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    write("/proc/self/cgroup", "5:cpuset:" + group + "\n4:cpu,cpuacct:" + group + "\n");
  }
  const std::string root = testing::TempDir() + "logitile-quota-" + std::to_string(getpid());
};
TEST_F(Quota, NoneWithoutGroups) { EXPECT_EQ(quotaOfCores(root), std::nullopt); }
TEST_F(Quota, Version2IsRoundedUp) {
  writeVersion2("/", "/");
  for (auto [text, cores] : {std::pair("200000 100000\n", 2), {"150000 100000\n", 2}, {"20000 100000\n", 1}, {"700000 200000\n", 4}}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quotaOfCores(root), cores) << text;
  }
  for (const char *text : {"max 100000\n", "", "nonsense\n", "0 100000\n"}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quotaOfCores(root), std::nullopt) << text;
  }
}
TEST_F(Quota, TheGroupsAroundItCount) {
  writeVersion2("/", "/user.slice/a/b");
  write("/sys/fs/cgroup/user.slice/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/user.slice/a/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/user.slice/cpu.max", "500000 100000\n");
  EXPECT_EQ(quotaOfCores(root), 3);
  write("/sys/fs/cgroup/user.slice/a/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(quotaOfCores(root), 1);
}
TEST_F(Quota, Version1) {
  writeVersion1("/", "/jobs");
  write("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "250000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quotaOfCores(root), 3);
  write("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quotaOfCores(root), std::nullopt);
}
TEST_F(Quota, AContainerSeesItsOwnGroupAsTheRoot) {
  writeVersion1("/docker/7f", "/docker/7f");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quotaOfCores(root), 4);
}
