// Call.cpp - the steps of a call: find tokens, allocate memory, load inputs, run steps, return
// results.
#include "runtime/call/Call.h"
#include "runtime/support/FloatEnvironment.h"
#include "runtime/call/HostWork.h"
#include "runtime/arrays/Inputs.h"
#include "runtime/call/MemoryList.h"
#include "runtime/arrays/Outputs.h"
#include "runtime/call/Steps.h"
#include "runtime/gpu/IndexReport.h"
#include "runtime/call/KernelWork.h"
#include <algorithm>
using namespace logitile;

namespace {
/// One phase of one call.
class Call {
public:
  Call(const LoadedPlan &loaded, const CallArguments &arguments, bool isBackward, CallReport &report)
      : loaded(loaded), plan(loaded.plan), tables(loaded.tables), arguments(arguments), isBackward(isBackward), report(report),
        binding(loaded, isBackward) {}

  /// Fills 'saved' as far as the backward phase needs it.
  Status forward(Saved &saved);
  Status backward(const Saved &saved);

private:
  bool makesGradients() const { return !plan.gradients.empty() && (isBackward || !plan.isSplit); }
  bool isReduced(size_t output) const { return static_cast<int64_t>(output) == tables.loss && arguments.reduction != Reduction::None; }
  bool hasLossCotangent() const { return makesGradients() && tables.loss >= 0 && tables.cotangents[tables.loss] >= 0; }

  Status findTokens();
  Status checkInterval() const;
  Status checkOutputs() const;
  Status checkDivisor() const;
  Status checkInputs() const;
  Status prepareGradients() const;
  Status takeMemory(WorkspaceBlock *saved);
  Status loadInputs();
  /// Where the denominator of a mean comes from, and whether the forward steps have to run first.
  DivisorSource divisorSource() const;
  bool isDivisorLate() const { return divisorSource() == DivisorSource::Weights && !tables.isWeightInPrologue; }
  Status setDivisor(bool isLate);
  Status checkLateDivisor() const;
  Status checkCotangents() const;
  Status loadCotangents();
  Status runSteps(const std::vector<StepPlan> &steps);
  Status checkComputedIndices();
  Status checkWaiting() const;
  Status checkIndexReport() const;
  Status storeOutputs();
  Status storeGradients();
  Status storeGradient(const GradientPlan &gradient, const Array &array);
  /// The caller's, which binding has found.
  const Array &arrayOf(const GradientPlan &gradient) const {
    return *findOperand(arguments.gradients, plan, gradient.part, gradient.owner);
  }
  Status storeEntries(const GradientPlan &gradient, const Array &array);
  Status storeNothing();

  const LoadedPlan &loaded;
  const LaunchPlan &plan;
  const PlanTables &tables;
  const CallArguments &arguments;
  const bool isBackward;
  CallReport &report;
  Binding binding;
  Tokens tokens;
  IgnoreRule rule;
  WorkspaceLayout layout;
  WorkspaceBlock memory; // of the phase: its buffers, then scratch
  char *savedMemory = nullptr;
  double savedDivisor = 1; // of the forward call
  std::unique_ptr<DeviceCall> device;
  std::unique_ptr<ElementWork> work;
};

/// Runs steps in order until one fails.
template <typename... Steps> Status inOrder(Steps... steps) {
  Status status;
  ((status.isOk() ? void(status = steps()) : void()), ...);
  return status;
}
} // namespace

// ---- tokens and memory --------------------------------------------------------------------------

Status Call::findTokens() {
  Result<Tokens> found = binding.findTokens(arguments);
  if (!found.isOk())
    return found.status();
  tokens = *found;
  if (Status status = checkInterval(); !status.isOk())
    return status;
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
  tokens.counted = loaded.device->isHost() ? countTokens(rule, tokens) : tokens.total;
  report.tokens = tokens.total;
  report.counted = tokens.counted;
  return Status();
}

