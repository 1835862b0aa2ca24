// CApi.h - shared by the files of the C interface: objects behind its handles, and the guard around
// every function. The interface itself is logitile.h.
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
/// The same for the exception that is being handled.
lt_code reportException() noexcept;
/// What lt_set_interrupt set for this thread.
Interrupt interruptOfThread();
/// A plan that belongs to the caller.
lt_plan *newPlan(const std::shared_ptr<Engine> &engine, PlanUse use);
/// A copy that belongs to the caller.
lt_text textOf(std::string_view text);

/// Runs the body of a function of the interface. Exceptions end here: those of this library mean
/// nothing outside.
template <typename Body> lt_code guarded(Body body) noexcept {
  try {
    return report(body());
  } catch (...) {
    return reportException();
  }
}
} // namespace logitile
