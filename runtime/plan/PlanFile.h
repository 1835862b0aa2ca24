// PlanFile.h - launch plans as bytes, for saved plans and the disk cache. The bytes hold code for
// one target; whoever loads them has to trust them like a shared library.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "runtime/plan/CallRules.h"
#include "runtime/support/Status.h"
#include <optional>
#include <string_view>

namespace logitile {
struct SavedPlan {
  LaunchPlan plan;
  std::optional<CallRules> rules; // none if the plan was saved without rules
};

std::string writePlan(const LaunchPlan &plan, const std::optional<CallRules> &rules);
/// Reads such bytes. An error if they are of another version, cut off or damaged.
Result<SavedPlan> readPlan(std::string_view bytes);
} // namespace logitile
