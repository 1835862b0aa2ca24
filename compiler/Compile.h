// Compile.h - the one entry of the compiler: a spec and what is asked for in, a launch plan or a reason out.
// No MLIR here: the runtime includes it.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "compiler/Stages.h"
#include "compiler/Support/Cancellation.h"
#include <map>
#include <optional>

namespace logitile {
/// What is compiled. Text may be of any stage; from the plan stage on it carries its request itself.
struct CompileRequest {
  enum class Mode : uint8_t { Forward, Early, Split };

  std::string spec; // the spec stage, without a request
  std::vector<PairPlan> pairs;
  std::map<std::string, ElementType> dense;            // Dense inputs: element type in memory
  std::vector<std::string> gradients;                  // "z.hidden", "z.weight", "bias", ...
  std::map<std::string, ElementType> gradientElements; // where it is not the input's type
  Mode mode = Mode::Forward;
  int64_t tokens = 0;
  int64_t workspace = 0; // bytes; 0 where 'chunks' is given
  int64_t chunks = 0;
  bool accumulate = false; // weight gradients are added into the caller's f32 buffers
  std::string target;      // "cpu:avx2"
  int64_t threads = 1;
  std::optional<SlicePlan> slice;
  std::string tiles;       // "TM=64,TN=128" instead of what the target's tile table says; "" for the table
  Cancellation *cancellation = nullptr; // null: nobody stops it
};

struct StageTime {
  Stage stage;
  double milliseconds;
};

struct CompileResult {
  std::optional<LaunchPlan> plan;
  std::vector<StageTime> times;
  // Where there is no plan:
  std::string error;             // with places, one line each
  Stage failed = Stage::Spec;    // the stage that could not be made
  std::string reproducer;        // the module that went into it
  int64_t minimumWorkspace = 0;  // positive where the budget is what is wrong
  double predictedSeconds = 0;   // where there is a schedule: of a call with the tokens of the request
};
/// LLVM ends the process where there is no memory for it, or where it finds itself in a state that it cannot go on from. After
/// this, it throws std::bad_alloc and std::runtime_error instead.
void letLLVMThrow();

/// Compiles down to code. Never prints or exits; throws as above. A compilation that is cancelled ends in an error.
CompileResult compileRequest(const CompileRequest &request);
/// Goes no further than the schedule, which takes milliseconds: a result without a plan. Its error is empty where there is one.
CompileResult predictRequest(const CompileRequest &request);

struct StageText {
  std::optional<std::string> text;
  std::string error;
  Stage failed = Stage::Spec;
};
/// The text of one stage on the way. 'kernel' limits tiles, device and llvm to one kernel ("" for all).
StageText printStage(const CompileRequest &request, Stage to, const std::string &kernel);
/// The same from the text of an earlier stage.
StageText printStage(const std::string &text, Stage from, Stage to, const std::string &kernel, Cancellation *cancellation = nullptr);
} // namespace logitile
