// Describe.h - plans and records as JSON, for people and for tools.
#pragma once
#include "compiler/Expression/Operations.h"
#include "runtime/engine/Engine.h"

namespace logitile {
/// A plan as JSON: its interval, inputs, outputs, gradients, kernels and steps. It also has the
/// buffers with their sizes and the launches with their work, for a call with 'tokens' tokens that
/// count on 'threads' threads. If the plan was compiled for this use, it has the times of
/// compilation.
std::string describePlan(const PlanUse &use, int64_t tokens, int64_t threads);
/// Entries of the disk cache. With 'details', an entry that is not damaged also has the members of
/// describePlan.
std::string describeEntries(const std::vector<DiskCache::Listed> &entries, bool details);
std::string describeOperations(const std::vector<ScalarOperation> &operations);
std::string describeNames(const std::vector<std::string> &names);
/// A target, or a platform, as lt_target_describe documents it. An error if none has this name.
Result<std::string> describeTarget(const std::string &name);
std::string describeHistory(const std::vector<LaunchRecord> &records);
} // namespace logitile
