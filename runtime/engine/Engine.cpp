// Engine.cpp - loads plans and runs them: devices, calls, records. What needs the compiler is
// Requests.cpp.
#include "compiler/Support/LLVMErrors.h"
#include "runtime/engine/PlanMaker.h"
#include "runtime/gpu/IndexReport.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/support/BackgroundJob.h"
#include <algorithm>
using namespace logitile;

// ---- plans --------------------------------------------------------------------------------------

Engine::PlanMaker::PlanMaker(CompileFunction compile, const Options &options)
    : hostMemory(std::make_shared<Workspace>(options.workspaceKeepBytes)),
      disk(options.disk ? std::make_shared<DiskCache>(*options.disk) : nullptr), compile(std::move(compile)) {
  letLLVMThrow();
  for (const Platform *platform : listPlatforms())
    devices.emplace_back(platform, platform->makeDevice(hostMemory));
}

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

// ---- the engine ---------------------------------------------------------------------------------

Engine::Engine(CompileFunction compile, const Options &options)
    : maker(std::make_shared<PlanMaker>(std::move(compile), options)), timesKernels(options.timesKernels), plans(options.cache),
      records(options.historyRecords) {}

Workspace &Engine::workspace() { return *maker->hostMemory; }

Result<PlanUse> Engine::loadPlanBytes(std::string bytes, const Interrupt &interrupt) {
  return runInBackground(interrupt, [maker = maker, bytes = std::move(bytes)](Cancellation &) { return maker->load(bytes); });
}

// ---- calls --------------------------------------------------------------------------------------

Result<std::unique_ptr<Saved>> Engine::forward(const std::shared_ptr<const LoadedPlan> &loaded, const CallArguments &arguments) {
  CallArguments timed = arguments;
  timed.isTimed |= timesKernels;
  CallReport report;
  Stopwatch watch;
  Result<std::unique_ptr<Saved>> saved = runForward(loaded, timed, report);
  if (saved.isOk())
    record(*loaded, /*isBackward=*/false, report, watch.milliseconds());
  return saved;
}

Status Engine::backward(const Saved &saved, const CallArguments &arguments) {
  CallArguments timed = arguments;
  timed.isTimed |= timesKernels;
  CallReport report;
  Stopwatch watch;
  Status status = runBackward(saved, timed, report);
  if (status.isOk())
    record(*saved.loaded, /*isBackward=*/true, report, watch.milliseconds());
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

void Engine::record(const LoadedPlan &loaded, bool isBackward, const CallReport &report, double milliseconds) {
  LaunchRecord record;
  record.key = loaded.key;
  record.program = loaded.plan.name;
  if (!loaded.isOriginTold.exchange(true))
    record.origin = loaded.origin;
  record.isBackward = isBackward;
  record.tokens = report.tokens;
  record.counted = report.counted;
  record.chunks = report.chunks;
  record.predictedBytes = report.predictedBytes;
  record.measuredBytes = report.measuredBytes;
  record.runMilliseconds = milliseconds;
  for (const KernelUse &kernel : report.kernels)
    record.kernels.push_back({loaded.plan.kernels[kernel.kernel].name, kernel});
  records.add(std::move(record));
}
