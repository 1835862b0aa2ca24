// Compile.h - the only entry point of the compiler: a spec and a request in, a launch plan or an
// error out. No MLIR here, because the runtime includes this file.
#pragma once
#include "compiler/Request.h"
#include "compiler/Stages.h"
#include "compiler/Support/Cancellation.h"
#include "compiler/Target/Machine.h"
#include "compiler/Trace/StageTrace.h"
#include <optional>

namespace logitile {
/// What is compiled: a request, for calls with about so many tokens.
struct CompileRequest : Request {
  int64_t tokens = 0;
  Cancellation *cancellation = nullptr; // null: nobody stops it
  UnitRates rates = {};                 // of the machine whose seconds are predicted
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

/// Compiles down to code. Never prints or exits; throws as letLLVMThrow says
/// (Support/LLVMErrors.h). A compilation that is cancelled ends in an error.
CompileResult compileRequest(const CompileRequest &request);
/// Goes no further than the schedule, which takes milliseconds: a result without a plan. Its error
/// is empty where there is one.
CompileResult predictRequest(const CompileRequest &request);

struct StageText {
  std::optional<std::string> text;
  std::string error;
  Stage failed = Stage::Spec;
};
/// The text of one stage on the way. 'kernel' limits tiles, device and llvm to one kernel ("" for
/// all).
StageText printStage(const CompileRequest &request, Stage to, const std::string &kernel);

struct StageTrace {
  std::vector<TracedStage> stages; // from spec to code
  std::string error;
  Stage failed = Stage::Spec;
};
/// All stages on the way to code, and which line comes from which.
StageTrace traceStages(const CompileRequest &request);

/// The text of a stage, which down to device holds its request.
struct StageInput {
  std::string text;
  Stage stage = Stage::Spec;
  std::string file;   // what places in errors call it; "" for the stage's name
  std::string target; // takes the place of the one in the request; "" keeps that
};
/// The same from the text of an earlier stage.
StageText printStage(const StageInput &input, Stage to, const std::string &kernel);
/// A plan from the text of a stage up to device.
CompileResult compileText(const StageInput &input);
} // namespace logitile
