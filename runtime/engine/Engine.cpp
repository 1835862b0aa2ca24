// Engine.cpp - the way of a request through key, cache, compiler and device; the only file of the runtime that knows the
// compiler.
#include "runtime/engine/Engine.h"
#include "compiler/Compile.h"
#include "compiler/Schedule/TileTable.h"
#include "compiler/Support/SizeText.h"
#include "compiler/Target/Backend.h"
#include "runtime/device/Platform.h"
#include "runtime/gpu/IndexReport.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/support/Errand.h"
#include <algorithm>
#include <chrono>
using namespace logitile;

namespace {
class Stopwatch {
public:
  double milliseconds() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count(); }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Diagnostics are lines; an error is a text.
std::string withoutEnd(const std::string &lines) { return lines.substr(0, lines.find_last_not_of('\n') + 1); }

Status failure(const CompileResult &result, const Request &request, int64_t tokens) {
  Error error;
  if (result.minimumWorkspace > 0) {
    error.code = ErrorCode::Value;
    error.text = "'workspace' is " + sizeText(request.workspace) + ", but " + std::to_string(tokens) + " tokens need at least " +
                 sizeText(result.minimumWorkspace) + "; raise it";
  } else {
    error.code = ErrorCode::Compile;
    error.text = withoutEnd(result.error);
    error.stage = stageName(result.failed);
    error.reproducer = result.reproducer;
  }
  error.minimumWorkspace = result.minimumWorkspace;
  return Status(std::move(error));
}

Result<std::string> textOr(const StageText &result) {
  if (result.text)
    return *result.text;
  Error error;
  error.code = ErrorCode::Compile;
  error.text = withoutEnd(result.error);
  error.stage = stageName(result.failed);
  return Status(std::move(error));
}
} // namespace

// ---- plans ------------------------------------------------------------------------------------------------------------------

/// The target of that name, or an error that lists names.
static Result<std::shared_ptr<const Target>> targetOf(const std::string &name) {
  std::string error;
  std::shared_ptr<const Target> target = findTarget(name, error);
  return target ? Result<std::shared_ptr<const Target>>(target) : Status(ErrorCode::Target, error);
}

/// Makes plans: the devices, the compiler and the disk cache of an engine. Errands use it too, and may outlive the engine.
class Engine::PlanMaker {
public:
  PlanMaker(CompileFunction compile, const Options &options)
      : hostMemory(std::make_shared<Workspace>(options.workspaceKeepBytes)),
        disk(options.disk ? std::make_shared<DiskCache>(*options.disk) : nullptr), compile(std::move(compile)) {
    letLLVMThrow();
    for (const Platform *platform : listPlatforms())
      devices.emplace_back(platform, platform->makeDevice(hostMemory));
  }

  Result<std::shared_ptr<Device>> deviceOf(const std::string &target) const;
  /// From disk, or compiled.
  Result<KernelCache::Plan> make(const Program &program, int64_t tokens, Cancellation &cancellation) const;
  Result<PlanUse> load(std::string_view bytes) const;

  const std::shared_ptr<Workspace> hostMemory;
  std::vector<std::pair<const Platform *, std::shared_ptr<Device>>> devices; // never changed
  const std::shared_ptr<DiskCache> disk; // null: there is none

private:
  KernelCache::Plan findOnDisk(const DiskKey &key, const Program &program, int64_t tokens) const;
  Result<KernelCache::Plan> compilePlan(const Program &program, int64_t tokens, NativeStore store, Cancellation &cancellation) const;
  NativeStore storeOf(const DiskKey &key, NativeCode known) const;

  const CompileFunction compile;
};

Result<std::shared_ptr<Device>> Engine::PlanMaker::deviceOf(const std::string &target) const {
  Result<const Platform *> platform = findPlatform(target);
  if (!platform.isOk())
    return platform.status();
  if (Status status = (*platform)->check(featuresOf(target)); !status.isOk())
    return status;
  auto device = std::ranges::find(devices, *platform, [](const auto &one) { return one.first; });
  if (device == devices.end())
    return Status(ErrorCode::Target, "this engine is older than the platform of '" + target + "'; make another one");
  return device->second;
}

