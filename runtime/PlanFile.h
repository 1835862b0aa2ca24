// PlanFile.h - launch plans as bytes: what is saved by users and kept on disk.
// The bytes hold code for one target; whoever loads them trusts them as he trusts a shared library.
#pragma once
#include "compiler/LaunchPlan.h"
#include "runtime/Status.h"
#include <string_view>

namespace logitile {
std::string writePlan(const LaunchPlan &plan);
/// An error where the bytes are of another version, cut off or damaged.
Result<LaunchPlan> readPlan(std::string_view bytes);
} // namespace logitile
