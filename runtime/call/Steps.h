// Steps.h - executes the steps of a plan: loops over tokens and vocabulary splits, and the arguments of each launch.
// Where buffers lie is the business of Binding.h.
#pragma once
#include "runtime/call/Binding.h"

namespace logitile {
class StepRunner {
public:
  /// 'scratch' holds the plan's scratch for every thread of the call.
  StepRunner(const LoadedPlan &loaded, const Binding &binding, const CallArguments &arguments, DeviceCall &device, char *scratch,
             CallReport &report);

  /// Runs steps for the first 'tokens' tokens that count. Stops between launches if the caller asks for it.
  Status run(const std::vector<StepPlan> &steps, int64_t tokens);

private:
  /// What the scalars of kernels are at one point of the loops.
  struct Position {
    int64_t firstToken = 0;
    int64_t tokens = 0;
    int64_t vocabSplitFirst = 0, vocabSplitEnd = 0;
    bool isLaterChunk = false, isLaterVocabSplits = false;
  };
  Status runSteps(const std::vector<StepPlan> &steps, const Position &position);
  Status runTokenLoop(const StepPlan &step, Position position);
  Status runVocabSplitLoop(const StepPlan &step, Position position);
  Status launch(const StepPlan &step, Position position);

  int64_t scalar(ScalarKind kind, const Position &position) const;
  void packScalar(ScalarKind kind, const Position &position);
  int64_t extent(const Extent &extent, const Position &position) const;
  /// Combinations of steps along axes.
  int64_t stepCount(const std::vector<GridAxis> &axes, const Position &position) const;
  /// Where a buffer's element (0, 0) of the current tokens would be.
  char *addressOf(int64_t buffer, const Position &position) const;
  /// Adds a launch that ran to the report.
  void note(int64_t kernel, const Position &position, std::optional<double> milliseconds);
  int64_t work(const std::vector<WorkTerm> &terms, const Position &position) const;

  const LoadedPlan &loaded;
  const LaunchPlan &plan;
  const Binding &binding;
  const CallArguments &arguments;
  DeviceCall &device;
  char *scratch;
  CallReport &report;
  std::vector<int64_t> words; // arguments of the current launch
};
} // namespace logitile
