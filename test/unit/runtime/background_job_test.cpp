// errand_test.cpp - work on threads of its own: who waits, who leaves, forks, small stacks.
#include "compiler/Support/WorkThread.h"
#include "runtime/support/Errand.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
using namespace logitile;

namespace {
const Interrupt kNever;
const Interrupt kAtOnce{[](void *) { return true; }, nullptr};

/// Work that ends when it is told to, or when the test says so.
struct Patient {
  std::atomic<bool> begun{false}, mayEnd{false}, wasCancelled{false};
  Errand::Body body(std::shared_ptr<Patient> self) {
    return [self](Cancellation &cancellation) {
      self->begun = true;
      while (!self->mayEnd && !self->wasCancelled) {
        self->wasCancelled = cancellation.isRequested();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      self->mayEnd = true;
    };
  }
  void awaitEnd() const {
    while (!mayEnd)
      std::this_thread::yield();
  }
};

/// Runs 'body' on a thread with a stack of so many bytes.
void onStackOf(size_t bytes, std::function<void()> body) { WorkThread::start(std::move(body), bytes)->join(); }
} // namespace

TEST(Errand, GivesItsResult) {
  Result<int> result = runErrand(kNever, [](Cancellation &) -> Result<int> { return 7; });
  EXPECT_EQ(*result, 7);
  Result<int> failed = runErrand(kNever, [](Cancellation &) -> Result<int> { return Status(ErrorCode::Value, "no"); });
  EXPECT_EQ(failed.status().error().text, "no");
}
TEST(Errand, ThrowsWhatTheWorkThrows) {
  auto work = [](Cancellation &) -> Result<int> { throw std::bad_alloc(); };
  EXPECT_THROW(static_cast<void>(runErrand(kNever, work)), std::bad_alloc);
}
TEST(Errand, HasARoomyStackAndNoSignals) {
  onStackOf(128 << 10, [] {
    Result<size_t> left = runErrand(kNever, [](Cancellation &) -> Result<size_t> {
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      EXPECT_TRUE(sigismember(&blocked, SIGINT));
      return stackLeft();
    });
    EXPECT_GT(*left, size_t(15) << 20);
    EXPECT_LT(stackLeft(), size_t(128) << 10);
  });
}
TEST(Errand, TheLastOneToLeaveCancels) {
  auto patient = std::make_shared<Patient>();
  auto errand = std::make_shared<Errand>();
  ASSERT_TRUE(errand->start(patient->body(patient)));
  ASSERT_TRUE(errand->join());
  EXPECT_EQ(errand->wait(kAtOnce).error().code, ErrorCode::Interrupted);
  EXPECT_FALSE(errand->isRequested()) << "one still waits";
  EXPECT_EQ(errand->wait(kAtOnce).error().text, "the call was interrupted");
  EXPECT_FALSE(errand->join()) << "it is about to stop";
  patient->awaitEnd();
  EXPECT_TRUE(patient->wasCancelled);
}
TEST(Errand, AsksWhileItWaits) {
  auto patient = std::make_shared<Patient>();
  int asked = 0;
  Interrupt third{[](void *count) { return ++*static_cast<int *>(count) == 3; }, &asked};
  auto errand = std::make_shared<Errand>();
  ASSERT_TRUE(errand->start(patient->body(patient)));
  EXPECT_FALSE(errand->wait(third).isOk());
  EXPECT_EQ(asked, 3);
  patient->awaitEnd();
}

// ---- no threads ---------------------------------------------------------------------------------

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
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) // which need much memory themselves
static void limitMemory(size_t bytesMore) {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages;
  rlimit limit{pages * 4096 + bytesMore, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}
/// Threads that wait until the process ends, on stacks that the C library kept. After them, new
/// stacks are needed.
static void takeKeptStacks() {
  for (int i = 0; i < 20; ++i)
    if (auto thread = WorkThread::start([] { pause(); }))
      thread->detach();
}
TEST(Errand, RunsHereWhereThereIsNoThread) {
  EXPECT_EQ(inChild([] {
              std::thread::id here = std::this_thread::get_id(), there;
              limitMemory(size_t(12) << 20);
              takeKeptStacks();
              Result<int> result = runErrand(kNever, [&](Cancellation &) -> Result<int> {
                there = std::this_thread::get_id();
                return 7;
              });
              return result.isOk() && *result == 7 && here == there;
            }),
            0);
}
TEST(Errand, IsRefusedWhereTheStackIsTooSmallForThat) {
  EXPECT_EQ(inChild([] {
              bool isRefused = false;
              onStackOf(128 << 10, [&] {
                limitMemory(size_t(12) << 20);
                takeKeptStacks();
                Result<int> result = runErrand(kNever, [](Cancellation &) -> Result<int> { return 7; });
                isRefused = !result.isOk() && result.status().error().text ==
                                                  "the system gives no thread to compile on, and the stack of the calling thread is too "
                                                  "small to compile there; raise the limits of threads and memory, or call from a thread "
                                                  "with a stack of 8 MiB";
              });
              return isRefused;
            }),
            0);
}
TEST(Errand, ThrowsWhereThereIsNoMemory) {
  EXPECT_EQ(inChild([] {
              limitMemory(0);
              try {
                static_cast<void>(runErrand(kNever, [](Cancellation &) -> Result<int> { return 7; }));
              } catch (const std::bad_alloc &) {
                return true;
              }
              return false;
            }),
            0);
}
#endif

// ---- forks --------------------------------------------------------------------------------------

TEST(ErrandFork, AChildHasErrandsOfItsOwnAndEnds) {
  auto patient = std::make_shared<Patient>();
  auto errand = std::make_shared<Errand>();
  ASSERT_TRUE(errand->start(patient->body(patient)));
  EXPECT_EQ(inChild([] { return *runErrand(kNever, [](Cancellation &) -> Result<int> { return 7; }) == 7; }), 0);
  patient->mayEnd = true;
  EXPECT_TRUE(errand->wait(kNever).isOk());
}
