// Call.cpp - the order of things in a call: find tokens, take memory, load inputs, run steps, hand out results.
#include "runtime/Call.h"
#include "runtime/FloatEnvironment.h"
#include "runtime/Inputs.h"
#include "runtime/MemoryList.h"
#include "runtime/Outputs.h"
#include "runtime/Steps.h"
#include "runtime/Values.h"
#include <algorithm>
#include <cmath>
#include <limits>
using namespace logitile;

namespace {
/// One phase of one call.
class Call {
public:
  Call(const LoadedPlan &loaded, const CallArguments &arguments, bool isAdjoint, CallReport &report)
      : loaded(loaded), plan(loaded.plan), tables(loaded.tables), arguments(arguments), isAdjoint(isAdjoint), report(report),
        binding(loaded, isAdjoint) {}

  /// Fills 'saved' as far as the adjoint phase needs it.
  Status forward(Saved &saved);
  Status adjoint(const Saved &saved);

private:
  bool makesGradients() const { return !plan.gradients.empty() && (isAdjoint || !plan.isSplit); }
  bool isReduced(size_t output) const { return static_cast<int64_t>(output) == tables.loss && arguments.reduction != Reduction::None; }

  bool hasLossUpstream() const { return makesGradients() && tables.loss >= 0 && tables.upstreams[tables.loss] >= 0; }

  Status findTokens();
  Status checkOutputs() const;
  Status takeMemory(WorkspaceBlock *saved);
  Status loadInputs();
  /// The denominator of a mean as far as it is known: false where the forward steps have to run first.
  bool findDivisor(bool forwardHasRun);
  Status readDivisor();
  Status checkLateDivisor() const;
  Status loadUpstreams();
  Status runSteps(const std::vector<StepPlan> &steps);
  Status checkComputedIndices() const;
  void storeOutputs() const;
  void storeGradients() const;
  void storeGradient(const GradientPlan &gradient, const Array &array) const;
  void storeNothing() const;
  double reducedLoss(double sum) const;

  const LoadedPlan &loaded;
  const LaunchPlan &plan;
  const PlanTables &tables;
  const CallArguments &arguments;
  const bool isAdjoint;
  CallReport &report;
  Binding binding;
  Tokens tokens;
  IgnoreRule rule;
  WorkspaceLayout layout;
  WorkspaceBlock memory; // of the phase: its buffers, then scratch
  char *savedMemory = nullptr;
  std::unique_ptr<DeviceCall> device;
  double divisor = 1; // of the loss
  double factor = 1;  // of gradients that were made before the divisor was known
};
} // namespace

// ---- tokens and memory ------------------------------------------------------------------------------------------------------

Status Call::findTokens() {
  Result<Tokens> found = binding.findTokens(arguments);
  if (!found.isOk())
    return found.status();
  tokens = *found;
  if (arguments.ignoreIndex && !arguments.ignore.empty()) {
    const Array *array = findArray(arguments.inputs, arguments.ignore);
    if (!array)
      return Status(ErrorCode::Value, "input '" + std::string(arguments.ignore) + "', which tells ignored tokens, is missing");
    size_t axes = tokens.leading.size();
    bool fits = array->rank >= static_cast<int>(axes) && array->rank <= static_cast<int>(axes) + 1 &&
                std::ranges::equal(array->extents().first(axes), tokens.leading);
    if (!isInteger(array->type))
      return Status(ErrorCode::Type,
                    "'" + std::string(array->name) + "' tells ignored tokens but is " + describe(*array) + "; integers are needed");
    if (!fits)
      return Status(ErrorCode::Value, "'" + std::string(array->name) + "' has shape " + shapeText(array->extents()) +
                                          "; it must start with " + shapeText(tokens.leading));
    rule = {array, *arguments.ignoreIndex};
  }
  tokens.counted = countTokens(rule, tokens);
  report.tokens = tokens.total;
  report.counted = tokens.counted;
  return Status();
}

