// WorkThread.h - the library's own threads. Their stack has a known size, and they receive no
// signals, because signals belong to the caller's threads.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <pthread.h>
#include <semaphore>

namespace logitile {
class WorkThread {
public:
  /// The size of a thread's stack. The deepest losses need a quarter of it. Only used pages take
  /// memory.
  static constexpr size_t kStackBytes = size_t(16) << 20;

  /// Runs 'body' on a new thread. Empty where the system has no thread or no memory for one.
  static std::optional<WorkThread> start(std::function<void()> body, size_t stackBytes = kStackBytes) noexcept;

  WorkThread(WorkThread &&) noexcept = default;
  WorkThread &operator=(WorkThread &&) = delete;
  /// Waits as 'join' does, but drops an exception of the body.
  ~WorkThread();

  /// Waits until the body has ended. Rethrows an exception of the body.
  void join();
  /// Lets the thread run on without anybody waiting for it.
  void detach();
  /// From now on the thread runs on the cores that it may use, other than 'core'. If fewer than
  /// 'least' would be left, it runs on all of them. What others choose for the thread stays in
  /// force, unless it happens to be what this function chose. Errors are ignored: where a thread
  /// runs decides its speed only.
  void keepOff(int core, int least);

private:
  struct Work {
    explicit Work(std::function<void()> body) : body(std::move(body)) {}

    std::function<void()> body;
    std::exception_ptr failure;
    std::binary_semaphore hasBegun{0};
    bool canRun = false; // the thread has memory for its own variables; set before it has begun
  };
  static void *run(void *work);
  WorkThread(pthread_t thread, std::shared_ptr<Work> work) : thread(thread), work(std::move(work)) {}

  pthread_t thread;
  std::shared_ptr<Work> work; // null where there is nothing to wait for
  cpu_set_t allowed{}, narrowed{}; // cores: those that others let it use, and what keepOff left of them
};

/// Bytes of stack that this thread has left.
size_t stackLeft();
} // namespace logitile
