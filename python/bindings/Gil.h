// Gil.h - releases the lock of the interpreter while C code runs, and takes it again. pybind11's
// own guards would end the process if the interpreter ends first: CPython before 3.14 then ends the
// thread that requests the lock by unwinding its stack, and destructors do not let that pass.
#pragma once
#include "python/bindings/Bindings.h"
#include <chrono>

namespace logitile::python {
/// Lets Python handle signals from time to time: Ctrl-C ends what takes long. An exception of a
/// handler stays set.
class Signals {
public:
  static int check(void *signals);

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// This thread does without the lock, and what it calls of the library looks after signals. Where
/// the interpreter ends meanwhile, the thread stops in the destructor for ever.
class WithoutGil {
public:
  WithoutGil();
  WithoutGil(const WithoutGil &) = delete;
  ~WithoutGil();

private:
  Signals signals;
  Signals *const outer; // of the function whose signal handler called this one; or null
  PyThreadState *const state;
};

/// This thread, which may be none of Python's, has the lock. Where the interpreter ends first, the
/// thread stops in the constructor for ever.
class WithGil {
public:
  WithGil();
  WithGil(const WithGil &) = delete;
  ~WithGil() { PyGILState_Release(state); }

private:
  PyGILState_STATE state;
};

/// Whether the lock can no longer be had.
bool interpreterEnds();
} // namespace logitile::python
