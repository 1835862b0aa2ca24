// Steps.h - executes the steps of a plan: the arguments of each launch. plan/Launches.h lists the
// launches, Binding.h has the addresses of buffers.
#pragma once
#include "runtime/call/Binding.h"
#include "runtime/plan/Launches.h"

namespace logitile {
class StepRunner {
public:
  /// 'scratch' holds the plan's scratch for every thread of the call.
  StepRunner(const LoadedPlan &loaded, const Binding &binding, const CallArguments &arguments, DeviceCall &device, char *scratch,
             CallReport &report);

  /// Runs steps for the first 'tokens' tokens that count. Stops between launches if the caller asks
  /// for it.
  Status run(const std::vector<StepPlan> &steps, int64_t tokens);

private:
  Status launch(const StepPlan &step, const LaunchPosition &position);
  void packScalar(ScalarRole role, const LaunchPosition &position);
  /// The address of element (0, 0) of a buffer for the current tokens. It may be outside of the
  /// buffer if the buffer holds later columns only.
  char *addressOf(int64_t buffer, const LaunchPosition &position) const;
  /// The number of columns before the first one that a buffer holds.
  int64_t firstColumnOf(int64_t buffer, const LaunchPosition &position) const;
  TensorMatrix matrixOf(const TensorMapPlan &map, int64_t buffer, const LaunchPosition &position) const;
  /// Adds a finished launch to the report.
  void note(int64_t kernel, const LaunchPosition &position, std::optional<double> milliseconds);

  const LoadedPlan &loaded;
  const LaunchPlan &plan;
  const Binding &binding;
  const CallArguments &arguments;
  DeviceCall &device;
  char *scratch;
  CallReport &report;
  std::vector<int64_t> words; // arguments of the current launch
  std::vector<TensorMatrix> matrices;
};
} // namespace logitile