Status Call::checkOutputs() const {
  if (isAdjoint)
    return Status();
  if (tables.loss < 0 && arguments.reduction != Reduction::None)
    return Status(ErrorCode::Value, "a reduction is asked for, but '" + plan.name + "' has no output 'loss'");
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan &output = plan.outputs[i];
    const Array *array = findArray(arguments.outputs, output.name);
    if (!array)
      return Status(ErrorCode::Value, "output '" + output.name + "' is missing");
    ArrayType type = output.element == ElementType::I32    ? ArrayType::I64
                     : output.element == ElementType::Bool ? ArrayType::Bool
                                                           : ArrayType::F32;
    std::span<const int64_t> shape = isReduced(i) ? std::span<const int64_t>() : tokens.leading;
    if (Status status = checkArray(*array, "output", shape, {&type, 1}); !status.isOk())
      return status;
  }
  return Status();
}

Status Call::takeMemory(WorkspaceBlock *saved) {
  const std::vector<StepPlan> &steps = isAdjoint ? plan.adjoint : plan.forward;
  int64_t chunk = chunkOf(steps, tokens.counted, plan.tokenTile);
  layout = layoutWorkspace(plan.buffers, tokens.counted, chunk, plan.panelWidth, isAdjoint, loaded.device->guardBytes());
  if (saved && layout.savedBytes > 0) {
    Result<WorkspaceBlock> block = loaded.device->takeMemory(layout.savedBytes, arguments.stream);
    if (!block.isOk())
      return block.status();
    *saved = std::move(*block);
    savedMemory = saved->data();
  }
  Result<WorkspaceBlock> block = loaded.device->takeMemory(layout.phaseBytes + tables.scratchStride * arguments.threads, arguments.stream);
  if (!block.isOk())
    return block.status();
  memory = std::move(*block);
  report.measuredBytes = layout.savedBytes + memory.size() - layout.guardBytes;
  report.predictedBytes = workspaceBytes(plan, tokens.counted, arguments.threads);
  binding.bindWorkspace(layout, savedMemory, memory.data());
  binding.fillMaps(rule, tokens);
  Result<std::unique_ptr<DeviceCall>> started =
      loaded.code->start([this] { return listMemory(loaded, binding, layout, arguments, isAdjoint); }, arguments.stream);
  if (!started.isOk())
    return started.status();
  device = std::move(*started);
  return Status();
}

// ---- what goes in -----------------------------------------------------------------------------------------------------------

static int64_t lanesOf(int64_t count, int64_t panelWidth) {
  return (std::max<int64_t>(count, 1) + panelWidth - 1) / panelWidth * panelWidth;
}

Status Call::loadInputs() {
  IntegerRules rules{plan.vocab, plan.columns, arguments.ignore, arguments.ignoreIndex};
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const InputPlan &input = plan.inputs[i];
    if (input.kind == InputPlan::Kind::Dense)
      continue;
    std::vector<char *> buffers;
    for (int64_t buffer : tables.inputs[i].buffers)
      buffers.push_back(binding.memory(buffer));
    int64_t lanes = input.kind == InputPlan::Kind::Token   ? lanesOf(tokens.counted, plan.panelWidth)
                    : input.kind == InputPlan::Kind::Vocab ? plan.columns
                                                           : 1;
    Status status = loadInput(input, *findArray(arguments.inputs, input.name), tokens, rules, buffers, lanes);
    if (!status.isOk())
      return status;
  }
  return Status();
}

static double numberOf(const Array &array) {
  return withElement(array.type, [&](auto example) { return static_cast<double>(*static_cast<const decltype(example) *>(array.data)); });
}

Status Call::readDivisor() {
  if (!arguments.divisor)
    return Status();
  if (arguments.reduction != Reduction::Mean)
    return Status(ErrorCode::Value, "'divisor' replaces the denominator of a mean, but the reduction is another one");
  if (arguments.divisor->rank != 0)
    return Status(ErrorCode::Value, "'divisor' has shape " + shapeText(arguments.divisor->extents()) + "; it must be a number");
  divisor = numberOf(*arguments.divisor);
  return Status();
}

