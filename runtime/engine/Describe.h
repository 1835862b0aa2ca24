// Describe.h - plans and records as JSON, for people and for tools.
#pragma once
#include "compiler/Expression/Operations.h"
#include "runtime/engine/Engine.h"

namespace logitile {
/// Interval, inputs, outputs, gradients, kernels, steps; for a call with 'tokens' tokens that count
/// on 'threads' threads the buffers with their bytes, and the launches with their work; and how
/// long compiling took if this use did.
std::string describePlan(const PlanUse &use, int64_t tokens, int64_t threads);
/// Entries of the disk cache; with 'details' also what describePlan tells of those that are not
/// damaged.
std::string describeEntries(const std::vector<DiskCache::Listed> &entries, bool details);
std::string describeOperations(const std::vector<ScalarOperation> &operations);
std::string describeNames(const std::vector<std::string> &names);
/// Of a target or of a platform alone, as lt_target_describe says. An error where there is none of
/// that name.
Result<std::string> describeTarget(const std::string &name);
std::string describeHistory(const std::vector<LaunchRecord> &records);
} // namespace logitile
