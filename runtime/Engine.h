// Engine.h - from a request to a plan that runs: key, caches, compiler, device. The only class that sees everything.
// What a call does is Call.h.
#pragma once
#include "runtime/Call.h"
#include "runtime/DiskCache.h"
#include "runtime/History.h"
#include "runtime/KernelCache.h"
#include <functional>

namespace logitile {
class CpuDevice;
struct CompileRequest;
struct CompileResult;
using CompileFunction = std::function<CompileResult(const CompileRequest &)>;

/// A request and its key.
struct Program {
  Request request;
  KernelKey key;
};

/// A plan and how it was come by, which the record of its first call tells.
struct PlanUse {
  std::shared_ptr<const LoadedPlan> loaded;
  PlanEvent event = PlanEvent::Hit;
  std::vector<StageMilliseconds> stages;
  double loadMilliseconds = 0;
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
  Engine(CompileFunction compile, const Options &options);
  /// With the compiler of this build.
  static std::shared_ptr<Engine> withCompiler(const Options &options);

  /// An error where the target is unknown. Whether this machine has the device, calls find out.
  Result<Program> makeProgram(Request request);
  /// The plan for calls with 'tokens' tokens: from memory, from disk, or compiled.
  Result<PlanUse> findPlan(const Program &program, int64_t tokens);
  /// A plan from bytes that writePlan made.
  Result<PlanUse> loadPlanBytes(std::string_view bytes);

  /// As in Call.h. Leaves a record.
  Result<std::unique_ptr<Saved>> forward(const PlanUse &use, const CallArguments &arguments);
  Status adjoint(const Saved &saved, const CallArguments &arguments);

  /// The tile sizes of the target's table that serve a program, the default first; as requests have them.
  static Result<std::vector<std::string>> tileChoices(const Request &request);
  /// What the cost model says of a call with 'tokens' tokens, in seconds. An error where it would have no plan.
  static Result<double> predict(const Request &request, int64_t tokens);

  /// The text of stage 'to': of a program's kernels for 'tokens' tokens, or from the text of an earlier stage.
  static Result<std::string> stageText(const Request &request, int64_t tokens, Stage to, const std::string &kernel);
  static Result<std::string> stageText(const std::string &text, Stage from, Stage to, const std::string &kernel);

  /// Waits for all devices. An error where a call of theirs has met an index outside the vocabulary.
  Status check();

  History &history() { return records; }
  KernelCache &cache() { return plans; }
  Workspace &workspace(); // of the host

private:
  Result<std::shared_ptr<Device>> deviceOf(const std::string &target) const;
  Result<KernelCache::Plan> makePlan(const Program &program, int64_t tokens, PlanUse &use);
  KernelCache::Plan findOnDisk(const DiskKey &key, const Program &program, int64_t tokens, PlanUse &use);
  Result<KernelCache::Plan> compilePlan(const Program &program, int64_t tokens, NativeStore store, PlanUse &use);
  NativeStore storeOf(const DiskKey &key, NativeCode known) const;
  void record(const PlanUse &use, bool isAdjoint, const CallReport &report, double milliseconds);

  const CompileFunction compile;
  const bool timesKernels;
  const std::shared_ptr<CpuDevice> cpu;
  const std::shared_ptr<Device> emulator, cuda;
  KernelCache plans;
  std::shared_ptr<DiskCache> disk; // null: there is none
  History records;
};
} // namespace logitile