Result<KernelCache::Plan> Engine::PlanMaker::compilePlan(const Program &program, int64_t tokens, NativeStore store,
                                                         Cancellation &cancellation) const {
  Result<std::shared_ptr<Device>> device = deviceOf(program.request.target);
  if (!device.isOk())
    return device.status();
  CompileResult result = compile({program.request, tokens, &cancellation});
  if (!result.plan)
    return failure(result, program.request, tokens);
  PlanOrigin origin{PlanEvent::Compile, {}, 0};
  for (const StageTime &time : result.times)
    origin.stages.push_back({time.stage, time.milliseconds});
  Stopwatch watch;
  Result<std::shared_ptr<LoadedPlan>> loaded = loadPlan(std::move(*result.plan), program.key, *device, std::move(store));
  if (!loaded.isOk())
    return loaded.status();
  origin.loadMilliseconds = watch.milliseconds();
  (*loaded)->origin = std::move(origin);
  return KernelCache::Plan(std::move(*loaded));
}

/// Native code of a plan on disk: it is made when a call first needs it, and then kept beside the plan.
NativeStore Engine::PlanMaker::storeOf(const DiskKey &key, NativeCode known) const {
  return {std::move(known), [disk = disk, key](const LaunchPlan &plan, const NativeCode &made) { disk->publish(key, plan, made); }};
}

KernelCache::Plan Engine::PlanMaker::findOnDisk(const DiskKey &key, const Program &program, int64_t tokens) const {
  std::shared_ptr<LoadedPlan> found;
  Stopwatch watch;
  disk->find(key, tokens, [&](DiskEntry entry) -> Status {
    Result<std::shared_ptr<Device>> device = deviceOf(entry.plan.target);
    if (!device.isOk())
      return device.status();
    Result<std::shared_ptr<LoadedPlan>> loaded =
        loadPlan(std::move(entry.plan), program.key, *device, storeOf(key, std::move(entry.native)));
    if (loaded.isOk())
      found = std::move(*loaded);
    return loaded.status();
  });
  if (found)
    found->origin = {PlanEvent::Disk, {}, watch.milliseconds()};
  return found;
}

Result<KernelCache::Plan> Engine::PlanMaker::make(const Program &program, int64_t tokens, Cancellation &cancellation) const {
  if (!disk)
    return compilePlan(program, tokens, {}, cancellation);
  DiskKey key{program.key, requestBytes(program.request, compilerBuildId())};
  if (KernelCache::Plan found = findOnDisk(key, program, tokens))
    return found;
  Result<KernelCache::Plan> made = compilePlan(program, tokens, storeOf(key, {}), cancellation);
  if (made.isOk())
    disk->publish(key, (*made)->plan);
  return made;
}

Result<PlanUse> Engine::PlanMaker::load(std::string_view bytes) const {
  Result<SavedPlan> saved = readPlan(bytes);
  if (!saved.isOk())
    return saved.status();
  Result<std::shared_ptr<Device>> device = deviceOf(saved->plan.target);
  if (!device.isOk())
    return device.status();
  Stopwatch watch;
  Result<std::shared_ptr<LoadedPlan>> loaded = loadPlan(std::move(saved->plan), KernelKey::ofBytes(bytes), *device);
  if (!loaded.isOk())
    return loaded.status();
  (*loaded)->origin = {PlanEvent::Load, {}, watch.milliseconds()};
  return PlanUse{*loaded, (*loaded)->origin, std::move(saved->rules), {}};
}

// ---- the engine -------------------------------------------------------------------------------------------------------------

Engine::Engine(CompileFunction compile, const Options &options)
    : maker(std::make_shared<PlanMaker>(std::move(compile), options)), timesKernels(options.timesKernels), plans(options.cache),
      records(options.historyRecords) {}

std::shared_ptr<Engine> Engine::withCompiler(const Options &options) { return std::make_shared<Engine>(compileRequest, options); }

Workspace &Engine::workspace() { return *maker->hostMemory; }

Result<Program> Engine::makeProgram(Request request) {
  if (Result<std::shared_ptr<const Target>> target = targetOf(request.target); !target.isOk())
    return target.status();
  if (request.threads < 1)
    return Status(ErrorCode::Value, "a program needs at least 1 thread, not " + std::to_string(request.threads));
  KernelKey key = KernelKey::of(request, compilerBuildId());
  return Program{std::move(request), key};
}

Result<PlanUse> Engine::findPlan(const Program &program, int64_t tokens, const Interrupt &interrupt) {
  tokens = std::max<int64_t>(tokens, 1); // a call without tokens runs nothing, but needs the plan's names
  PlanUse use;
  use.loaded = plans.find(program.key, tokens);
  if (use.loaded)
    return use;
  auto make = [maker = maker, program, tokens](Cancellation &cancellation) { return maker->make(program, tokens, cancellation); };
  Result<KernelCache::Found> found = plans.get(program.key, tokens, make, interrupt);
  if (!found.isOk())
    return found.status();
  use.loaded = std::move(found->plan);
  if (found->isNew)
    use.origin = use.loaded->origin;
  if (maker->disk && found->isNew)
    use.notices = maker->disk->takeNotices();
  return use;
}