bool Call::findDivisor(bool forwardHasRun) {
  if (arguments.reduction != Reduction::Mean || arguments.divisor)
    return true;
  if (tables.weight < 0) {
    divisor = static_cast<double>(tokens.counted);
    return true;
  }
  if (!forwardHasRun && !tables.isWeightInPrologue)
    return false;
  const OutputPlan &weight = plan.outputs[tables.weight];
  divisor = sumOf(binding.memory(weight.buffer), weight.element, tokens.counted);
  return true;
}

/// Gradients that are made before the divisor is known are divided where they are, all of them alike.
Status Call::checkLateDivisor() const {
  if (!hasLossUpstream())
    return Status();
  bool accumulates = std::ranges::any_of(plan.gradients, &GradientPlan::accumulates);
  bool isOnlyLoss = std::ranges::count_if(tables.upstreams, [](int64_t buffer) { return buffer >= 0; }) == 1;
  if (!accumulates && isOnlyLoss)
    return Status();
  return Status(ErrorCode::Value, "the gradients of '" + plan.name +
                                      "' are made together with the loss, but the sum of 'weight' that divides them is known only "
                                      "afterwards; give a divisor, or have gradients made in a phase of their own");
}

Status Call::loadUpstreams() {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    auto *out = reinterpret_cast<float *>(binding.memory(tables.upstreams[i]));
    if (!out)
      continue;
    const OutputPlan &output = plan.outputs[i];
    int64_t lanes = lanesOf(tokens.counted, plan.panelWidth);
    double scale = isReduced(i) ? 1 / divisor : 1;
    const Array *array = findArray(arguments.upstreams, output.name);
    if (array && !isFloat(array->type))
      return Status(ErrorCode::Type, "upstream gradient of '" + output.name + "' is " + describe(*array) + "; floats are needed");
    if (!array || array->rank == 0) {
      double value = array ? numberOf(*array) : arguments.upstreams.empty() && output.name == "loss" ? 1 : 0;
      std::fill(out, out + lanes, static_cast<float>(value * scale));
      continue;
    }
    if (isReduced(i) || !std::ranges::equal(array->extents(), tokens.leading))
      return Status(ErrorCode::Value, "upstream gradient of '" + output.name + "' has shape " + shapeText(array->extents()) +
                                          "; the output has " + (isReduced(i) ? "[]" : shapeText(tokens.leading)));
    InputPlan input{InputPlan::Kind::Token, output.name, 0, ElementType::F32, false};
    char *buffer = reinterpret_cast<char *>(out);
    if (Status status = loadInput(input, *array, tokens, {plan.vocab, plan.columns, {}, std::nullopt}, {&buffer, 1}, lanes); !status.isOk())
      return status;
  }
  return Status();
}

Status Call::runSteps(const std::vector<StepPlan> &steps) {
  return StepRunner(loaded, binding, arguments, *device, memory.data() + layout.phaseBytes, report).run(steps, tokens.counted);
}

// ---- what comes out ---------------------------------------------------------------------------------------------------------

Status Call::checkComputedIndices() const {
  for (int64_t buffer : plan.checkedIndices) {
    auto *indices = reinterpret_cast<const int32_t *>(binding.memory(buffer));
    if (!indices)
      continue; // checked in the other phase
    auto *wrong = std::find_if(indices, indices + tokens.counted, [&](int32_t index) { return index < 0 || index >= plan.vocab; });
    if (wrong == indices + tokens.counted)
      continue;
    std::string position = positionText(tokens.map[wrong - indices], tokens.leading), vocab = std::to_string(plan.vocab);
    Error error;
    error.code = ErrorCode::Index;
    error.text = "the index that is computed for token " + (position.empty() ? "[]" : position) + " is " + std::to_string(*wrong) +
                 ", outside the vocabulary of " + vocab + " entries: it must be 0 to " + std::to_string(plan.vocab - 1);
    error.computedIndex = plan.buffers[buffer].name;
    return Status(std::move(error));
  }
  return Status();
}

