// CApi.h - shared by the files of the C interface: the objects that its handles name, and the guard
// around every function. The interface itself is logitile.h.
#pragma once
#include "runtime/engine/Engine.h"
#include "runtime/logitile.h"

struct lt_engine {
  std::shared_ptr<logitile::Engine> engine;
};
struct lt_program {
  std::shared_ptr<logitile::Engine> engine;
  logitile::Program program;
  std::string key;
};
struct lt_plan {
  std::shared_ptr<logitile::Engine> engine;
  logitile::PlanUse use;
  std::string notice; // the lines of use.notices
};
struct lt_saved {
  std::shared_ptr<logitile::Engine> engine;
  std::unique_ptr<logitile::Saved> saved;
};

namespace logitile {
/// Keeps the error for lt_last_error and returns its code.
lt_code report(const Status &status) noexcept;
/// Keeps the error of the exception that is being handled, and returns its code.
lt_code reportException() noexcept;
/// The interrupt that lt_set_interrupt has set for this thread.
Interrupt interruptOfThread();
/// A plan that belongs to the caller.
lt_plan *newPlan(const std::shared_ptr<Engine> &engine, PlanUse use);
/// A copy of 'text' that belongs to the caller.
lt_text textOf(std::string_view text);

/// Runs the body of a function of the interface. An exception becomes an error code, because
/// callers in C cannot catch it.
template <typename Body> lt_code guarded(Body body) noexcept {
  try {
    return report(body());
  } catch (...) {
    return reportException();
  }
}
} // namespace logitile
