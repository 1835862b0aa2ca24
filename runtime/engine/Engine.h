// Engine.h - from a request to a plan that runs: key, caches, compiler, device. Only this class
// uses all of them. Call.h runs a call.
#pragma once
#include "runtime/call/Call.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/engine/History.h"
#include "runtime/cache/KernelCache.h"
#include <functional>

namespace logitile {
struct CompileRequest;
struct CompileResult;
using CompileFunction = std::function<CompileResult(const CompileRequest &)>;

/// A request and its key.
struct Program {
  Request request;
  KernelKey key;
};

/// The result of a request for a plan.
struct PlanUse {
  std::shared_ptr<const LoadedPlan> loaded;
  PlanOrigin origin;                // where this request got the plan; a hit if it was in memory
  std::optional<CallRules> rules;   // of a plan from bytes: what it was saved for
  std::vector<std::string> notices; // what went wrong with the disk cache meanwhile, for the user
};

class Engine {
public:
  struct Options {
    KernelCache::Limits cache;
    int64_t workspaceKeepBytes = int64_t(1) << 30; // free memory that is kept for later calls
    size_t historyRecords = 256;
    bool timesKernels = false;
    std::optional<DiskCache::Options> disk; // none: plans live in memory only
  };
  /// 'compile' may be empty: then plans are only loaded and run.
  Engine(CompileFunction compile, const Options &options);

  /// A request with its key. An error if the target is unknown. This machine need not have the
  /// device: only calls fail without it.
  Result<Program> makeProgram(Request request);
  // The next functions may take long, so they take an Interrupt.
  /// The plan for calls with 'tokens' tokens: from memory, from disk, or compiled.
  Result<PlanUse> findPlan(const Program &program, int64_t tokens, const Interrupt &interrupt = {});
  /// A plan from bytes that writePlan made.
  Result<PlanUse> loadPlanBytes(std::string bytes, const Interrupt &interrupt = {});

  /// Runs a call as in Call.h, and adds a record to the history. A plan's first record has the
  /// origin of the plan.
  Result<std::unique_ptr<Saved>> forward(const std::shared_ptr<const LoadedPlan> &loaded, const CallArguments &arguments);
  Status backward(const Saved &saved, const CallArguments &arguments);

  /// The tile sizes of the target's table that a program may use, as texts for requests. The
  /// default comes first.
  static Result<std::vector<std::string>> tileChoices(const Request &request);
  /// The predicted seconds of a call with 'tokens' tokens. An error if there is no plan for such a
  /// call.
  static Result<double> predict(const Request &request, int64_t tokens, const Interrupt &interrupt = {});

  /// The text of stage 'to' of a program's kernels for 'tokens' tokens.
  static Result<std::string> stageText(const Request &request, int64_t tokens, Stage to, const std::string &kernel,
                                       const Interrupt &interrupt = {});
  /// All stages of a program's kernels for 'tokens' tokens, and which line comes from which: the
  /// JSON of compiler/Trace/StageTrace.h.
  static Result<std::string> trace(const Request &request, int64_t tokens, const Interrupt &interrupt = {});
  /// stageText from the text of an earlier stage. It runs on the thread of the caller, for which
  /// fault handlers are installed.
  static Result<std::string> stageText(const std::string &text, Stage from, Stage to, const std::string &kernel);
  /// Bytes for loadPlanBytes, from the text of a stage; 'target' is as in StageInput. It runs on
  /// the thread of the caller too.
  static Result<std::string> planBytes(const std::string &text, Stage from, const std::string &target);

  /// Waits for all devices. An error if a call on one of them has used an index outside the
  /// vocabulary.
  Status check();

  History &history() { return records; }
  KernelCache &cache() { return plans; }
  Workspace &workspace(); // of the host

private:
  class PlanMaker;
  void record(const LoadedPlan &loaded, bool isBackward, const CallReport &report, double milliseconds);

  const std::shared_ptr<PlanMaker> maker;
  const bool timesKernels;
  KernelCache plans;
  History records;
};
} // namespace logitile
