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

  /// Calls run(task, thread) for every task below 'tasks', on up to 'threads' threads of which this
  /// one is number 0, and returns when all are done. While another thread's tasks run, or from
  /// within a task, this thread does all of them. False where the caller was interrupted: then no
  /// task runs any more, and some have not run. A task that may take long takes a Checkpoint & too,
  /// and ends early where that says so. All tasks treat subnormal numbers as this thread does.
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
