// Describe.h - plans and records as JSON, for people and for tools.
#pragma once
#include "runtime/History.h"

namespace logitile {
/// Interval, inputs, outputs, gradients, kernels, steps, and the buffers with their bytes for a call with 'tokens' tokens that
/// count on 'threads' threads.
std::string describePlan(const LaunchPlan &plan, int64_t tokens, int64_t threads);
std::string describeHistory(const std::vector<LaunchRecord> &records);
} // namespace logitile
