// WorkThread.cpp - threads through pthreads, because the C++ library does not let one choose the
// size of a stack.
#include "compiler/Support/WorkThread.h"
#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <cstring>
using namespace logitile;

/// All signals but those of faults: a blocked one of these ends the process without its handler.
static sigset_t blockedSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&signals, fault);
  return signals;
}

/// Gives this thread the memory of this library's thread-local variables. glibc would take it at
/// the first use of one, and end the process where there is none. Nothing here uses such a variable
/// before memory was there: no exception, no 'operator new'.
static bool makeThreadLocals() {
  constexpr size_t kBytes = size_t(64) << 10; // those of the largest library, the emulator, take half
  void *volatile room = std::calloc(1, kBytes);
  if (!room)
    return false;
  std::free(room);
  static thread_local volatile bool isMade;
  isMade = true;
  return isMade;
}

void *WorkThread::run(void *given) {
  std::unique_ptr<std::shared_ptr<Work>> handle(static_cast<std::shared_ptr<Work> *>(given));
  Work &work = **handle;
  work.canRun = makeThreadLocals();
  work.hasBegun.release();
  if (!work.canRun)
    return nullptr;
  std::fesetenv(FE_DFL_ENV); // a thread inherits the rounding mode, and constants are folded here
  try {
    work.body();
  } catch (...) {
    work.failure = std::current_exception();
  }
  work.body = nullptr; // what it holds goes with the thread, whether or not someone still waits
  return nullptr;
}

/// pthread_create, with these signals blocked in the new thread from its beginning.
static int createThread(pthread_t &thread, const pthread_attr_t &attributes, void *(*run)(void *), void *work) {
  sigset_t blocked = blockedSignals(), before;
  if (int code = pthread_sigmask(SIG_SETMASK, &blocked, &before))
    return code;
  int code = pthread_create(&thread, &attributes, run, work); // which inherits the mask
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return code;
}

std::optional<WorkThread> WorkThread::start(std::function<void()> body, size_t stackBytes) noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return std::nullopt;
  std::optional<WorkThread> started;
  try {
    auto work = std::make_shared<Work>(std::move(body));
    auto handle = std::make_unique<std::shared_ptr<Work>>(work);
    pthread_t thread;
    if (pthread_attr_setstacksize(&attributes, stackBytes) == 0 && createThread(thread, attributes, &run, handle.get()) == 0) {
      static_cast<void>(handle.release()); // the thread's now
      work->hasBegun.acquire();
      if (work->canRun)
        started.emplace(WorkThread(thread, std::move(work)));
      else
        pthread_join(thread, nullptr);
    }
  } catch (const std::bad_alloc &) { // as where there is no thread
  }
  pthread_attr_destroy(&attributes);
  return started;
}

WorkThread::~WorkThread() {
  if (work)
    pthread_join(thread, nullptr);
}

void WorkThread::join() {
  pthread_join(thread, nullptr);
  std::shared_ptr<Work> done = std::move(work);
  if (done->failure)
    std::rethrow_exception(done->failure);
}

void WorkThread::detach() {
  pthread_detach(thread);
  work = nullptr;
}

/// The system intersects what is set with the cores of the control group, which may change. So a
/// thread for which nobody has chosen cores is allowed every core that there could be.
void WorkThread::keepOff(int core, int least) {
  cpu_set_t before, every, group, ours; // a system with more cores than fit gives an error
  std::memset(&every, 0xff, sizeof every);
  auto read = [&](cpu_set_t &set) { return pthread_getaffinity_np(thread, sizeof set, &set) == 0; };
  auto write = [&](const cpu_set_t &set) { return pthread_setaffinity_np(thread, sizeof set, &set) == 0; };
  if (core < 0 || core >= CPU_SETSIZE || !read(before) || !write(every) || !read(group))
    return;
  CPU_AND(&ours, &narrowed, &group);
  if (!CPU_EQUAL(&before, &ours)) // the first call, or someone else has changed it
    allowed = CPU_EQUAL(&before, &group) ? every : before;
  narrowed = allowed;
  CPU_CLR(core, &narrowed);
  CPU_AND(&ours, &narrowed, &group);
  if (CPU_COUNT(&ours) < least)
    narrowed = allowed;
  if (!write(narrowed))
    write(before);
}

size_t logitile::stackLeft() {
  pthread_attr_t attributes;
  void *lowest = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  auto *here = static_cast<char *>(__builtin_frame_address(0)); // sanitizers move variables elsewhere
  return static_cast<size_t>(here - static_cast<char *>(lowest));
}
