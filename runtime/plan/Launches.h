// Launches.h - iterates over the launches of a plan: its loops over tokens and vocabulary splits,
// and the scalars of a kernel in each launch. runtime/call has arguments and devices.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "runtime/support/Status.h"
#include <functional>

namespace logitile {
/// The values of kernels' scalars at one point of the loops.
struct LaunchPosition {
  int64_t firstToken = 0;
  int64_t tokens = 0;
  int64_t vocabSplitFirst = 0, vocabSplitEnd = 0;
  bool isLaterChunk = false, isLaterVocabSplits = false;
  int64_t chunks = 0; // of the loop over tokens around; 0: there is none

  int64_t scalar(ScalarRole role) const;
  /// The number of combinations of steps along the axes.
  int64_t stepCount(const std::vector<GridAxis> &axes) const;
  int64_t work(const std::vector<WorkTerm> &terms) const;
};

using LaunchVisitor = std::function<Status(const StepPlan &launch, const LaunchPosition &position)>;
/// Visits the launches of 'steps' for the first 'tokens' tokens, in order. Stops at the first
/// error.
Status visitLaunches(const LaunchPlan &plan, const std::vector<StepPlan> &steps, int64_t tokens, const LaunchVisitor &visit);
} // namespace logitile
