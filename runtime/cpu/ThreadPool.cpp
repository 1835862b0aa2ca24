// ThreadPool.cpp - the threads, how they wait and how they share tasks.
#include "runtime/cpu/ThreadPool.h"
#include "compiler/Support/WorkThread.h"
#include "runtime/support/FloatEnvironment.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <sched.h>
#include <vector>
using namespace logitile;

namespace {
/// This thread runs tasks now: further ones run inline.
thread_local bool isWorking = false;

struct Job {
  void (*task)(void *context, int64_t number, int thread, Checkpoint &checkpoint);
  void *context;
  int64_t tasks;
  int helpers;
  const Interrupt &interrupt; // asked by the caller's thread alone
  SubnormalMode subnormals = SubnormalMode::ofThisThread(); // of the caller's thread, for all
  std::atomic<int64_t> next{0};
  std::atomic<bool> isInterrupted{false}; // set by the caller's thread

  void work(int thread) {
    DefaultFloatEnvironment environment(subnormals);
    HelperCheckpoint checkpoint(*this);
    for (int64_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
      task(context, number, thread, checkpoint);
  }
  /// The same on the caller's thread.
  void workAndAsk() {
    CallerCheckpoint checkpoint(*this);
    for (int64_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < tasks; ask())
      task(context, number, 0, checkpoint);
  }
  /// Nobody begins another task where the caller is interrupted. Handlers of signals may be asked
  /// only until they say so.
  void ask() {
    DefaultFloatEnvironment environment(subnormals); // a task may have its own
    if (isInterrupted || !interrupt())
      return;
    isInterrupted = true;
    next.store(tasks, std::memory_order_relaxed);
  }

private:
  struct HelperCheckpoint : Checkpoint {
    const Job &job;
    explicit HelperCheckpoint(const Job &job) : Checkpoint{&mustEnd}, job(job) {}
    static int32_t mustEnd(Checkpoint *self) { return static_cast<HelperCheckpoint *>(self)->job.isInterrupted.load(std::memory_order_relaxed); }
  };
  /// Asks the caller itself once in a while.
  struct CallerCheckpoint : Checkpoint {
    Job &job;
    std::chrono::steady_clock::time_point next = std::chrono::steady_clock::now() + kInterruptPeriod;
    explicit CallerCheckpoint(Job &job) : Checkpoint{&mustEnd}, job(job) {}
    static int32_t mustEnd(Checkpoint *self) {
      auto &mine = *static_cast<CallerCheckpoint *>(self);
      auto now = std::chrono::steady_clock::now();
      if (now >= mine.next) {
        mine.job.ask();
        mine.next = now + kInterruptPeriod;
      }
      return mine.job.isInterrupted.load(std::memory_order_relaxed);
    }
  };
};

/// Kernels keep large things elsewhere.
constexpr size_t kHelperStackBytes = size_t(2) << 20;

/// Long enough to bridge two launches of one call, short enough not to take a core from the
/// caller's other threads.
constexpr std::chrono::microseconds kSpinTime{20};
template <typename Condition> void spinUntil(Condition condition) {
  auto end = std::chrono::steady_clock::now() + kSpinTime;
  while (!condition() && std::chrono::steady_clock::now() < end) {
  }
}
} // namespace

struct ThreadPool::Crew {
  std::mutex caller; // held by the thread whose tasks run; guards the last three
  std::mutex mutex;  // guards what follows, as far as it is not atomic
  std::condition_variable wake, done;
  Job *job = nullptr; // null where no helper may join any more
  std::atomic<uint64_t> jobs{0};
  std::atomic<int> joined{0};
  bool stops = false;
  int callerCore = -1;
  size_t keptOff = 0; // so many helpers are kept off this core
  std::vector<WorkThread> threads; // end before what they use

  ~Crew() {
    {
      std::lock_guard lock(mutex);
      stops = true;
    }
    wake.notify_all();
  }

  /// As many helpers as the system gives: fewer are only slower.
  void grow(int helpers) {
    if (static_cast<int>(threads.size()) >= helpers)
      return;
    try {
      threads.reserve(helpers);
      while (static_cast<int>(threads.size()) < helpers) {
        auto started = WorkThread::start([this, index = static_cast<int>(threads.size())] { serve(index); }, kHelperStackBytes);
        if (!started)
          return;
        threads.push_back(std::move(*started));
      }
    } catch (const std::bad_alloc &) {
    }
  }

  /// Linux may wake a helper on the core of the caller although another core is idle, and moves it
  /// only milliseconds later: idle cores of a virtual machine look busy, because its host has taken
  /// them back. So helpers do not use the caller's core.
  void keepOffCaller() {
    int core = sched_getcpu();
    if (core == callerCore && keptOff == threads.size())
      return;
    for (WorkThread &thread : threads)
      thread.keepOff(core, static_cast<int>(threads.size()));
    callerCore = core;
    keptOff = threads.size();
  }

  void serve(int index) {
    isWorking = true;
    uint64_t seen = 0;
    for (;;) {
      spinUntil([&] { return jobs.load(std::memory_order_acquire) != seen; });
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stops || jobs != seen; });
      if (stops)
        return;
      seen = jobs;
      Job *mine = job;
      if (!mine || index >= mine->helpers)
        continue;
      ++joined;
      lock.unlock();
      mine->work(index + 1);
      lock.lock();
      if (--joined == 0)
        done.notify_one();
    }
  }

  void run(Job &work) {
    grow(work.helpers);
    keepOffCaller();
    {
      std::lock_guard lock(mutex);
      job = &work;
      ++jobs;
    }
    wake.notify_all();
    isWorking = true; // what handlers of signals call runs inline
    work.workAndAsk();
    std::unique_lock lock(mutex);
    job = nullptr; // helpers that have not joined by now have nothing to do
    if (joined > 0) {
      lock.unlock();
      spinUntil([&] { return joined.load(std::memory_order_acquire) == 0; });
      lock.lock();
    }
    while (!done.wait_for(lock, kInterruptPeriod, [&] { return joined == 0; })) {
      lock.unlock();
      work.ask();
      lock.lock();
    }
    isWorking = false;
  }
};

ThreadPool::ThreadPool() = default;
ThreadPool::~ThreadPool() {
  if (generation != forkGeneration())
    static_cast<void>(crew.release()); // its threads live in the parent only
}

ThreadPool::Crew &ThreadPool::crewOfThisProcess() {
  std::lock_guard lock(mutex);
  if (!crew || generation != forkGeneration()) {
    static_cast<void>(crew.release());
    crew = std::make_unique<Crew>();
    generation = forkGeneration();
  }
  return *crew;
}

bool ThreadPool::runTasks(int64_t tasks, int threads, const Interrupt &interrupt, Task task, void *context) {
  Job job{task, context, tasks, static_cast<int>(std::min<int64_t>(threads, tasks)) - 1, interrupt};
  auto runInline = [&] {
    job.workAndAsk();
    return !job.isInterrupted;
  };
  if (job.helpers <= 0 || isWorking)
    return runInline();
  Crew &crew = crewOfThisProcess();
  std::unique_lock lock(crew.caller, std::try_to_lock);
  if (!lock.owns_lock())
    return runInline();
  crew.run(job);
  return !job.isInterrupted;
}
