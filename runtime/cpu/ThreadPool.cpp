// ThreadPool.cpp - the threads, how they wait and how they share tasks.
#include "runtime/cpu/ThreadPool.h"
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>
using namespace logitile;

// ---- how many -----------------------------------------------------------------------------------------------------------

Result<int> logitile::chooseThreads(int wanted) {
  constexpr int kMost = 1024;
  if (const char *text = std::getenv("LOGITILE_NUM_THREADS"); text && *text) {
    int count = 0;
    auto [end, error] = std::from_chars(text, text + std::strlen(text), count);
    if (error != std::errc() || *end || count < 1 || count > kMost)
      return Status(ErrorCode::Value,
                    "LOGITILE_NUM_THREADS is '" + std::string(text) + "'; it must be a number from 1 to " + std::to_string(kMost));
    return count;
  }
  if (wanted > 0)
    return std::min(wanted, kMost);
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
    return std::clamp(CPU_COUNT(&cores), 1, kMost);
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, static_cast<unsigned>(kMost)));
}

// ---- threads --------------------------------------------------------------------------------------------------------------

namespace {
/// This thread runs tasks now: further ones run inline.
thread_local bool isWorking = false;

struct Job {
  void (*task)(void *context, int64_t number, int thread);
  void *context;
  int64_t tasks;
  int helpers;
  std::atomic<int64_t> next{0};

  void work(int thread) {
    for (int64_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
      task(context, number, thread);
  }
};

/// Long enough to bridge two launches of one call, short enough not to take a core from the caller's other threads.
constexpr std::chrono::microseconds kSpinTime{20};
template <typename Condition> void spinUntil(Condition condition) {
  auto end = std::chrono::steady_clock::now() + kSpinTime;
  while (!condition() && std::chrono::steady_clock::now() < end) {
  }
}
} // namespace

struct ThreadPool::Crew {
  std::mutex caller; // held by the thread whose tasks run
  std::mutex mutex;  // guards what follows, as far as it is not atomic
  std::condition_variable wake, done;
  Job *job = nullptr; // null where no helper may join any more
  std::atomic<uint64_t> jobs{0};
  std::atomic<int> joined{0};
  bool stops = false;
  std::vector<std::thread> threads;

  ~Crew() {
    {
      std::lock_guard lock(mutex);
      stops = true;
    }
    wake.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  /// As many helpers as the system gives.
  void grow(int helpers) {
    if (static_cast<int>(threads.size()) >= helpers)
      return;
    sigset_t all, before; // signals belong to the caller's threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      while (static_cast<int>(threads.size()) < helpers)
        threads.emplace_back([this, index = static_cast<int>(threads.size())] { serve(index); });
    } catch (const std::system_error &) { // fewer threads are only slower
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve(int index) {
    isWorking = true;
    std::fesetenv(FE_DFL_ENV);
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
    {
      std::lock_guard lock(mutex);
      job = &work;
      ++jobs;
    }
    wake.notify_all();
    isWorking = true;
    work.work(0);
    isWorking = false;
    std::unique_lock lock(mutex);
    job = nullptr; // who has not joined by now need not
    if (joined == 0)
      return;
    lock.unlock();
    spinUntil([&] { return joined.load(std::memory_order_acquire) == 0; });
    lock.lock();
    done.wait(lock, [&] { return joined == 0; });
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

void ThreadPool::runTasks(int64_t tasks, int threads, Task task, void *context) {
  Job job{task, context, tasks, static_cast<int>(std::min<int64_t>(threads, tasks)) - 1};
  if (job.helpers <= 0 || isWorking)
    return job.work(0);
  Crew &crew = crewOfThisProcess();
  std::unique_lock lock(crew.caller, std::try_to_lock);
  if (!lock.owns_lock())
    return job.work(0);
  crew.run(job);
}