double Call::reducedLoss(double sum) const {
  if (arguments.reduction == Reduction::Sum)
    return sum;
  if (tokens.counted == 0 && !arguments.divisor)
    return arguments.isZeroWhenAllIgnored ? 0 : std::numeric_limits<double>::quiet_NaN();
  return sum / divisor;
}

void Call::storeOutputs() const {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan &output = plan.outputs[i];
    const Array &array = *findArray(arguments.outputs, output.name);
    const char *values = binding.memory(output.buffer);
    if (isReduced(i))
      storeScalar(array, reducedLoss(sumOf(values, output.element, tokens.counted)));
    else
      scatterOutput(array, tokens, plan.buffers[output.buffer].element, values); // bools are kept in 32 bits
  }
}

void Call::storeGradient(const GradientPlan &gradient, const Array &array) const {
  if (gradient.accumulates && gradient.kind == GradientPlan::Kind::Zero)
    return;
  auto values = [&](int64_t buffer) { return reinterpret_cast<const float *>(binding.memory(buffer)); };
  float scaling = static_cast<float>(factor);
  switch (gradient.kind) {
  case GradientPlan::Kind::Direct:
    if (factor != 1)
      scale(array, scaling);
    if (plan.buffers[gradient.buffers.front()].rows < 0)
      zeroIgnoredRows(array, tokens);
    return;
  case GradientPlan::Kind::Vocab:
    return storeVector(array, values(gradient.buffers.front()), scaling);
  case GradientPlan::Kind::Scalar:
    return storeScalar(array, sumOf(binding.memory(gradient.buffers.front()), ElementType::F32, tokens.counted) * factor);
  case GradientPlan::Kind::Zero:
    return fillZero(array);
  case GradientPlan::Kind::Token:
    break;
  }
  bool hasEntries = array.rank > static_cast<int>(tokens.leading.size());
  int64_t count = hasEntries ? array.extent(-1) : 1;
  for (int64_t entry = 0; entry < count; ++entry) {
    Array part = array;
    part.rank -= hasEntries;
    part.data = array.bytes() + (hasEntries ? entry * array.stride(-1) * elementBytes(array.type) : 0);
    int64_t buffer = entry < static_cast<int64_t>(gradient.buffers.size()) ? gradient.buffers[entry] : -1;
    if (buffer < 0)
      fillZero(part);
    else
      scatterGradient(part, tokens, values(buffer), scaling);
  }
}

void Call::storeGradients() const {
  for (const GradientPlan &gradient : plan.gradients)
    storeGradient(gradient, *findArray(arguments.gradients, gradient.name));
}

/// Results where no token counts: nothing has run.
void Call::storeNothing() const {
  if (!isAdjoint)
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      const Array &array = *findArray(arguments.outputs, plan.outputs[i].name);
      if (isReduced(i))
        storeScalar(array, reducedLoss(0));
      else
        scatterOutput(array, tokens, plan.outputs[i].element, nullptr);
    }
  if (makesGradients())
    for (const GradientPlan &gradient : plan.gradients)
      if (!gradient.accumulates)
        fillZero(*findArray(arguments.gradients, gradient.name));
}

// ---- phases ---------------------------------------------------------------------------------------------------------------

Status Call::forward(Saved &saved) {
  Status status = findTokens();
  auto then = [&](auto step) {
    if (status.isOk())
      status = step();
  };
  then([&] { return checkOutputs(); });
  then([&] { return readDivisor(); });
  then([&] { return binding.bindInputs(arguments, tokens); });
  then([&] { return binding.bindGradients(arguments, tokens); });
  if (!status.isOk() || tokens.counted == 0) {
    if (status.isOk())
      storeNothing();
    return status;
  }
  then([&] { return takeMemory(&saved.memory); });
  then([&] { return loadInputs(); });
  then([&] { return runSteps(plan.prologue); });
  bool isDivisorKnown = status.isOk() && findDivisor(/*forwardHasRun=*/false);
  if (makesGradients())
    then([&] { return isDivisorKnown ? Status() : checkLateDivisor(); });
  then([&] { return loadUpstreams(); });
  then([&] { return runSteps(plan.forward); });
  then([&] { return checkComputedIndices(); });
  if (!status.isOk())
    return status;
  if (!isDivisorKnown) {
    findDivisor(/*forwardHasRun=*/true);
    factor = hasLossUpstream() ? 1 / divisor : 1;
  }
  storeOutputs();
  if (makesGradients())
    storeGradients();
  saved.divisor = divisor;
  return status;
}