/// More tokens would need more memory than the plan was made for, fewer another kind of kernel.
Status Call::checkInterval() const {
  if (tokens.total >= plan.tokensFirst && tokens.total < plan.tokensEnd)
    return Status();
  Binding::TokenInput input = binding.tokenInput();
  std::string most = plan.tokensEnd == INT64_MAX ? " or more" : " to " + std::to_string(plan.tokensEnd - 1);
  return Status(ErrorCode::Value, "the plan serves calls of " + std::to_string(plan.tokensFirst) + most + " tokens, but '" +
                                      operandName(plan, input.part, input.owner) + "' has " + std::to_string(tokens.total) +
                                      "; compile a plan for as many");
}

Status Call::checkOutputs() const {
  if (isBackward)
    return Status();
  if (tables.loss < 0 && arguments.reduction != Reduction::None)
    return Status(ErrorCode::Value, "a reduction is asked for, but '" + plan.name + "' has no output 'loss'");
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan &output = plan.outputs[i];
    const Array *array = findArray(arguments.outputs, output.name);
    if (!array)
      return Status(ErrorCode::Value, "output '" + output.name + "' is missing");
    ElementType type = output.element == ElementType::I32    ? ElementType::I64
                     : output.element == ElementType::Bool ? ElementType::Bool
                                                           : ElementType::F32;
    std::vector<int64_t> shape;
    if (!isReduced(i))
      shape.assign(tokens.leading.begin(), tokens.leading.end());
    if (output.places > 0)
      shape.push_back(output.places);
    if (Status status = checkArray(*array, "output", shape, {&type, 1}); !status.isOk())
      return status;
  }
  return Status();
}

Status Call::checkDivisor() const {
  if (!arguments.divisor)
    return Status();
  if (arguments.reduction != Reduction::Mean)
    return Status(ErrorCode::Value, "'divisor' replaces the denominator of a mean, but the reduction is another one");
  if (arguments.divisor->rank != 0)
    return Status(ErrorCode::Value, "'divisor' has shape " + shapeText(arguments.divisor->extents()) + "; it must be a number");
  return Status();
}

Status Call::checkInputs() const {
  for (const InputPlan &input : plan.inputs)
    if (input.kind != InputKind::Dense) {
      Status status = checkInput(input, *findArray(arguments.inputs, input.name), tokens, plan.columns);
      if (!status.isOk())
        return status;
    }
  return Status();
}

Status Call::checkCotangents() const {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const Array *array = tables.cotangents[i] < 0 ? nullptr : findArray(arguments.cotangents, plan.outputs[i].name);
    if (!array)
      continue;
    const std::string &name = plan.outputs[i].name;
    if (!isFloat(array->type))
      return Status(ErrorCode::Type, "grad_output of '" + name + "' is " + describe(*array) + "; floats are needed");
    bool isPerToken = !isReduced(i) && std::ranges::equal(array->extents(), tokens.leading);
    if (array->rank != 0 && !isPerToken)
      return Status(ErrorCode::Value, "grad_output of '" + name + "' has shape " + shapeText(array->extents()) + "; the output has " +
                                          (isReduced(i) ? "[]" : shapeText(tokens.leading)));
  }
  return Status();
}

/// Gradients as large as the head are often new memory, whose pages take a good part of the time of
/// the call.
Status Call::prepareGradients() const {
  if (!makesGradients())
    return Status();
  for (const GradientPlan &gradient : plan.gradients) {
    const Array &array = arrayOf(gradient);
    if (gradient.accumulates || array.elements() == 0)
      continue;
    MemoryRange range = rangeOf(array, /*isDefined=*/false);
    if (range.bytes == array.elements() * elementBytes(array.type)) // else others lie in between
      loaded.device->prepareResult(range.data, range.bytes, arguments.threads);
  }
  return Status();
}

Status Call::takeMemory(WorkspaceBlock *saved) {
  const std::vector<StepPlan> &steps = isBackward ? plan.backward : plan.forward;
  int64_t chunk = chunkOf(steps, tokens.counted, plan.tokenTile);
  layout = layoutWorkspace(plan.buffers, tokens.counted, chunk, plan.memory, isBackward, loaded.device->guardBytes());
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
  Result<std::unique_ptr<DeviceCall>> started =
      loaded.code->start([this] { return listMemory(loaded, binding, layout, arguments, isBackward); }, arguments.stream);
  if (!started.isOk())
    return started.status();
  device = std::move(*started);
  if (Status status = checkWaiting(); !isBackward && !status.isOk())
    return status;
  work = loaded.device->isHost() ? std::unique_ptr<ElementWork>(std::make_unique<HostWork>(loaded, binding, arguments, savedDivisor))
                                 : std::make_unique<gpu::KernelWork>(loaded, binding, arguments, *device);
  return work->findTokens(rule, tokens);
}

