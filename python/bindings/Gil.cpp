// Gil.cpp - how threads that outlive the interpreter stop.
#include "python/bindings/Gil.h"
#include <cxxabi.h>
#include <unistd.h>
using namespace logitile::python;

bool logitile::python::interpreterEnds() {
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

[[noreturn]] static void stopForEver() {
  for (;;)
    pause();
}

/// What asks for the lock. The interpreter may end while it waits.
template <typename Take> static auto takeLock(Take take) {
  if (interpreterEnds())
    stopForEver();
  try {
    return take();
  } catch (abi::__forced_unwind &) { // the thread was to end: nothing between here and its first frame expects that
    stopForEver();
  }
}

/// What the library asks on this thread.
static thread_local Signals *current = nullptr;
static void ask(Signals *signals) {
  current = signals;
  lt_set_interrupt(signals ? &Signals::check : nullptr, signals);
}

WithoutGil::WithoutGil() : outer(current), state(PyEval_SaveThread()) { ask(&signals); }
WithoutGil::~WithoutGil() {
  ask(outer);
  takeLock([this] { PyEval_RestoreThread(state); });
}

WithGil::WithGil() : state(takeLock([] { return PyGILState_Ensure(); })) {}

int Signals::check(void *signals) {
  constexpr std::chrono::milliseconds kPeriod{50}; // taking the GIL costs more than most kernels of small calls
  auto now = std::chrono::steady_clock::now();
  auto &last = static_cast<Signals *>(signals)->last;
  if (now - last < kPeriod)
    return 0;
  last = now;
  WithGil gil;
  return PyErr_CheckSignals(); // leaves the exception set
}
