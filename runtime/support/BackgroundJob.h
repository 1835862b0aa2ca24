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
/// One piece of work and those who wait for it. When all of them have left, the work is told to
/// stop. It may outlive them, so it owns what it uses. The process may end meanwhile.
class BackgroundJob : public Cancellation, public std::enable_shared_from_this<BackgroundJob> {
public:
  using Body = std::function<void(Cancellation &)>;

  /// Whoever makes a background job waits for it. All others have to join first.
  BackgroundJob() = default;
  /// Runs 'body' on a new thread, or on this one where the system gives no other. Throws where
  /// there is no memory at all. False where the stack of this one is too small for that: the body
  /// does not run, and all who wait get an error.
  bool start(Body body);
  /// In the place of 'start': all who wait get this exception.
  void fail(std::exception_ptr thrown) { finish(Status(), std::move(thrown)); }

  /// One more waits for the job. False where all have left: the work is about to stop.
  bool join();
  /// Waits for the end of the body, and throws what the body threw. An error where the caller is
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