Result<PlanUse> Engine::loadPlanBytes(std::string bytes, const Interrupt &interrupt) {
  return runErrand(interrupt, [maker = maker, bytes = std::move(bytes)](Cancellation &) { return maker->load(bytes); });
}

// ---- calls ------------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Saved>> Engine::forward(const std::shared_ptr<const LoadedPlan> &loaded, const CallArguments &arguments) {
  CallArguments timed = arguments;
  timed.isTimed |= timesKernels;
  CallReport report;
  Stopwatch watch;
  Result<std::unique_ptr<Saved>> saved = runForward(loaded, timed, report);
  if (saved.isOk())
    record(*loaded, /*isAdjoint=*/false, report, watch.milliseconds());
  return saved;
}

Status Engine::adjoint(const Saved &saved, const CallArguments &arguments) {
  CallArguments timed = arguments;
  timed.isTimed |= timesKernels;
  CallReport report;
  Stopwatch watch;
  Status status = runAdjoint(saved, timed, report);
  if (status.isOk())
    record(*saved.loaded, /*isAdjoint=*/true, report, watch.milliseconds());
  return status;
}

Status Engine::check() {
  for (const auto &[platform, device] : maker->devices) {
    Status status = device->synchronise();
    if (status.isOk() && device->indexReport())
      status = device->indexReport()->take();
    if (!status.isOk())
      return status;
  }
  return Status();
}

void Engine::record(const LoadedPlan &loaded, bool isAdjoint, const CallReport &report, double milliseconds) {
  LaunchRecord entry;
  entry.key = loaded.key;
  entry.program = loaded.plan.name;
  if (!loaded.isOriginTold.exchange(true))
    entry.origin = loaded.origin;
  entry.isAdjoint = isAdjoint;
  entry.tokens = report.tokens;
  entry.counted = report.counted;
  entry.chunks = report.chunks;
  entry.predictedBytes = report.predictedBytes;
  entry.measuredBytes = report.measuredBytes;
  entry.runMilliseconds = milliseconds;
  for (const KernelUse &kernel : report.kernels)
    entry.kernels.push_back({loaded.plan.kernels[kernel.kernel].name, kernel});
  records.add(std::move(entry));
}

// ---- tuning -----------------------------------------------------------------------------------------------------------------

Result<std::vector<std::string>> Engine::tileChoices(const Request &request) {
  Result<std::shared_ptr<const Target>> target = targetOf(request.target);
  if (!target.isOk())
    return target.status();
  std::string error;
  std::vector<std::string> choices;
  for (const TileSizes &sizes : listTileSizes(**target, std::max<int64_t>(request.pairs.size() + request.dense.size(), 1), error))
    choices.push_back(spellTileSizes(sizes));
  if (choices.empty())
    return Status(ErrorCode::Internal, error);
  return choices;
}

Result<double> Engine::predict(const Request &request, int64_t tokens, const Interrupt &interrupt) {
  return runErrand(interrupt, [request, tokens](Cancellation &cancellation) -> Result<double> {
    CompileResult result = predictRequest({request, std::max<int64_t>(tokens, 1), &cancellation});
    if (!result.error.empty())
      return failure(result, request, tokens);
    return result.predictedSeconds;
  });
}

// ---- texts ------------------------------------------------------------------------------------------------------------------

Result<std::string> Engine::stageText(const Request &request, int64_t tokens, Stage to, const std::string &kernel,
                                      const Interrupt &interrupt) {
  return runErrand(interrupt, [request, tokens, to, kernel](Cancellation &cancellation) {
    return textOr(printStage({request, tokens, &cancellation}, to, kernel));
  });
}
Result<std::string> Engine::trace(const Request &request, int64_t tokens, const Interrupt &interrupt) {
  return runErrand(interrupt, [request, tokens](Cancellation &cancellation) {
    StageTrace trace = traceStages({request, tokens, &cancellation});
    StageText text;
    if (trace.error.empty())
      text.text = writeTrace(trace.stages);
    text.error = trace.error;
    text.failed = trace.failed;
    return textOr(text);
  });
}
Result<std::string> Engine::stageText(const std::string &text, Stage from, Stage to, const std::string &kernel) {
  return textOr(printStage({text, from, {}, {}}, to, kernel));
}
Result<std::string> Engine::planBytes(const std::string &text, Stage from, const std::string &target) {
  CompileResult result = compileText({text, from, {}, target});
  if (result.plan)
    return writePlan(*result.plan, std::nullopt);
  StageText refused;
  refused.error = result.error;
  refused.failed = result.failed;
  return textOr(refused);
}