// ---- what goes in -------------------------------------------------------------------------------

Status Call::loadInputs() {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (plan.inputs[i].kind == InputKind::Dense)
      continue;
    if (Status status = work->loadInput(i, *findArray(arguments.inputs, plan.inputs[i].name), tokens); !status.isOk())
      return status;
  }
  return Status();
}

DivisorSource Call::divisorSource() const {
  if (arguments.reduction != Reduction::Mean)
    return DivisorSource::One;
  if (arguments.divisor)
    return DivisorSource::Given;
  return tables.weight < 0 ? DivisorSource::Tokens : DivisorSource::Weights;
}

Status Call::setDivisor(bool isLate) {
  DivisorSource source = divisorSource();
  TokenValues weights;
  if (source == DivisorSource::Weights) {
    const OutputPlan &weight = plan.outputs[tables.weight];
    weights = {binding.memory(weight.buffer), weight.element};
  }
  return work->setDivisor(source, weights, tokens, isLate && hasLossCotangent());
}

/// Gradients that are made before the divisor is known are divided where they are, all of them
/// alike.
Status Call::checkLateDivisor() const {
  if (!isDivisorLate() || !hasLossCotangent())
    return Status();
  bool accumulates = std::ranges::any_of(plan.gradients, &GradientPlan::accumulates);
  bool isOnlyLoss = std::ranges::count_if(tables.cotangents, [](int64_t buffer) { return buffer >= 0; }) == 1;
  if (!accumulates && isOnlyLoss)
    return Status();
  return Status(ErrorCode::Value, "the gradients of '" + plan.name +
                                      "' are made together with the loss, but the sum of 'weight' that divides them is known only "
                                      "afterwards; give a divisor, or compute gradients in a separate phase");
}

Status Call::loadCotangents() {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (!binding.memory(tables.cotangents[i]))
      continue;
    const OutputPlan &output = plan.outputs[i];
    double constant = arguments.cotangents.empty() && output.role == OutputPlan::Role::Loss ? 1 : 0;
    bool isDivided = isReduced(i) && (isBackward || !isDivisorLate());
    Status status = work->loadCotangent(i, findArray(arguments.cotangents, output.name), constant, isDivided, tokens);
    if (!status.isOk())
      return status;
  }
  return Status();
}

Status Call::runSteps(const std::vector<StepPlan> &steps) {
  return StepRunner(loaded, binding, arguments, *device, memory.data() + layout.phaseBytes, report).run(steps, tokens.counted);
}

// ---- what comes out -----------------------------------------------------------------------------

Status Call::checkComputedIndices() {
  for (int64_t buffer : plan.checkedIndices) {
    if (!binding.memory(buffer))
      continue; // checked in the other phase
    if (Status status = work->checkIndices(buffer, tokens); !status.isOk())
      return status;
  }
  return Status();
}

/// Whether the user wants to be told of wrong indices at once.
static std::string_view askedToWait() {
  const char *asked = std::getenv("LOGITILE_CHECK");
  return asked ? asked : "0";
}

/// Before anything is queued.
Status Call::checkWaiting() const {
  std::string_view asked = askedToWait();
  if (asked != "0" && asked != "1")
    return Status(ErrorCode::Value, "LOGITILE_CHECK is '" + std::string(asked) + "'; it must be 0 or 1");
  if (asked == "1" && device->isCaptured())
    return Status(ErrorCode::Target, "LOGITILE_CHECK=1 waits for the end of each call, but the stream is captured into a CUDA graph; set it "
                                     "to 0 for the capture");
  return Status();
}

