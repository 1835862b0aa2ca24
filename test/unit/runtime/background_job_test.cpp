// background_job_test.cpp - work on threads of its own: who waits, who leaves, forks, small stacks.
#include "compiler/Support/WorkThread.h"
#include "runtime/support/BackgroundJob.h"
#include "test/unit/runtime/Child.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
using namespace logitile;

namespace {
const Interrupt kNever;
const Interrupt kAtOnce{[](void *) { return true; }, nullptr};

/// Work that ends when it is told to, or when the test says so.
struct Patient {
  std::atomic<bool> begun{false}, mayEnd{false}, wasCancelled{false};
  BackgroundJob::Body body(std::shared_ptr<Patient> self) {
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

TEST(BackgroundJob, GivesItsResult) {
  Result<int> result = runInBackground(kNever, [](Cancellation &) -> Result<int> { return 7; });
  EXPECT_EQ(*result, 7);
  Result<int> failed = runInBackground(kNever, [](Cancellation &) -> Result<int> { return Status(ErrorCode::Value, "no"); });
  EXPECT_EQ(failed.status().error().text, "no");
}
TEST(BackgroundJob, ThrowsWhatTheWorkThrows) {
  auto work = [](Cancellation &) -> Result<int> { throw std::bad_alloc(); };
  EXPECT_THROW(static_cast<void>(runInBackground(kNever, work)), std::bad_alloc);
}
TEST(BackgroundJob, HasARoomyStackAndNoSignals) {
  onStackOf(128 << 10, [] {
    Result<size_t> left = runInBackground(kNever, [](Cancellation &) -> Result<size_t> {
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      EXPECT_TRUE(sigismember(&blocked, SIGINT));
      return stackLeft();
    });
    EXPECT_GT(*left, size_t(15) << 20);
    EXPECT_LT(stackLeft(), size_t(128) << 10);
  });
}
TEST(BackgroundJob, TheLastOneToLeaveCancels) {
  auto patient = std::make_shared<Patient>();
  auto job = std::make_shared<BackgroundJob>();
  ASSERT_TRUE(job->start(patient->body(patient)));
  ASSERT_TRUE(job->join());
  EXPECT_EQ(job->wait(kAtOnce).error().code, ErrorCode::Interrupted);
  EXPECT_FALSE(job->isRequested()) << "one still waits";
  EXPECT_EQ(job->wait(kAtOnce).error().text, "the call was interrupted");
  EXPECT_FALSE(job->join()) << "it is about to stop";
  patient->awaitEnd();
  EXPECT_TRUE(patient->wasCancelled);
}
TEST(BackgroundJob, AsksWhileItWaits) {
  auto patient = std::make_shared<Patient>();
  int asked = 0;
  Interrupt third{[](void *count) { return ++*static_cast<int *>(count) == 3; }, &asked};
  auto job = std::make_shared<BackgroundJob>();
  ASSERT_TRUE(job->start(patient->body(patient)));
  EXPECT_FALSE(job->wait(third).isOk());
  EXPECT_EQ(asked, 3);
  patient->awaitEnd();
}

// ---- no threads ---------------------------------------------------------------------------------

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
TEST(BackgroundJob, RunsHereWhereThereIsNoThread) {
  EXPECT_EQ(inChild([] {
              std::thread::id here = std::this_thread::get_id(), there;
              limitMemory(size_t(12) << 20);
              takeKeptStacks();
              Result<int> result = runInBackground(kNever, [&](Cancellation &) -> Result<int> {
                there = std::this_thread::get_id();
                return 7;
              });
              return result.isOk() && *result == 7 && here == there;
            }),
            0);
}
TEST(BackgroundJob, IsRefusedWhereTheStackIsTooSmallForThat) {
  EXPECT_EQ(inChild([] {
              bool isRefused = false;
              onStackOf(128 << 10, [&] {
                limitMemory(size_t(12) << 20);
                takeKeptStacks();
                Result<int> result = runInBackground(kNever, [](Cancellation &) -> Result<int> { return 7; });
                isRefused = !result.isOk() && result.status().error().text ==
                                                  "the system gives no thread to compile on, and the stack of the calling thread is too "
                                                  "small to compile there; raise the limits of threads and memory, or call from a thread "
                                                  "with a stack of 8 MiB";
              });
              return isRefused;
            }),
            0);
}
TEST(BackgroundJob, ThrowsWhereThereIsNoMemory) {
  EXPECT_EQ(inChild([] {
              limitMemory(0);
              try {
                static_cast<void>(runInBackground(kNever, [](Cancellation &) -> Result<int> { return 7; }));
              } catch (const std::bad_alloc &) {
                return true;
              }
              return false;
            }),
            0);
}
#endif

// ---- forks --------------------------------------------------------------------------------------

TEST(BackgroundJobFork, AChildHasJobsOfItsOwnAndEnds) {
  auto patient = std::make_shared<Patient>();
  auto job = std::make_shared<BackgroundJob>();
  ASSERT_TRUE(job->start(patient->body(patient)));
  EXPECT_EQ(inChild([] { return *runInBackground(kNever, [](Cancellation &) -> Result<int> { return 7; }) == 7; }), 0);
  patient->mayEnd = true;
  EXPECT_TRUE(job->wait(kNever).isOk());
}
