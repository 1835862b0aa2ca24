// ModuleSet.cpp - loads code where it is missing.
#include "runtime/cuda/ModuleSet.h"
#include "runtime/cuda/Assemble.h"
using namespace logitile;
using namespace logitile::cuda;

/// Native code is made once for each kind of device, unless it was kept.
Result<std::unique_ptr<ContextModule>> ModuleSet::load(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context) {
  RelaxedCapture relaxed(contexts->driver());
  Result<std::string> maker = makerOf(contexts->driver(), context.deviceHandle());
  if (!maker.isOk())
    return maker.status();
  if (store.known.maker != *maker) {
    Result<std::string> bytes = assemble(contexts->driver(), context, plan);
    if (!bytes.isOk())
      return bytes.status();
    store.known = {*maker, std::move(*bytes)};
    if (store.keep)
      store.keep(plan, store.known);
  }
  return ContextModule::load(contexts, context, plan, store.known.bytes);
}

Result<ContextModule *> ModuleSet::in(const std::shared_ptr<Contexts> &contexts, const CurrentContext &context, bool isCaptured) {
  std::lock_guard lock(mutex);
  std::unique_ptr<ContextModule> &module = modules[context.handle()];
  if (!module && isCaptured)
    return Status(ErrorCode::Target, "the stream is captured into a CUDA graph, but the code of '" + plan.name +
                                         "' is not on the device yet; make the same call once before the capture");
  if (!module) {
    Result<std::unique_ptr<ContextModule>> loaded = load(contexts, context);
    if (!loaded.isOk())
      return loaded.status();
    module = std::move(*loaded);
  }
  if (isCaptured)
    module->keepLoaded();
  return module.get();
}
