// ThreadPool.h - runs the tasks of a launch on the library's own threads. The result of a task must
// not depend on the thread that runs it.
#pragma once
#include "runtime/support/ForkGuard.h"
#include "runtime/support/Interrupt.h"
#include <memory>
#include <type_traits>

namespace logitile {
/// Threads start on demand, sleep between launches and end with the pool. A forked child starts its
/// own.
class ThreadPool {
public:
  ThreadPool();
  ~ThreadPool();

  /// Calls run(task, thread) for every task below 'tasks', on up to 'threads' threads, and returns
  /// when all tasks are done. The calling thread is number 0. It runs all tasks itself if the pool
  /// is busy with another caller's tasks, or if it is called from within a task. False if the
  /// caller was interrupted: then no task is running any more, and some tasks have not run. A task
  /// that may take long also gets a Checkpoint &, and ends early if that says so. All tasks treat
  /// subnormal numbers as the calling thread does.
  template <typename Run> bool run(int64_t tasks, int threads, Run &&task, const Interrupt &interrupt = {}) {
    return runTasks(
        tasks, threads, interrupt,
        [](void *context, int64_t number, int thread, Checkpoint &checkpoint) {
          auto &task = *static_cast<std::remove_reference_t<Run> *>(context);
          if constexpr (std::is_invocable_v<Run, int64_t, int, Checkpoint &>)
            task(number, thread, checkpoint);
          else
            task(number, thread);
        },
        &task);
  }

private:
  using Task = void (*)(void *context, int64_t task, int thread, Checkpoint &checkpoint);
  struct Crew;
  bool runTasks(int64_t tasks, int threads, const Interrupt &interrupt, Task task, void *context);
  Crew &crewOfThisProcess();

  ForkSafeMutex mutex; // guards the two below
  std::unique_ptr<Crew> crew;
  uint64_t generation = 0;
};
} // namespace logitile
