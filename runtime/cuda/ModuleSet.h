// ModuleSet.h - the same code in every context that calls come from.
#pragma once
#include "runtime/cuda/ContextModule.h"

namespace logitile::cuda {
class ModuleSet {
public:
  /// Of 'plan', its name, target, kernels and code.
  explicit ModuleSet(const LaunchPlan &plan);

  /// The code in a context. It is not loaded while a stream is captured: then an error says what to do.
  Result<ContextModule *> in(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context, bool isCaptured);
  const std::vector<KernelPlan> &kernels() const { return plan.kernels; }

private:
  LaunchPlan plan;
  std::mutex mutex;
  std::map<Context, std::unique_ptr<ContextModule>> modules;
};
} // namespace logitile::cuda
