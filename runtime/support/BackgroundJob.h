// BackgroundJob.h - background jobs: long work on a separate thread. Those who wait for it may
// leave, and the size of their stacks does not matter.
#pragma once
#include "compiler/Support/Cancellation.h"
#include "runtime/support/Interrupt.h"
#include "runtime/support/Status.h"
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace logitile {
/// Work on a separate thread, and the callers that wait for it. When all of them have stopped
/// waiting, the work is cancelled. The work may outlive the callers, so it must own what it uses.
/// The process may end while it runs.
class BackgroundJob : public Cancellation, public std::enable_shared_from_this<BackgroundJob> {
public:
  using Body = std::function<void(Cancellation &)>;

  /// The caller that constructs a job is the first to wait for it. Others must call 'join' first.
  BackgroundJob() = default;
  /// Runs 'body' on a new thread. If the system cannot start a thread, runs it on the calling
  /// thread. False if the calling thread's stack is too small for that: then the body does not run,
  /// and all waiting callers get an error. Throws if there is no memory.
  bool start(Body body);
  /// Called instead of 'start': all waiting callers get this exception.
  void fail(std::exception_ptr thrown) { finish(Status(), std::move(thrown)); }

  /// Adds a caller that will wait. False if all callers have stopped waiting: the work is being
  /// cancelled.
  bool join();
  /// Waits until the body has ended, and rethrows its exception. An error if the caller is
  /// interrupted.
  Status wait(const Interrupt &interrupt);

  bool isRequested() override;

private:
  void run(const Body &body);
  void finish(Status status, std::exception_ptr thrown);
  void leave();

  std::atomic<int> waiting{1}; // kGivenUp: nobody may join any more
  std::mutex mutex;            // guards what follows
  std::condition_variable ended;
  bool isDone = false;
  Status refusal;
  std::exception_ptr failure;
};

/// Runs 'work', which takes a Cancellation and returns a Result, as a background job. 'work' may
/// outlive the call, so it owns what it uses.
template <typename Work> auto runInBackground(const Interrupt &interrupt, Work work) -> std::invoke_result_t<Work &, Cancellation &> {
  auto job = std::make_shared<BackgroundJob>();
  auto outcome = std::make_shared<std::optional<std::invoke_result_t<Work &, Cancellation &>>>();
  job->start([work = std::move(work), outcome](Cancellation &cancellation) mutable { outcome->emplace(work(cancellation)); });
  if (Status status = job->wait(interrupt); !status.isOk())
    return status;
  return std::move(**outcome);
}
} // namespace logitile