/// Wrong indices are told at once where the user asks for it.
Status Call::checkIndexReport() const {
  gpu::IndexReport *report = loaded.device->indexReport();
  if (!report || askedToWait() == "0")
    return Status();
  return inOrder([&] { return loaded.device->synchronise(); }, [&] { return report->take(/*isOfThisCall=*/true); });
}

Status Call::storeOutputs() {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan &output = plan.outputs[i];
    const Array &array = *findArray(arguments.outputs, output.name);
    const char *values = binding.memory(output.buffer);
    Status status = isReduced(i) ? work->storeReduced(array, {values, output.element}, tokens)
                                 // bools are kept in 32 bits
                                 : work->storeTokens(array,
                                                     {values, plan.buffers[output.buffer].element, output.places,
                                                      layout.geometry[output.buffer].stride0},
                                                     tokens);
    if (!status.isOk())
      return status;
  }
  return Status();
}

Status Call::storeEntries(const GradientPlan &gradient, const Array &array) {
  bool hasEntries = array.rank > static_cast<int>(tokens.leading.size());
  int64_t list = gradient.buffers.front();
  if (hasEntries && gradient.buffers.size() == 1 && list >= 0 && plan.buffers[list].columns == array.extent(-1))
    return work->storeTokenGradient(
        array, {binding.memory(list), ElementType::F32, plan.buffers[list].columns, layout.geometry[list].stride0}, tokens);
  int64_t count = hasEntries ? array.extent(-1) : 1;
  for (int64_t entry = 0; entry < count; ++entry) {
    Array part = array;
    part.rank -= hasEntries;
    part.data = array.bytes() + (hasEntries ? entry * array.stride(-1) * elementBytes(array.type) : 0);
    int64_t buffer = entry < static_cast<int64_t>(gradient.buffers.size()) ? gradient.buffers[entry] : -1;
    Status status = buffer < 0 ? work->storeZero(part) : work->storeTokenGradient(part, {binding.memory(buffer)}, tokens);
    if (!status.isOk())
      return status;
  }
  return Status();
}

Status Call::storeGradient(const GradientPlan &gradient, const Array &array) {
  switch (gradient.kind) {
  case GradientPlan::Kind::Direct:
    return work->finishGradient(array, plan.buffers[gradient.buffers.front()].rows < 0, tokens);
  case GradientPlan::Kind::Vocab:
    return work->storeVectorGradient(array, binding.memory(gradient.buffers.front()));
  case GradientPlan::Kind::Scalar:
    return work->storeScalarGradient(array, binding.memory(gradient.buffers.front()), tokens);
  case GradientPlan::Kind::Zero:
    return gradient.accumulates ? Status() : work->storeZero(array);
  case GradientPlan::Kind::Token:
    break;
  }
  return storeEntries(gradient, array);
}

Status Call::storeGradients() {
  if (!makesGradients())
    return Status();
  for (const GradientPlan &gradient : plan.gradients)
    if (Status status = storeGradient(gradient, arrayOf(gradient)); !status.isOk())
      return status;
  return Status();
}

/// Results where no token counts: nothing has run.
Status Call::storeNothing() {
  Status status;
  for (size_t i = 0; i < plan.outputs.size() && !isBackward && status.isOk(); ++i) {
    const Array &array = *findArray(arguments.outputs, plan.outputs[i].name);
    TokenValues nothing{nullptr, plan.outputs[i].element, plan.outputs[i].places};
    status = isReduced(i) ? work->storeReduced(array, nothing, tokens) : work->storeTokens(array, nothing, tokens);
  }
  for (size_t i = 0; i < plan.gradients.size() && makesGradients() && status.isOk(); ++i)
    if (!plan.gradients[i].accumulates)
      status = work->storeZero(arrayOf(plan.gradients[i]));
  return status;
}

// ---- phases -------------------------------------------------------------------------------------

