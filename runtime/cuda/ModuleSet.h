// ModuleSet.h - the code of one plan, loaded once in each context in which calls run.
#pragma once
#include "runtime/device/Device.h"
#include "runtime/cuda/ContextModule.h"

namespace logitile::cuda {
class ModuleSet {
public:
  /// The code of 'plan', which outlives the set.
  ModuleSet(const LaunchPlan &plan, NativeStore store) : plan(plan), store(std::move(store)) {}

  /// The module in a context. Loads it if needed. While a stream is captured, it cannot be loaded:
  /// then an error says what to do.
  Result<ContextModule *> in(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context, bool isCaptured);
  const std::vector<KernelPlan> &kernels() const { return plan.kernels; }

private:
  Result<std::unique_ptr<ContextModule>> load(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context);

  const LaunchPlan &plan;
  std::mutex mutex;
  NativeStore store;
  std::map<Context, std::unique_ptr<ContextModule>> modules;
};
} // namespace logitile::cuda
