// ContextModule.h - the code of a plan in one context: checked against the device, ready to launch.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "runtime/cuda/Contexts.h"
#include <atomic>
#include <vector>

namespace logitile::cuda {
class ContextModule {
public:
  /// Loads 'native', which was assembled from the code of 'plan'. An error if the driver refuses
  /// it, or if a kernel needs more than the device has.
  static Result<std::unique_ptr<ContextModule>> load(std::shared_ptr<Contexts> contexts, const CurrentContext &context,
                                                     const LaunchPlan &plan, const std::string &native);
  ContextModule(const ContextModule &) = delete;
  /// Unloads the module, unless a CUDA graph may still launch it.
  ~ContextModule();

  /// The function of kernel number 'kernel' of the plan.
  Function function(int64_t kernel) const { return functions[kernel]; }
  /// Must be called if launches become nodes of a CUDA graph: nothing tells when the graph is
  /// destroyed. So the module stays loaded.
  void keepLoaded() {
    isKept = true;
    contexts->keepForGraphs();
  }

private:
  ContextModule(std::shared_ptr<Contexts> contexts, const CurrentContext &context)
      : contexts(std::move(contexts)), device(context.deviceHandle()), context(context.handle()) {}
  Status loadCode(const LaunchPlan &plan, const std::string &native);
  Status findFunction(const LaunchPlan &plan, const KernelPlan &kernel);
  Status checkBlock(const KernelPlan &kernel, Function function) const;
  Status allowSharedBytes(const KernelPlan &kernel, Function function) const;

  const std::shared_ptr<Contexts> contexts;
  const DeviceHandle device;
  const Context context;
  Module module = nullptr;
  std::vector<Function> functions;
  std::atomic<bool> isKept{false};
};
} // namespace logitile::cuda