Status Call::forward(Saved &saved) {
  Status status = inOrder([&] { return findTokens(); }, [&] { return checkOutputs(); }, [&] { return checkDivisor(); },
                          [&] { return binding.bindInputs(arguments, tokens); }, [&] { return binding.bindGradients(arguments, tokens); },
                          [&] { return checkInputs(); }, [&] { return checkCotangents(); }, [&] { return checkLateDivisor(); },
                          [&] { return prepareGradients(); }, [&] { return takeMemory(&saved.memory); });
  if (!status.isOk())
    return status;
  if (tokens.counted == 0)
    return inOrder([&] { return setDivisor(false); }, [&] { return storeNothing(); });
  bool isLate = isDivisorLate();
  status =
      inOrder([&] { return loadInputs(); }, [&] { return runSteps(plan.prologue); }, [&] { return isLate ? Status() : setDivisor(false); },
              [&] { return loadCotangents(); }, [&] { return runSteps(plan.forward); }, [&] { return checkComputedIndices(); },
              [&] { return isLate ? setDivisor(true) : Status(); }, [&] { return storeOutputs(); }, [&] { return storeGradients(); },
              [&] { return work->finish(tokens); }, [&] { return checkIndexReport(); });
  saved.divisor = work->divisor();
  return status;
}

Status Call::backward(const Saved &saved) {
  Status status = findTokens();
  if (!status.isOk())
    return status;
  if (!std::ranges::equal(saved.leading, tokens.leading) || saved.counted != tokens.counted)
    return Status(ErrorCode::Value, std::to_string(tokens.counted) + " tokens of " + shapeText(tokens.leading) +
                                        " count, but in the forward call " + std::to_string(saved.counted) + " of " +
                                        shapeText(saved.leading) + "; an input was changed in between");
  savedMemory = saved.memory.data();
  savedDivisor = saved.divisor;
  status = inOrder([&] { return binding.bindInputs(arguments, tokens); }, [&] { return binding.bindGradients(arguments, tokens); },
                   [&] { return checkInputs(); }, [&] { return checkCotangents(); }, [&] { return prepareGradients(); },
                   [&] { return takeMemory(nullptr); });
  if (!status.isOk())
    return status;
  if (tokens.counted == 0)
    return storeNothing();
  return inOrder([&] { return loadInputs(); }, [&] { return loadCotangents(); }, [&] { return runSteps(plan.backward); },
                 [&] { return storeGradients(); }, [&] { return work->finish(tokens); });
}

Result<std::unique_ptr<Saved>> logitile::runForward(const std::shared_ptr<const LoadedPlan> &loaded, const CallArguments &arguments,
                                                    CallReport &report) {
  DefaultFloatEnvironment environment;
  if (gpu::IndexReport *earlier = loaded->device->indexReport())
    if (Status status = earlier->take(); !status.isOk())
      return status;
  auto saved = std::make_unique<Saved>();
  Call call(*loaded, arguments, /*isBackward=*/false, report);
  if (Status status = call.forward(*saved); !status.isOk())
    return status;
  if (!loaded->plan.isSplit)
    return std::unique_ptr<Saved>();
  saved->loaded = loaded;
  saved->counted = report.counted;
  const Array &hidden = *findOperand(arguments.inputs, loaded->plan, OperandPart::Hidden, loaded->plan.projections.front().name);
  saved->leading.assign(hidden.shape, hidden.shape + hidden.rank - 1);
  saved->reduction = arguments.reduction;
  saved->ignore = arguments.ignore;
  saved->ignoreIndex = arguments.ignoreIndex;
  saved->threads = arguments.threads;
  saved->stream = {arguments.stream.ordinal, arguments.stream.handle, {}};
  return saved;
}

Status logitile::runBackward(const Saved &saved, const CallArguments &arguments, CallReport &report) {
  if (arguments.stream.ordinal != saved.stream.ordinal || arguments.stream.handle != saved.stream.handle)
    return Status(ErrorCode::Value, "the backward phase runs on another stream or device than its forward call, for which the saved "
                                    "state may not be ready; use the same one");
  DefaultFloatEnvironment environment;
  CallArguments same = arguments;
  same.reduction = saved.reduction;
  same.divisor = nullptr;
  same.ignore = saved.ignore;
  same.ignoreIndex = saved.ignoreIndex;
  same.threads = saved.threads;
  return Call(*saved.loaded, same, /*isBackward=*/true, report).backward(saved);
}
