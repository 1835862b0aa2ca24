// SeededKernels.h - kernels that the compiler makes for a real loss, edited in their text of stage
// "device", and run by the emulator. Which edits there are is the business of the test.
#pragma once
#include "compiler/Compile.h"
#include "runtime/plan/LoadedPlan.h"
#include "runtime/support/Status.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include <set>

namespace logitile::test {
/// The text of a module, and one kernel in it that is edited.
class KernelText {
public:
  KernelText(std::string module, const std::string &kernel);

  /// Replaces one match of a regular expression, number 'which' (from 0) of exactly 'count' in the
  /// kernel. A test in which they are not so many fails: then the text is no longer what the edit
  /// was written for.
  void replace(const std::string &pattern, const std::string &replacement, int which = 0, int count = 1);
  std::string text() const { return before + body + after; }

private:
  std::string before, body, after;
};

/// Cross entropy of logits with a bias, 600 entries of "hidden" numbers, 70 tokens: two tiles to a
/// vocabulary split, a ragged rest on each axis.
struct SeededProgram {
  /// Warpgroups: as Kept, for sm_90a. Pairs: the same, where blocks share operands.
  enum class Schedule { Forward, Kept, Warpgroups, Pairs };
  SeededProgram(Schedule schedule, ElementType element, int64_t hidden);

  const CompileRequest request;
  LaunchPlan plan;    // as compiled
  std::string device; // text of all kernels
};

/// One call of a program whose kernels are those of a text.
struct SeededCall {
  SeededCall(const SeededProgram &program, const std::string &device);
  /// 'seed' is that of the order of threads.
  Status run(uint64_t seed = 0);
  /// Of all results, for comparison.
  std::vector<double> results() const;

  CallReport report; // of the last run

private:
  std::shared_ptr<const LoadedPlan> loaded;
  std::vector<TestArray> inputs, outputs, gradients;
};

/// The faults that a failed launch was refused for: "race", "in-flight", ...
std::set<std::string> faultsIn(const Status &status);
} // namespace logitile::test