Status Call::adjoint(const Saved &saved) {
  Status status = findTokens();
  if (!status.isOk())
    return status;
  if (!std::ranges::equal(saved.leading, tokens.leading) || saved.counted != tokens.counted)
    return Status(ErrorCode::Value, std::to_string(tokens.counted) + " tokens of " + shapeText(tokens.leading) +
                                        " count, but in the forward call " + std::to_string(saved.counted) + " of " +
                                        shapeText(saved.leading) + "; an input was changed in between");
  auto then = [&](auto step) {
    if (status.isOk())
      status = step();
  };
  then([&] { return binding.bindInputs(arguments, tokens); });
  then([&] { return binding.bindGradients(arguments, tokens); });
  if (!status.isOk() || tokens.counted == 0) {
    if (status.isOk())
      storeNothing();
    return status;
  }
  savedMemory = saved.memory.data();
  divisor = saved.divisor;
  then([&] { return takeMemory(nullptr); });
  then([&] { return loadInputs(); });
  then([&] { return loadUpstreams(); });
  then([&] { return runSteps(plan.adjoint); });
  if (status.isOk())
    storeGradients();
  return status;
}

/// This file and those it uses read and write elements of the caller's arrays and of workspace on the host.
static Status checkMemory(const LoadedPlan &loaded) {
  if (loaded.device->hasHostMemory())
    return Status();
  return Status(ErrorCode::Target, "calls on CUDA arrays need kernels that find ignored tokens, convert inputs and reduce the loss of '" +
                                       loaded.plan.name + "' on the device, which this build does not make; move the arrays to the CPU");
}

Result<std::unique_ptr<Saved>> logitile::runForward(const std::shared_ptr<const LoadedPlan> &loaded, const CallArguments &arguments,
                                                    CallReport &report) {
  if (Status status = checkMemory(*loaded); !status.isOk())
    return status;
  DefaultFloatEnvironment environment;
  auto saved = std::make_unique<Saved>();
  Call call(*loaded, arguments, /*isAdjoint=*/false, report);
  if (Status status = call.forward(*saved); !status.isOk())
    return status;
  if (!loaded->plan.isSplit)
    return std::unique_ptr<Saved>();
  saved->loaded = loaded;
  saved->counted = report.counted;
  const Array &hidden = *findArray(arguments.inputs, loaded->plan.pairs.front().name + ".hidden");
  saved->leading.assign(hidden.shape, hidden.shape + hidden.rank - 1);
  saved->reduction = arguments.reduction;
  saved->ignore = arguments.ignore;
  saved->ignoreIndex = arguments.ignoreIndex;
  saved->threads = arguments.threads;
  saved->stream = {arguments.stream.ordinal, arguments.stream.handle, {}};
  return saved;
}

Status logitile::runAdjoint(const Saved &saved, const CallArguments &arguments, CallReport &report) {
  if (arguments.stream.ordinal != saved.stream.ordinal || arguments.stream.handle != saved.stream.handle)
    return Status(ErrorCode::Value, "the adjoint phase is to run on another stream or device than its forward call, which what was "
                                    "saved may not be ready for; use the same one");
  DefaultFloatEnvironment environment;
  CallArguments same = arguments;
  same.reduction = saved.reduction;
  same.divisor = nullptr;
  same.ignore = saved.ignore;
  same.ignoreIndex = saved.ignoreIndex;
  same.threads = saved.threads;
  return Call(*saved.loaded, same, /*isAdjoint=*/true, report).adjoint(saved);
}
