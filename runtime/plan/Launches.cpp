// Launches.cpp - loops and grids.
#include "runtime/plan/Launches.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
using namespace logitile;

int64_t LaunchPosition::scalar(ScalarRole role) const {
  switch (role) {
  case ScalarRole::Tokens:
    return tokens;
  case ScalarRole::VocabSplitFirst:
    return vocabSplitFirst;
  case ScalarRole::VocabSplitEnd:
    return vocabSplitEnd;
  case ScalarRole::AccumulateTokens:
    return isLaterChunk;
  case ScalarRole::AccumulateVocabSplits:
  case ScalarRole::Accumulate: // in templates only
    break;
  }
  return isLaterVocabSplits;
}

static int64_t extentAt(const Extent &extent, const LaunchPosition &position) {
  int64_t value = extent.isConstant ? extent.scale : position.scalar(extent.scalar) * extent.scale;
  return std::min(value, extent.cap);
}

int64_t LaunchPosition::stepCount(const std::vector<GridAxis> &axes) const {
  int64_t steps = 1;
  for (const GridAxis &axis : axes)
    steps *= std::max<int64_t>(0, (extentAt(axis.upper, *this) - extentAt(axis.lower, *this) + axis.step - 1) / axis.step);
  return steps;
}

int64_t LaunchPosition::work(const std::vector<WorkTerm> &terms) const {
  int64_t sum = 0;
  for (const WorkTerm &term : terms)
    sum += term.amount * stepCount(term.axes) / term.share;
  return sum;
}

namespace {
class Visit {
public:
  Visit(const LaunchPlan &plan, const LaunchVisitor &visit) : plan(plan), visit(visit) {}

  Status steps(const std::vector<StepPlan> &steps, const LaunchPosition &position) {
    for (const StepPlan &step : steps) {
      Status status = step.kind == StepKind::Launch      ? launch(step, position)
                      : step.kind == StepKind::TokenLoop ? tokenLoop(step, position)
                                                         : vocabSplitLoop(step, position);
      if (!status.isOk())
        return status;
    }
    return Status();
  }

private:
  Status tokenLoop(const StepPlan &step, LaunchPosition position) {
    if (position.tokens == 0)
      return Status();
    int64_t end = position.tokens, chunk = chunkTokens(end, step.step, plan.tokenTile);
    position.chunks = llvm::divideCeil(end, chunk);
    for (int64_t first = 0; first < end; first += chunk) {
      position.firstToken = first;
      position.tokens = std::min(chunk, end - first);
      position.isLaterChunk = first > 0;
      if (Status status = steps(step.body, position); !status.isOk())
        return status;
    }
    return Status();
  }
  Status vocabSplitLoop(const StepPlan &step, LaunchPosition position) {
    for (int64_t vocabSplit = step.first; vocabSplit < step.end; vocabSplit += step.step) {
      position.vocabSplitFirst = vocabSplit;
      position.vocabSplitEnd = std::min(vocabSplit + step.step, step.end);
      position.isLaterVocabSplits = vocabSplit > step.first;
      if (Status status = steps(step.body, position); !status.isOk())
        return status;
    }
    return Status();
  }
  Status launch(const StepPlan &step, LaunchPosition position) {
    if (step.vocabSplitFirst >= 0) {
      position.vocabSplitFirst = step.vocabSplitFirst;
      position.vocabSplitEnd = step.vocabSplitEnd;
    }
    return visit(step, position);
  }

  const LaunchPlan &plan;
  const LaunchVisitor &visit;
};
} // namespace

Status logitile::visitLaunches(const LaunchPlan &plan, const std::vector<StepPlan> &steps, int64_t tokens, const LaunchVisitor &visit) {
  LaunchPosition position;
  position.tokens = tokens;
  position.vocabSplitEnd = plan.vocabSplits();
  return Visit(plan, visit).steps(steps, position);
}
