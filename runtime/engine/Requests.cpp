// Requests.cpp - the way of a request through key, caches, compiler and device; the only file of
// the runtime that knows the compiler.
#include "compiler/Compile.h"
#include "compiler/Schedule/TileTable.h"
#include "compiler/Support/SizeText.h"
#include "compiler/Target/Backend.h"
#include "runtime/device/Platform.h"
#include "runtime/engine/Compiler.h"
#include "runtime/engine/PlanMaker.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/support/BackgroundJob.h"
#include <algorithm>
using namespace logitile;

namespace {
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

/// What this machine was measured to do, for a target whose platform it knows.
UnitRates ratesOf(const std::string &target) {
  Result<const Platform *> platform = findPlatform(target);
  return platform.isOk() ? (*platform)->rates(featuresOf(target)) : UnitRates();
}
} // namespace

// ---- what Compiler.h asks -----------------------------------------------------------------------

std::shared_ptr<Engine> logitile::makeEngine(const Engine::Options &options) { return std::make_shared<Engine>(compileRequest, options); }

std::optional<Machine> logitile::machineOf(const std::string &name, int64_t threads) {
  std::string error;
  std::shared_ptr<const Target> target = findTarget(name, error);
  return target ? std::optional(measuredMachine(target->machine(threads), ratesOf(name))) : std::nullopt;
}

// ---- plans --------------------------------------------------------------------------------------

/// The target of that name, or an error that lists names.
static Result<std::shared_ptr<const Target>> targetOf(const std::string &name) {
  std::string error;
  std::shared_ptr<const Target> target = findTarget(name, error);
  return target ? Result<std::shared_ptr<const Target>>(target) : Status(ErrorCode::Target, error);
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

/// Native code of a plan on disk: it is made when a call first needs it, and then kept beside the
/// plan.
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

/// That kernels of a target can have the tiles of a request. A table that is wrong is told of where
/// it is used.
static Status checkTiles(const Target &target, const TileChoice &tiles) {
  std::string error;
  std::vector<TileSizes> known = tiles.empty() ? std::vector<TileSizes>() : listTileSizes(target, 1, error);
  if (known.empty() || findTileSizes(target, 1, tiles, error))
    return Status();
  return Status(ErrorCode::Value, error + "; take sizes of '" + target.name() + "', such as " + spellTileSizes(known.front()) +
                                      ", or leave 'tiles' out");
}

Result<Program> Engine::makeProgram(Request request) {
  Result<std::shared_ptr<const Target>> target = targetOf(request.target);
  if (!target.isOk())
    return target.status();
  if (Status fits = checkTiles(**target, request.tiles); !fits.isOk())
    return fits;
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

// ---- tuning -------------------------------------------------------------------------------------

Result<std::vector<std::string>> Engine::tileChoices(const Request &request) {
  Result<std::shared_ptr<const Target>> target = targetOf(request.target);
  if (!target.isOk())
    return target.status();
  std::string error;
  std::vector<std::string> choices;
  bool mayShare = std::ranges::any_of(request.projections, [](const ProjectionPlan &projection) { return elementBytes(projection.element) == 2; });
  for (const TileSizes &sizes : listTileSizes(**target, std::max<int64_t>(request.projections.size() + request.dense.size(), 1), error))
    if (sizes.cluster == 1 || mayShare) // blocks of a cluster share operands of 16 bits
      choices.push_back(spellTileSizes(sizes));
  if (choices.empty())
    return Status(ErrorCode::Internal, error);
  return choices;
}

Result<double> Engine::predict(const Request &request, int64_t tokens, const Interrupt &interrupt) {
  return runInBackground(interrupt, [request, tokens](Cancellation &cancellation) -> Result<double> {
    CompileResult result = predictRequest({request, std::max<int64_t>(tokens, 1), &cancellation, ratesOf(request.target)});
    if (!result.error.empty())
      return failure(result, request, tokens);
    return result.predictedSeconds;
  });
}

// ---- texts --------------------------------------------------------------------------------------

Result<std::string> Engine::stageText(const Request &request, int64_t tokens, Stage to, const std::string &kernel,
                                      const Interrupt &interrupt) {
  return runInBackground(interrupt, [request, tokens, to, kernel](Cancellation &cancellation) {
    return textOr(printStage({request, tokens, &cancellation}, to, kernel));
  });
}
Result<std::string> Engine::trace(const Request &request, int64_t tokens, const Interrupt &interrupt) {
  return runInBackground(interrupt, [request, tokens](Cancellation &cancellation) {
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
