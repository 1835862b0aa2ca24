// RuntimePlans.h - launch plans over the kernels of runtime_kernels.c, in every kind of schedule
// that the runtime executes. The loss: alpha * (logsumexp(z) - z[target]) + beta, z = x w^T + bias
// + mask, with every input that a call may have.
#pragma once
#include "compiler/Plan/LaunchPlan.h"

namespace logitile::test {
constexpr int64_t kVocab = 23, kVocabSplit = 5, kVocabSplits = 5, kHidden = 6, kPanel = 4;

/// Which schedule.
struct PlanOptions {
  enum class Gradients { None, Early, Split } gradients = Gradients::Early;
  int64_t chunk = 0;         // as in loops over tokens; 0: all tokens at once
  int64_t storedVocabSplits = 0; // whose logits are kept
  int64_t group = 1; // vocabulary splits whose gradient is made at a time; 0: all, in the place of stored logits (all are kept then)
  bool hasWeight = false;    // an output 'weight', from the Vocab input 'class_weight'
  bool isWeightLate = false; // ... made after the loss rather than before anything else
  bool hasIndex = false;     // outputs 'next', a computed index, and 'even', a bool
  bool accumulates = false;
};
/// The object file with the kernels.
const std::string &kernelObject();
LaunchPlan makePlan(const PlanOptions &options);
} // namespace logitile::test
