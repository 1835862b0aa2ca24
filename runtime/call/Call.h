// Call.h - runs a plan on the arrays of a caller: forward, and, if gradients are computed in a
// separate call, backward. Engine.h chooses the plan.
#pragma once
#include "runtime/arrays/Arrays.h"
#include "runtime/plan/CallRules.h"
#include "runtime/support/Interrupt.h"
#include "runtime/plan/LoadedPlan.h"

namespace logitile {
struct CallArguments {
  std::span<const Array> inputs;         // "z.hidden", "z.weight", "target", ...; arrays that the plan does not read are allowed
  std::span<const Array> outputs;        // one for each output of the plan
  std::span<const Array> gradients;      // one for each gradient that the phase makes
  std::span<const Array> cotangents;     // by output: without axes, or per token; a missing one is 0, but if all are missing, that of the loss is 1
  Reduction reduction = Reduction::None; // of the output 'loss'
  const Array *divisor = nullptr;        // of a mean, without axes; null: the sum of weights, or the number of tokens
  std::string_view ignore;               // name of the input that marks ignored tokens; empty: no token is ignored
  std::optional<int64_t> ignoreIndex;    // a value that entries of other inputs may have too, although it is no index
  bool isZeroWhenAllIgnored = false; // whether a mean over no token is 0 rather than NaN
  int threads = 1;
  DeviceStream stream;
  Interrupt interrupt;
  bool isTimed = false; // each kernel's time goes into the report
};

/// Work of one kernel, by the plan's cost model.
struct PredictedWork {
  int64_t matrixInstructions = 0, globalBytes = 0;
};

/// All launches of one kernel in a call that is timed, or on a device that counts.
struct KernelUse {
  int64_t kernel = 0; // in the plan
  int64_t launches = 0;
  std::optional<double> milliseconds;
  std::optional<KernelCounters> counters;
  PredictedWork predicted;
};

/// What happened in a call.
struct CallReport {
  int64_t tokens = 0, counted = 0;
  int64_t chunks = 1; // that the tokens were cut into
  int64_t predictedBytes = 0; // of workspace, by the plan
  int64_t measuredBytes = 0;  // of workspace, as taken
  std::vector<KernelUse> kernels;
};

/// What the backward phase needs of a forward call: memory, and how the loss was reduced.
struct Saved {
  std::shared_ptr<const LoadedPlan> loaded;
  WorkspaceBlock memory;
  std::vector<int64_t> leading;
  int64_t counted = 0;
  Reduction reduction = Reduction::None;
  double divisor = 1;
  std::string ignore;
  std::optional<int64_t> ignoreIndex;
  int threads = 1;
  DeviceStream stream;
};

/// Runs prologue and forward steps; 'saved' is null unless the plan makes gradients in a phase of
/// their own. After an error the contents of outputs and gradients are unspecified.
Result<std::unique_ptr<Saved>> runForward(const std::shared_ptr<const LoadedPlan> &loaded, const CallArguments &arguments,
                                          CallReport &report);

/// Computes the gradients of a forward call from the same inputs, on the same stream. It may be
/// called several times. Reduction, divisor, ignored tokens and threads are those of the forward
/// call; 'outputs' are not written.
Status runBackward(const Saved &saved, const CallArguments &arguments, CallReport &report);
} // namespace logitile
