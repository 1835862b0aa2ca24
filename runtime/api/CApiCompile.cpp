// CApiCompile.cpp - the C interface of what needs the compiler: programs, texts of stages, targets,
// the disk cache. The library that only runs plans does without this file.
#include "runtime/api/CApi.h"
#include "runtime/api/CopyRequest.h"
#include "runtime/api/StageProcess.h"
#include "runtime/engine/Describe.h"
using namespace logitile;

lt_code lt_target_describe(const char *target, lt_text *json) {
  return guarded([&]() -> Status {
    Result<std::string> described = describeTarget(target);
    if (described.isOk())
      *json = textOf(*described);
    return described.status();
  });
}

// ---- the disk cache -----------------------------------------------------------------------------

lt_code lt_disk_cache_settings(lt_text *folder, int64_t *bytes) {
  return guarded([&]() -> Status {
    Result<std::optional<DiskCache::Options>> options = DiskCache::fromEnvironment(nullptr);
    if (!options.isOk())
      return options.status();
    DiskCache::Options settings = options->value_or(DiskCache::Options());
    *folder = textOf(settings.folder);
    *bytes = settings.bytes;
    return Status();
  });
}
lt_code lt_disk_cache_list(const char *folder, const char *prefix, int details, lt_text *json) {
  return guarded([&]() -> Status {
    Result<std::vector<DiskCache::Listed>> entries = DiskCache::list(folder, prefix);
    if (entries.isOk())
      *json = textOf(describeEntries(*entries, details));
    return entries.status();
  });
}
lt_code lt_disk_cache_clear(const char *folder, int64_t *entries, int64_t *bytes) {
  return guarded([&]() -> Status {
    Result<DiskCache::Removed> removed = DiskCache::clear(folder);
    if (removed.isOk()) {
      *entries = removed->entries;
      *bytes = removed->bytes;
    }
    return removed.status();
  });
}

// ---- programs -----------------------------------------------------------------------------------

lt_code lt_program_create(lt_engine *engine, const lt_request *given, lt_program **program) {
  return guarded([&]() -> Status {
    Result<Request> request = copyRequest(*given);
    if (!request.isOk())
      return request.status();
    Result<Program> made = engine->engine->makeProgram(std::move(*request));
    if (!made.isOk())
      return made.status();
    std::string key = made->key.hex();
    *program = new lt_program{engine->engine, std::move(*made), std::move(key)};
    return Status();
  });
}
void lt_program_destroy(lt_program *program) { delete program; }
const char *lt_program_key(const lt_program *program) { return program->key.c_str(); }

lt_code lt_program_task(const lt_program *program, lt_text *key) {
  return guarded([&]() -> Status {
    *key = textOf(KernelKey::ofTask(program->program.request).hex());
    return Status();
  });
}
lt_code lt_program_tiles(const lt_program *program, lt_text *json) {
  return guarded([&]() -> Status {
    Result<std::vector<std::string>> choices = Engine::tileChoices(program->program.request);
    if (choices.isOk())
      *json = textOf(describeNames(*choices));
    return choices.status();
  });
}
lt_code lt_program_predict(const lt_program *program, int64_t tokens, double *seconds) {
  return guarded([&]() -> Status {
    Result<double> predicted = Engine::predict(program->program.request, tokens, interruptOfThread());
    if (predicted.isOk())
      *seconds = *predicted;
    return predicted.status();
  });
}

static Result<Stage> stageOf(const char *name) {
  std::optional<Stage> stage = parseStage(name);
  if (stage)
    return *stage;
  std::string known;
  for (std::string_view word : kStageNames)
    known += (known.empty() ? "" : ", ") + std::string(word);
  return Status(ErrorCode::Value, "there is no stage '" + std::string(name) + "'; stages are " + known);
}

lt_code lt_program_stage(const lt_program *program, int64_t tokens, const char *stage, const char *kernel, lt_text *text) {
  return guarded([&]() -> Status {
    Result<Stage> to = stageOf(stage);
    if (!to.isOk())
      return to.status();
    Result<std::string> made = Engine::stageText(program->program.request, tokens, *to, kernel, interruptOfThread());
    if (made.isOk())
      *text = textOf(*made);
    return made.status();
  });
}

lt_code lt_program_trace(const lt_program *program, int64_t tokens, lt_text *json) {
  return guarded([&]() -> Status {
    Result<std::string> made = Engine::trace(program->program.request, tokens, interruptOfThread());
    if (made.isOk())
      *json = textOf(*made);
    return made.status();
  });
}

lt_code lt_stage_from_text(const char *text, const char *from, const char *to, const char *kernel, lt_text *result) {
  return guarded([&]() -> Status {
    Result<Stage> first = stageOf(from), last = stageOf(to);
    if (!first.isOk() || !last.isOk())
      return first.isOk() ? last.status() : first.status();
    Result<std::string> made = stageInProcess(text, *first, *last, kernel);
    if (made.isOk())
      *result = textOf(*made);
    return made.status();
  });
}
lt_code lt_operations(lt_text *json) {
  return guarded([&]() -> Status {
    *json = textOf(describeOperations(scalarOperations()));
    return Status();
  });
}
int lt_stage_main(int count, char **arguments) { return runStageProcess(count, arguments); }

lt_code lt_program_plan(lt_program *program, int64_t tokens, lt_plan **plan) {
  return guarded([&]() -> Status {
    if (tokens < 0)
      return Status(ErrorCode::Value, "a call cannot have " + std::to_string(tokens) + " tokens");
    Result<PlanUse> use = program->engine->findPlan(program->program, tokens, interruptOfThread());
    if (use.isOk())
      *plan = newPlan(program->engine, std::move(*use));
    return use.status();
  });
}
lt_code lt_plan_from_text(lt_engine *engine, const char *text, const char *from, const char *target, lt_plan **plan) {
  return guarded([&]() -> Status {
    Result<Stage> stage = stageOf(from);
    if (!stage.isOk())
      return stage.status();
    Result<std::string> bytes = planInProcess(text, *stage, target);
    if (!bytes.isOk())
      return bytes.status();
    Result<PlanUse> use = engine->engine->loadPlanBytes(std::move(*bytes), interruptOfThread());
    if (use.isOk())
      *plan = newPlan(engine->engine, std::move(*use));
    return use.status();
  });
}
