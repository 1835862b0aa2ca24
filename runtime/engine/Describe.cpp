// Describe.cpp - the words that JSON uses for the enumerations of a plan, and its structure.
#include "runtime/engine/Describe.h"
#include "runtime/engine/Compiler.h"
#include "runtime/plan/Launches.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
using namespace logitile;
namespace json = llvm::json;

namespace {
template <HasWords Enum> llvm::StringRef word(Enum value) { return wordOf(value); }
const char *word(PlanEvent event) {
  constexpr const char *kWords[] = {"hit", "compile", "load", "disk"};
  return kWords[static_cast<int>(event)];
}
const char *word(OutputPlan::Role role) {
  constexpr const char *kWords[] = {"value", "loss", "weight", "state"};
  return kWords[static_cast<int>(role)];
}
const char *word(GradientPlan::Kind kind) {
  constexpr const char *kWords[] = {"direct", "token", "vocab", "scalar", "zero"};
  return kWords[static_cast<int>(kind)];
}

template <typename List, typename One> json::Array arrayOf(const List &list, One one) {
  json::Array array;
  for (const auto &element : list)
    array.push_back(one(element));
  return array;
}

std::string textOf(json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

json::Object millisecondsOf(const std::vector<StageMilliseconds> &stages) {
  json::Object object;
  for (const StageMilliseconds &time : stages)
    object[llvm::StringRef(stageName(time.stage))] = time.milliseconds;
  return object;
}

/// The layouts of both phases for one number of tokens.
struct Layouts {
  WorkspaceLayout forward, backward;

  Layouts(const LaunchPlan &plan, int64_t tokens)
      : forward(layoutWorkspace(plan.buffers, tokens, chunkOf(plan.forward, tokens, plan.tokenTile), plan.memory, false)),
        backward(layoutWorkspace(plan.buffers, tokens, chunkOf(plan.backward, tokens, plan.tokenTile), plan.memory, true)) {}

  /// Bytes of a buffer's own: none for the caller's memory, and for what lies in that of another
  /// buffer.
  int64_t bytesOf(const LaunchPlan &plan, size_t i) const {
    const BufferPlan &buffer = plan.buffers[i];
    if (buffer.alias >= 0)
      return 0;
    int64_t bytes = forward.offsets[i] >= 0 ? forward.geometry[i].bytes : 0;
    return std::max(bytes, plan.isSplit && backward.offsets[i] >= 0 ? backward.geometry[i].bytes : 0);
  }
};

json::Object bufferOf(const LaunchPlan &plan, const Layouts &layouts, size_t i) {
  const BufferPlan &buffer = plan.buffers[i];
  json::Object object{{"name", buffer.name},
                      {"role", word(buffer.role)},
                      {"owner", buffer.owner},
                      {"scope", word(buffer.scope)},
                      {"layout", word(buffer.layout)},
                      {"element", word(buffer.element)},
                      {"rows", buffer.rows},
                      {"columns", buffer.columns},
                      {"forward", buffer.inForward},
                      {"backward", buffer.inBackward},
                      {"bytes", layouts.bytesOf(plan, i)}};
  if (buffer.alias >= 0)
    object["alias"] = plan.buffers[buffer.alias].name;
  if (buffer.window > 0)
    object["window"] = buffer.window;
  return object;
}

json::Array stepsOf(const LaunchPlan &plan, const std::vector<StepPlan> &steps) {
  return arrayOf(steps, [&](const StepPlan &step) -> json::Value {
    if (step.kind == StepKind::Launch && step.vocabSplitFirst >= 0)
      return json::Object{{"launch", plan.kernels[step.kernel].name},
                          {"vocab_splits", json::Array{step.vocabSplitFirst, step.vocabSplitEnd}}};
    if (step.kind == StepKind::Launch)
      return json::Object{{"launch", plan.kernels[step.kernel].name}};
    json::Object loop{{"loop", step.kind == StepKind::TokenLoop ? "tokens" : "vocab_splits"},
                      {"step", step.step},
                      {"body", stepsOf(plan, step.body)}};
    if (step.kind == StepKind::VocabSplitLoop)
      loop["range"] = json::Array{step.first, step.end};
    return loop;
  });
}

json::Value kernelOf(const LaunchPlan &plan, const KernelPlan &kernel) {
  json::Array buffers;
  for (const ArgumentPlan &argument : kernel.arguments)
    if (argument.isBuffer)
      buffers.push_back(plan.buffers[argument.buffer].name);
  return json::Object{{"name", kernel.name},
                      {"function", kernel.function()},
                      {"threads", kernel.threads},
                      {"shared_bytes", kernel.sharedBytes},
                      {"scratch_bytes", kernel.scratchBytes},
                      {"conditional", kernel.isConditional},
                      {"buffers", std::move(buffers)}};
}

/// Tiles of products that a launch makes: all but the shared axis, which comes last, counts them.
int64_t productTilesOf(const KernelPlan &kernel, const LaunchPosition &position) {
  int64_t tiles = 0;
  for (const WorkTerm &term : kernel.work.matrixInstructions)
    tiles += position.stepCount({term.axes.begin(), term.axes.end() - 1});
  return tiles;
}

json::Array launchesOf(const LaunchPlan &plan, int64_t tokens) {
  json::Array launches;
  for (const auto *steps : {&plan.prologue, &plan.forward, &plan.backward})
    (void)visitLaunches(plan, *steps, tokens, [&](const StepPlan &step, const LaunchPosition &position) {
      const KernelPlan &kernel = plan.kernels[step.kernel];
      launches.push_back(json::Object{{"kernel", kernel.name},
                                      {"tokens", position.tokens},
                                      {"tasks", position.stepCount(kernel.grid)},
                                      {"product_tiles", productTilesOf(kernel, position)},
                                      {"matrix_instructions", position.work(kernel.work.matrixInstructions)},
                                      {"global_bytes", position.work(kernel.work.globalBytes)}});
      return Status();
    });
  return launches;
}

json::Object rulesOf(const CallRules &rules) {
  return json::Object{{"reduction", word(rules.reduction)},
                      {"ignore", rules.ignore},
                      {"ignore_index", rules.ignoreIndex ? json::Value(*rules.ignoreIndex) : json::Value(nullptr)},
                      {"zero_if_all_ignored", rules.isZeroWhenAllIgnored}};
}

json::Object planOf(const LaunchPlan &plan, int64_t tokens, int64_t threads) {
  Layouts layouts(plan, tokens);
  json::Array buffers;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    buffers.push_back(bufferOf(plan, layouts, i));
  json::Object object{{"name", plan.name},
                      {"target", plan.target},
                      {"vocab", plan.vocab},
                      {"columns", plan.columns},
                      {"sweeps", json::Array{plan.forwardSweeps, plan.backwardSweeps}},
                      {"interval", json::Array{plan.tokensFirst, plan.tokensEnd}},
                      {"vocab_split", plan.vocabSplit},
                      {"forward_chunk", chunkOf(plan.forward, tokens, plan.tokenTile)},
                      {"backward_chunk", chunkOf(plan.backward, tokens, plan.tokenTile)},
                      {"stored", plan.stored},
                      {"split", plan.isSplit},
                      {"code_bytes", static_cast<int64_t>(plan.code.size())},
                      {"tokens", tokens},
                      {"threads", threads},
                      {"workspace_bytes", workspaceBytes(plan, tokens, threads)},
                      {"saved_bytes", layouts.forward.savedBytes},
                      {"buffers", std::move(buffers)}};
  object["projections"] = arrayOf(plan.projections, [](const ProjectionPlan &projection) -> json::Value {
    return json::Object{{"name", projection.name},
                        {"hidden", projection.hidden},
                        {"element", word(projection.element)},
                        {"memory", json::Array{word(projection.hiddenMemory), word(projection.weightMemory)}}};
  });
  object["inputs"] = arrayOf(plan.inputs, [](const InputPlan &input) -> json::Value {
    return json::Object{{"name", input.name},
                        {"kind", word(input.kind)},
                        {"entries", input.entries},
                        {"element", word(input.element)},
                        {"index", input.isIndex}};
  });
  object["outputs"] = arrayOf(plan.outputs, [](const OutputPlan &output) -> json::Value {
    return json::Object{{"name", output.name},
                        {"role", word(output.role)},
                        {"element", word(output.element)},
                        {"cotangent", output.hasCotangent},
                        {"places", output.places}};
  });
  object["gradients"] = arrayOf(plan.gradients, [](const GradientPlan &gradient) -> json::Value {
    return json::Object{{"name", gradient.owner},
                        {"part", word(gradient.part)},
                        {"kind", word(gradient.kind)},
                        {"element", word(gradient.element)},
                        {"accumulates", gradient.accumulates}};
  });
  object["kernels"] = arrayOf(plan.kernels, [&](const KernelPlan &kernel) { return kernelOf(plan, kernel); });
  object["prologue"] = stepsOf(plan, plan.prologue);
  object["forward"] = stepsOf(plan, plan.forward);
  object["backward"] = stepsOf(plan, plan.backward);
  object["launches"] = launchesOf(plan, tokens);
  return object;
}

json::Object countersOf(const KernelCounters &counters) {
  const std::pair<const char *, uint64_t> named[] = {{"matrix_instructions", counters.matrixInstructions},
                                                     {"global_read_bytes", counters.globalReadBytes},
                                                     {"global_write_bytes", counters.globalWriteBytes},
                                                     {"global_sectors", counters.globalSectors},
                                                     {"shared_read_bytes", counters.sharedReadBytes},
                                                     {"shared_write_bytes", counters.sharedWriteBytes},
                                                     {"shared_wavefronts", counters.sharedWavefronts},
                                                     {"bank_conflicts", counters.bankConflicts},
                                                     {"barriers", counters.barriers}};
  json::Object object;
  for (auto [name, count] : named)
    object[name] = static_cast<int64_t>(count);
  return object;
}

json::Object useOf(const LaunchRecord::KernelRecord &kernel) {
  json::Object object{{"name", kernel.name}, {"launches", kernel.use.launches}};
  if (kernel.use.milliseconds)
    object["ms"] = *kernel.use.milliseconds;
  if (!kernel.use.counters)
    return object;
  object["counters"] = countersOf(*kernel.use.counters);
  object["predicted"] = json::Object{{"matrix_instructions", kernel.use.predicted.matrixInstructions},
                                     {"global_bytes", kernel.use.predicted.globalBytes}};
  return object;
}

json::Value entryOf(const DiskCache::Listed &listed, bool details) {
  constexpr double kSecond = 1e9; // in nanoseconds
  json::Object object{{"key", listed.key}, {"path", listed.path}, {"bytes", listed.bytes}, {"last_use", listed.lastUse / kSecond}};
  Status status = listed.entry.isOk() ? checkPlan(listed.entry->plan) : listed.entry.status();
  if (!status.isOk()) {
    object["damage"] = status.error().text;
    return object;
  }
  const LaunchPlan &plan = listed.entry->plan;
  object["build"] = std::string(buildIdOf(listed.entry->key));
  object["name"] = plan.name;
  object["target"] = plan.target;
  object["interval"] = json::Array{plan.tokensFirst, plan.tokensEnd};
  if (details)
    object["plan"] = planOf(plan, std::max<int64_t>(plan.tokensFirst, 1), /*threads=*/1);
  return object;
}
} // namespace

/// The rates that the cost model calculates with; nothing where this library does not know the
/// target.
static std::optional<json::Object> ratesOf(const std::string &target, int64_t threads) {
  std::optional<Machine> machine = machineOf(target, threads);
  if (!machine)
    return std::nullopt;
  return json::Object{{"flops", machine->flops},
                      {"speed_of_16_bits", machine->speedOf16Bit},
                      {"memory_rate", machine->memoryRate},
                      {"launch_seconds", machine->launchSeconds}};
}

std::string logitile::describePlan(const PlanUse &use, int64_t tokens, int64_t threads) {
  json::Object object = planOf(use.loaded->plan, tokens, threads);
  if (std::optional<json::Object> rates = ratesOf(use.loaded->plan.target, threads))
    object["rates"] = std::move(*rates);
  if (use.rules)
    object["rules"] = rulesOf(*use.rules);
  object["event"] = word(use.origin.event);
  object["stage_ms"] = millisecondsOf(use.origin.stages);
  object["load_ms"] = use.origin.loadMilliseconds;
  return textOf(std::move(object));
}

std::string logitile::describeEntries(const std::vector<DiskCache::Listed> &entries, bool details) {
  return textOf(arrayOf(entries, [&](const DiskCache::Listed &listed) { return entryOf(listed, details); }));
}

std::string logitile::describeHistory(const std::vector<LaunchRecord> &records) {
  return textOf(arrayOf(records, [](const LaunchRecord &record) -> json::Value {
    json::Object object{{"number", static_cast<int64_t>(record.number)},
                        {"key", record.key.hex()},
                        {"program", record.program},
                        {"event", word(record.origin.event)},
                        {"phase", record.isBackward ? "backward" : "forward"},
                        {"tokens", record.tokens},
                        {"counted", record.counted},
                        {"chunks", record.chunks},
                        {"predicted_bytes", record.predictedBytes},
                        {"measured_bytes", record.measuredBytes},
                        {"stage_ms", millisecondsOf(record.origin.stages)},
                        {"load_ms", record.origin.loadMilliseconds},
                        {"run_ms", record.runMilliseconds}};
    object["kernels"] = arrayOf(record.kernels, [](const LaunchRecord::KernelRecord &kernel) -> json::Value {
      return useOf(kernel);
    });
    return object;
  }));
}
