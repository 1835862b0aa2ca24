// ModuleSet.cpp - loads code where it is missing.
#include "runtime/cuda/ModuleSet.h"
using namespace logitile;
using namespace logitile::cuda;

ModuleSet::ModuleSet(const LaunchPlan &whole) {
  plan.name = whole.name;
  plan.target = whole.target;
  plan.kernels = whole.kernels;
  plan.code = whole.code;
}

Result<ContextModule *> ModuleSet::in(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context, bool isCaptured) {
  std::lock_guard lock(mutex);
  std::unique_ptr<ContextModule> &module = modules[context.handle()];
  if (!module && isCaptured)
    return Status(ErrorCode::Target, "the stream is captured into a CUDA graph, but the code of '" + plan.name +
                                         "' is not on the device yet; make the same call once before the capture");
  if (!module) {
    Result<std::unique_ptr<ContextModule>> loaded = ContextModule::load(contexts, context, plan);
    if (!loaded.isOk())
      return loaded.status();
    module = std::move(*loaded);
  }
  if (isCaptured)
    module->keepLoaded();
  return module.get();
}
