// Steps.cpp - launches and the packing of their arguments.
#include "runtime/call/Steps.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
using namespace logitile;

StepRunner::StepRunner(const LoadedPlan &loaded, const Binding &binding, const CallArguments &arguments, DeviceCall &device, char *scratch,
                       CallReport &report)
    : loaded(loaded), plan(loaded.plan), binding(binding), arguments(arguments), device(device), scratch(scratch), report(report) {
  words.reserve(loaded.tables.mostWords);
}

Status StepRunner::run(const std::vector<StepPlan> &steps, int64_t tokens) {
  return visitLaunches(plan, steps, tokens,
                       [&](const StepPlan &step, const LaunchPosition &position) { return launch(step, position); });
}

/// Elements from the start of a buffer to token 'token', which starts a row panel.
static int64_t tokenOffset(const BufferPlan &buffer, const BufferState &state, int64_t token, int64_t panelWidth) {
  int64_t row = token / buffer.tokensPerRow;
  switch (buffer.layout) {
  case Layout::Strided:
    return row * state.stride0;
  case Layout::ColumnMajor:
    return row;
  case Layout::RowPanels:
    return row / panelWidth * state.stride0;
  case Layout::ColumnPanels:
    break;
  }
  return row * panelWidth;
}

/// Elements from the start of a buffer to where column 'column' would be, which starts a column
/// panel.
static int64_t columnOffset(const BufferPlan &buffer, const BufferState &state, int64_t column, int64_t panelWidth) {
  switch (buffer.layout) {
  case Layout::Strided:
  case Layout::ColumnMajor:
    return column * state.stride1;
  case Layout::RowPanels:
    return column * panelWidth;
  case Layout::ColumnPanels:
    break;
  }
  return column / panelWidth * state.stride1;
}

/// GPUs know how many tokens count: there, 'tokens' is where to read it, the first token and the
/// most.
void StepRunner::packScalar(ScalarRole role, const LaunchPosition &position) {
  if (role == ScalarRole::Tokens && loaded.tables.facts >= 0) {
    words.push_back(reinterpret_cast<int64_t>(binding.memory(loaded.tables.facts)));
    words.push_back(position.firstToken);
  }
  words.push_back(position.scalar(role));
}

char *StepRunner::addressOf(int64_t index, const LaunchPosition &position) const {
  const BufferPlan &buffer = plan.buffers[index];
  const BufferState &state = binding[index];
  Scope scope = plan.buffers[loaded.tables.roots[index]].scope;
  int64_t offset = 0;
  bool holdsAllTokens = (scope == Scope::Call || scope == Scope::Saved) && buffer.rows < 0;
  if (holdsAllTokens && position.firstToken > 0)
    offset += tokenOffset(buffer, state, position.firstToken, plan.memory.panelWidth);
  if (int64_t first = firstColumnOf(index, position); first > 0)
    offset -= columnOffset(buffer, state, first, plan.memory.panelWidth);
  return state.base + offset * elementBytes(buffer.element);
}

/// Columns are counted from the start of the vocabulary. A window that reaches to the current
/// vocabulary splits from there needs no shift; any other one holds the current vocabulary splits
/// only.
int64_t StepRunner::firstColumnOf(int64_t index, const LaunchPosition &position) const {
  bool isShifted = plan.buffers[index].window > 0 && plan.buffers[index].window < position.vocabSplitEnd * plan.vocabSplit;
  return isShifted ? position.vocabSplitFirst * plan.vocabSplit : 0;
}

TensorMatrix StepRunner::matrixOf(const TensorMapPlan &map, int64_t index, const LaunchPosition &position) const {
  const BufferPlan &buffer = plan.buffers[index];
  const BufferState &state = binding[index];
  int64_t first = firstColumnOf(index, position);
  TensorMatrix matrix;
  matrix.address = addressOf(index, position) + first * state.stride1 * elementBytes(buffer.element);
  matrix.element = buffer.element;
  matrix.firstColumn = first;
  matrix.rows = buffer.rows >= 0 ? buffer.rows : llvm::divideCeil(position.tokens, buffer.tokensPerRow);
  matrix.columns = std::min(buffer.window > 0 ? buffer.window : buffer.columns, buffer.columns - first);
  matrix.stride0 = state.stride0;
  matrix.stride1 = state.stride1;
  matrix.boxRows = map.rows;
  matrix.boxColumns = map.columns;
  return matrix;
}

void StepRunner::note(int64_t kernel, const LaunchPosition &position, std::optional<double> milliseconds) {
  const KernelCounters *counters = device.counters();
  if (!milliseconds && !counters)
    return;
  auto use = std::ranges::find(report.kernels, kernel, &KernelUse::kernel);
  if (use == report.kernels.end())
    use = report.kernels.insert(use, KernelUse{kernel, 0, {}, {}, {}});
  ++use->launches;
  if (milliseconds)
    use->milliseconds = use->milliseconds.value_or(0) + *milliseconds;
  if (counters)
    use->counters = use->counters.value_or(KernelCounters()) += *counters;
  const KernelWork &predicted = plan.kernels[kernel].work;
  use->predicted.matrixInstructions += position.work(predicted.matrixInstructions);
  use->predicted.globalBytes += position.work(predicted.globalBytes);
}

Status StepRunner::launch(const StepPlan &step, const LaunchPosition &position) {
  if (arguments.interrupt())
    return interrupted();
  report.chunks = std::max(report.chunks, position.chunks);
  const KernelPlan &kernel = plan.kernels[step.kernel];
  words.clear();
  for (const ArgumentPlan &argument : kernel.arguments) {
    if (!argument.isBuffer) {
      packScalar(argument.scalar, position);
      continue;
    }
    const BufferState &state = binding[argument.buffer];
    words.push_back(reinterpret_cast<int64_t>(addressOf(argument.buffer, position)));
    words.push_back(state.stride0);
    words.push_back(state.stride1);
  }
  matrices.clear();
  for (const TensorMapPlan &map : kernel.tensorMaps)
    matrices.push_back(matrixOf(map, kernel.arguments[map.argument].buffer, position));
  DeviceCall::Launch launch{step.kernel,      words.data(),        position.stepCount(kernel.grid), scratch, loaded.tables.scratchStride,
                            arguments.threads, arguments.interrupt, matrices};
  std::optional<double> milliseconds;
  Status status;
  if (arguments.isTimed) {
    Result<double> timed = device.timedLaunch(launch);
    status = timed.status();
    if (status.isOk())
      milliseconds = *timed;
  } else {
    status = device.launch(launch);
  }
  if (status.isOk())
    note(step.kernel, position, milliseconds);
  return status;
}
