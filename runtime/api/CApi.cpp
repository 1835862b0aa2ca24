// CApi.cpp - the C interface of errors, engines and plans. Calls are in CApiCall.cpp; what needs
// the compiler is in CApiCompile.cpp.
#include "runtime/api/CApi.h"
#include "runtime/api/Enums.h"
#include "runtime/engine/Compiler.h"
#include "runtime/engine/Describe.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/device/Platform.h"
#include "runtime/cpu/ThreadCount.h"
#include <cstdlib>
#include <new>
using namespace logitile;

// ---- errors and texts ---------------------------------------------------------------------------

namespace {
struct LastError {
  Status status; // owns what 'shown' points to
  lt_error shown{LT_OK, "", "", "", 0, "", "", ""};
};
thread_local LastError last;

struct GivenInterrupt {
  lt_interrupt interrupt = nullptr;
  void *context = nullptr;
};
thread_local GivenInterrupt given;

static_assert(static_cast<int>(ErrorCode::Type) == LT_TYPE_ERROR && static_cast<int>(ErrorCode::EmulatorFault) == LT_EMULATOR_FAULT);
} // namespace

lt_code logitile::report(const Status &status) noexcept {
  if (status.isOk())
    return LT_OK;
  last.status = status;
  const Error &error = status.error();
  last.shown = {static_cast<lt_code>(error.code), error.text.c_str(),     error.stage.c_str(), error.reproducer.c_str(),
                error.minimumWorkspace,           error.computedIndex.c_str(), error.kernel.c_str(), error.faults.c_str()};
  return last.shown.code;
}

/// Needs no memory itself.
static lt_code reportNoMemory() noexcept {
  last.shown = {LT_VALUE_ERROR, "the system has no memory left for the library; free some, or raise the memory limit of the process",
                "",             "",
                0,              "",
                "",             ""};
  return last.shown.code;
}

lt_code logitile::reportException() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc &) {
      return reportNoMemory();
    } catch (const std::exception &error) {
      return report(Status(ErrorCode::Internal, error.what()));
    } catch (...) {
      return report(Status(ErrorCode::Internal, "an exception of an unknown kind"));
    }
  } catch (...) { // the error itself needs memory
    return reportNoMemory();
  }
}
const lt_error *lt_last_error(void) { return &last.shown; }

void lt_set_interrupt(lt_interrupt interrupt, void *context) { given = {interrupt, context}; }
Interrupt logitile::interruptOfThread() {
  if (!given.interrupt)
    return {};
  return {[](void *set) {
            auto [interrupt, context] = *static_cast<GivenInterrupt *>(set);
            return interrupt && interrupt(context) != 0;
          },
          &given};
}

lt_text logitile::textOf(std::string_view text) {
  char *data = static_cast<char *>(std::malloc(text.size() + 1));
  if (!data)
    throw std::bad_alloc();
  std::memcpy(data, text.data(), text.size());
  data[text.size()] = 0;
  return {data, text.size()};
}
void lt_text_destroy(lt_text *text) {
  if (!text)
    return;
  std::free(text->data);
  *text = {nullptr, 0};
}

const char *lt_type_name(lt_type type) { return nameOf<ElementType>(type); }
const char *lt_mode_name(lt_mode mode) { return nameOf<Mode>(mode); }
const char *lt_operand_part_name(lt_operand_part part) { return nameOf<OperandPart>(part); }
const char *lt_slice_part_name(lt_slice_part part) { return nameOf<SlicePart>(part); }
const char *lt_reduction_name(lt_reduction reduction) { return nameOf<Reduction>(reduction); }

int lt_abi_version(void) { return LT_ABI_VERSION; }
const char *lt_build_id(void) {
  static const std::string id(compilerBuildId());
  return id.c_str();
}

// ---- engines ------------------------------------------------------------------------------------

void lt_engine_options_init(lt_engine_options *options) {
  Engine::Options defaults;
  *options = {};
  options->cache_plans = defaults.cache.plans;
  options->cache_code_bytes = defaults.cache.codeBytes;
  options->workspace_keep_bytes = defaults.workspaceKeepBytes;
  options->history_records = static_cast<int64_t>(defaults.historyRecords);
  options->times_kernels = defaults.timesKernels;
}

static Result<std::optional<DiskCache::Options>> diskOptions(const lt_engine_options &given) {
  using None = std::optional<DiskCache::Options>;
  if (given.disk_cache && !*given.disk_cache)
    return None();
  Result<None> found = DiskCache::fromEnvironment(given.disk_cache);
  if (found.isOk() && *found && given.disk_cache_bytes > 0)
    (*found)->bytes = given.disk_cache_bytes;
  return found;
}

