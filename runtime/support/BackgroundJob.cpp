// BackgroundJob.cpp - the threads of background jobs, and how many wait for them.
#include "runtime/support/BackgroundJob.h"
#include "compiler/Support/WorkThread.h"
#include <sys/mman.h>
using namespace logitile;

static constexpr int kGivenUp = -1;

/// Whether there is memory for the least that a thread and LLVM need. Where there is none, glibc
/// ends the process when the thread first asks for data of its own.
static bool hasMemory() {
  constexpr size_t kLeastBytes = size_t(8) << 20;
  void *probe = mmap(nullptr, kLeastBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return probe != MAP_FAILED && munmap(probe, kLeastBytes) == 0;
}

bool BackgroundJob::start(Body body) {
  if (!hasMemory())
    throw std::bad_alloc();
  auto shared = std::make_shared<Body>(std::move(body)); // it is needed again where there is no thread
  if (std::optional<WorkThread> thread = WorkThread::start([self = shared_from_this(), shared] { self->run(*shared); })) {
    thread->detach();
    return true;
  }
  if (stackLeft() >= WorkThread::kStackBytes / 4) {
    run(*shared);
    return true;
  }
  finish(Status(ErrorCode::Value, "the system gives no thread to compile on, and the stack of the calling thread is too small to compile "
                                  "there; raise the limits of threads and memory, or call from a thread with a stack of 8 MiB"),
         nullptr);
  return false;
}

void BackgroundJob::run(const Body &body) {
  try {
    body(*this);
    finish(Status(), nullptr);
  } catch (...) {
    finish(Status(), std::current_exception());
  }
}

void BackgroundJob::finish(Status status, std::exception_ptr thrown) {
  std::lock_guard lock(mutex);
  refusal = std::move(status);
  failure = std::move(thrown);
  isDone = true;
  ended.notify_all();
}

bool BackgroundJob::join() {
  int count = waiting;
  while (count != kGivenUp)
    if (waiting.compare_exchange_weak(count, count + 1))
      return true;
  return false;
}

void BackgroundJob::leave() {
  int count = waiting;
  while (!waiting.compare_exchange_weak(count, count > 1 ? count - 1 : kGivenUp)) {
  }
}

bool BackgroundJob::isRequested() { return waiting.load(std::memory_order_relaxed) == kGivenUp; }

Status BackgroundJob::wait(const Interrupt &interrupt) {
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kInterruptPeriod, [&] { return isDone; })) {
    lock.unlock(); // others may end meanwhile
    if (interrupt()) {
      leave();
      return interrupted();
    }
    lock.lock();
  }
  leave();
  if (failure)
    std::rethrow_exception(failure);
  return refusal;
}