lt_code lt_engine_create(const lt_engine_options *options, lt_engine **engine) {
  return guarded([&]() -> Status {
    lt_engine_options given;
    lt_engine_options_init(&given);
    if (options)
      given = *options;
    if (given.cache_plans < 1 || given.cache_code_bytes < 0 || given.workspace_keep_bytes < 0 || given.history_records < 0 ||
        given.disk_cache_bytes < 0)
      return Status(ErrorCode::Value, "an engine needs room for at least 1 plan, and no negative sizes");
    Engine::Options made;
    made.cache = {given.cache_plans, given.cache_code_bytes};
    made.workspaceKeepBytes = given.workspace_keep_bytes;
    made.historyRecords = static_cast<size_t>(given.history_records);
    made.timesKernels = given.times_kernels;
    Result<std::optional<DiskCache::Options>> disk = diskOptions(given);
    if (!disk.isOk())
      return disk.status();
    made.disk = *disk;
    *engine = new lt_engine{makeEngine(made)};
    return Status();
  });
}
void lt_engine_destroy(lt_engine *engine) { delete engine; }

lt_code lt_thread_count(int wanted, int *threads) {
  return guarded([&]() -> Status {
    Result<int> count = chooseThreads(wanted);
    if (count.isOk())
      *threads = *count;
    return count.status();
  });
}

static Status nameTarget(const Platform &platform, int device, lt_text *name) {
  Result<std::string> target = platform.findTarget(device);
  if (target.isOk())
    *name = textOf(*target);
  return target.status();
}
lt_code lt_host_target(lt_text *name) {
  return guarded([&] { return nameTarget(hostPlatform(), 0, name); });
}
lt_code lt_device_target(const char *platform, int device, lt_text *name) {
  return guarded([&]() -> Status {
    Result<const Platform *> found = findPlatform(platform);
    return found.isOk() ? nameTarget(**found, device, name) : found.status();
  });
}

lt_code lt_device_model(const char *target, int device, lt_text *name, lt_text *driver) {
  return guarded([&]() -> Status {
    Result<const Platform *> platform = findPlatform(target);
    if (!platform.isOk())
      return platform.status();
    Result<DeviceModel> model = (*platform)->describe(featuresOf(target), device);
    if (model.isOk()) {
      *name = textOf(model->name);
      *driver = textOf(model->driver);
    }
    return model.status();
  });
}

lt_code lt_history(lt_engine *engine, lt_text *json) {
  return guarded([&]() -> Status {
    *json = textOf(describeHistory(engine->engine->history().snapshot()));
    return Status();
  });
}
lt_code lt_engine_check(lt_engine *engine) {
  return guarded([&] { return engine->engine->check(); });
}
void lt_history_clear(lt_engine *engine) { engine->engine->history().clear(); }
void lt_engine_trim(lt_engine *engine) {
  engine->engine->cache().clear();
  engine->engine->workspace().clear();
}
void lt_engine_get_usage(lt_engine *engine, lt_engine_usage *usage) {
  KernelCache::Usage cache = engine->engine->cache().usage();
  Workspace::Usage workspace = engine->engine->workspace().usage();
  *usage = {cache.plans, cache.codeBytes, workspace.takenBytes, workspace.freeBytes, workspace.peakBytes};
}

// ---- plans --------------------------------------------------------------------------------------

lt_plan *logitile::newPlan(const std::shared_ptr<Engine> &engine, PlanUse use) {
  std::string notice;
  for (const std::string &line : use.notices)
    notice += (notice.empty() ? "" : "\n") + line;
  return new lt_plan{engine, std::move(use), std::move(notice)};
}

const char *lt_plan_notice(const lt_plan *plan) { return plan->notice.c_str(); }
lt_code lt_plan_load(lt_engine *engine, const void *bytes, size_t size, lt_plan **plan) {
  return guarded([&]() -> Status {
    Result<PlanUse> use = engine->engine->loadPlanBytes({static_cast<const char *>(bytes), size}, interruptOfThread());
    if (use.isOk())
      *plan = newPlan(engine->engine, std::move(*use));
    return use.status();
  });
}
lt_code lt_plan_save(const lt_plan *plan, const lt_call *call, lt_text *bytes) {
  return guarded([&]() -> Status {
    std::optional<CallRules> rules = plan->use.rules;
    if (call)
      rules = {valueOf<Reduction>(call->reduction).value_or(Reduction::None), call->ignore ? call->ignore : "",
               call->ignore_index ? std::optional(*call->ignore_index) : std::nullopt, call->zero_if_all_ignored != 0};
    *bytes = textOf(writePlan(plan->use.loaded->plan, rules));
    return Status();
  });
}
void lt_plan_destroy(lt_plan *plan) { delete plan; }
void lt_plan_interval(const lt_plan *plan, int64_t *first, int64_t *end) {
  *first = plan->use.loaded->plan.tokensFirst;
  *end = plan->use.loaded->plan.tokensEnd;
}
lt_code lt_plan_describe(const lt_plan *plan, int64_t tokens, int threads, lt_text *json) {
  return guarded([&]() -> Status {
    *json = textOf(describePlan(plan->use, tokens, threads));
    return Status();
  });
}
