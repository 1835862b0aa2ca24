// LoadedPlan.cpp - the checks of a plan before anything runs, and its tables of buffers.
#include "runtime/plan/LoadedPlan.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
using namespace logitile;

namespace {
/// A plan may come from a file that another build wrote: what calls index with is checked here,
/// once.
class PlanChecker {
public:
  explicit PlanChecker(const LaunchPlan &plan) : plan(plan) {}

  Status run() {
    check(plan.vocab >= plan.columns && plan.columns > 0 && plan.vocabSplit > 0 && plan.tokenTile > 0, "its sizes");
    check(plan.memory.panelWidth > 0 && plan.memory.rowAlignment > 0, "its memory model");
    check(!plan.projections.empty() || std::ranges::any_of(plan.inputs, isOfTokens), "its projections");
    check(!plan.projections.empty() || !plan.isSplit, "its phases");
    int64_t map = plan.findBuffer(BufferRole::TokenMap);
    check(map >= 0 && plan.buffers[map].inForward && (plan.buffers[map].inBackward || !plan.isSplit), "the token map");
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const BufferPlan &buffer = plan.buffers[i];
      check(buffer.alias < static_cast<int64_t>(i) && buffer.tokensPerRow > 0 && buffer.window >= 0, "buffer '" + buffer.name + "'");
      check(buffer.rows >= -1 && buffer.columns >= -1 && buffer.owner < ownersOf(buffer.role), "buffer '" + buffer.name + "'");
    }
    constexpr InputKind kGiven[] = {InputKind::Token, InputKind::Vocab, InputKind::Dense, InputKind::Scalar, InputKind::SliceOffset};
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const InputPlan &input = plan.inputs[i];
      int64_t list = input.entries > 0 ? plan.findBuffer(BufferRole::Input, i) : -1;
      bool hasPlaces = list < 0 || (plan.buffers[list].columns == input.entries && plan.buffers[list].layout == Layout::ColumnMajor);
      check(std::ranges::find(kGiven, input.kind) != std::end(kGiven) && hasPlaces, "input '" + input.name + "'");
    }
    for (const KernelPlan &kernel : plan.kernels)
      checkKernel(kernel);
    for (const std::vector<StepPlan> *steps : {&plan.prologue, &plan.forward, &plan.backward})
      checkSteps(*steps);
    for (const OutputPlan &output : plan.outputs)
      check(hasBuffer(output.buffer) && (output.places == 0 || plan.buffers[output.buffer].columns == output.places),
            "output '" + output.name + "'");
    for (const GradientPlan &gradient : plan.gradients)
      checkGradient(gradient);
    for (int64_t buffer : plan.checkedIndices)
      check(hasBuffer(buffer), "its computed indices");
    return wrong.empty() ? Status() : Status(ErrorCode::Internal, "the launch plan '" + plan.name + "' is inconsistent in " + wrong);
  }

private:
  void check(bool isFine, const std::string &what) {
    if (!isFine && wrong.empty())
      wrong = what;
  }
  /// How many owners buffers of this role may have.
  int64_t ownersOf(BufferRole role) const {
    if (role <= BufferRole::WeightSum)
      return plan.projections.size();
    if (role <= BufferRole::InputGradient)
      return plan.inputs.size();
    return role == BufferRole::Cotangent ? plan.outputs.size() : 0;
  }
  bool hasBuffer(int64_t buffer) const { return buffer >= 0 && buffer < static_cast<int64_t>(plan.buffers.size()); }

  void checkKernel(const KernelPlan &kernel) {
    check(kernel.scratchBytes >= 0, "kernel '" + kernel.name + "'");
    for (const ArgumentPlan &argument : kernel.arguments)
      check(!argument.isBuffer || hasBuffer(argument.buffer), "kernel '" + kernel.name + "'");
    for (const TensorMapPlan &map : kernel.tensorMaps)
      check(wrong.empty() && isOfMatrix(kernel, map), "kernel '" + kernel.name + "'");
    checkAxes(kernel, kernel.grid);
    for (const auto *terms : {&kernel.work.matrixInstructions, &kernel.work.globalBytes})
      for (const WorkTerm &term : *terms) {
        checkAxes(kernel, term.axes);
        check(term.share > 0, "kernel '" + kernel.name + "'");
      }
  }
  /// Whether a tensor map describes rows of 16-bit numbers, and boxes that there can be.
  bool isOfMatrix(const KernelPlan &kernel, const TensorMapPlan &map) const {
    if (map.argument < 0 || map.argument >= static_cast<int64_t>(kernel.arguments.size()) || !kernel.arguments[map.argument].isBuffer)
      return false;
    constexpr int64_t kColumns[] = {16, 32, 64}, kMostRows = 256;
    const BufferPlan &buffer = plan.buffers[kernel.arguments[map.argument].buffer];
    bool hasHalves = buffer.element == ElementType::F16 || buffer.element == ElementType::BF16;
    bool isBox = std::ranges::find(kColumns, map.columns) != std::end(kColumns) && map.rows > 0 && map.rows <= kMostRows;
    return buffer.layout == Layout::Strided && hasHalves && isBox;
  }
  void checkAxes(const KernelPlan &kernel, const std::vector<GridAxis> &axes) {
    for (const GridAxis &axis : axes)
      check(axis.step > 0, "kernel '" + kernel.name + "'");
  }
  void checkSteps(const std::vector<StepPlan> &steps) {
    for (const StepPlan &step : steps) {
      bool isLaunch = step.kind == StepKind::Launch;
      check(!isLaunch || (step.kernel >= 0 && step.kernel < static_cast<int64_t>(plan.kernels.size())), "a launch");
      check(isLaunch || step.step > 0 || (step.kind == StepKind::TokenLoop && step.step < 0), "a loop");
      checkSteps(step.body);
    }
  }
  void checkGradient(const GradientPlan &gradient) {
    bool mayLack = gradient.kind == GradientPlan::Kind::Token; // entries that no gradient reaches
    const std::string what = "the gradient of " + std::string(wordOf(gradient.part)) + " '" + gradient.owner + "'";
    for (int64_t buffer : gradient.buffers)
      check(hasBuffer(buffer) || (mayLack && buffer == -1), what);
    check(gradient.kind == GradientPlan::Kind::Zero || !gradient.buffers.empty(), what);
    bool isOfInput = gradient.part == OperandPart::Input;
    int64_t owners = isOfInput ? plan.inputs.size() : plan.projections.size();
    check(gradient.number < owners && gradient.number >= (isOfInput ? -1 : 0), what);
  }

  const LaunchPlan &plan;
  std::string wrong;
};

/// Whether a kernel of these steps has the buffer as an argument.
bool haveArgument(const LaunchPlan &plan, const std::vector<StepPlan> &steps, int64_t buffer) {
  return std::ranges::any_of(steps, [&](const StepPlan &step) {
    if (step.kind != StepKind::Launch)
      return haveArgument(plan, step.body, buffer);
    return std::ranges::any_of(plan.kernels[step.kernel].arguments,
                               [&](const ArgumentPlan &argument) { return argument.isBuffer && argument.buffer == buffer; });
  });
}

PlanTables tablesOf(const LaunchPlan &plan) {
  PlanTables tables;
  for (int64_t projection = 0; projection < static_cast<int64_t>(plan.projections.size()); ++projection)
    tables.projections.push_back({plan.findBuffer(BufferRole::Hidden, projection), plan.findBuffer(BufferRole::Weight, projection),
                                  plan.findBuffer(BufferRole::HiddenMap, projection)});
  for (int64_t i = 0; i < static_cast<int64_t>(plan.inputs.size()); ++i) {
    PlanTables::Input &table = tables.inputs.emplace_back();
    table.map = plan.findBuffer(BufferRole::InputMap, i);
    bool isOffset = plan.inputs[i].kind == InputKind::SliceOffset;
    int64_t whole = isOffset ? plan.findBuffer(BufferRole::SliceOffset) : plan.findBuffer(BufferRole::Input, i);
    int64_t entries = plan.inputs[i].entries;
    if (whole >= 0 || entries == 0)
      table.buffers = {whole};
    else
      for (int64_t entry = 0; entry < entries; ++entry)
        table.buffers.push_back(plan.findBuffer(BufferRole::Input, i, entry));
  }
  for (int64_t i = 0; i < static_cast<int64_t>(plan.outputs.size()); ++i) {
    tables.cotangents.push_back(plan.findBuffer(BufferRole::Cotangent, i));
    if (plan.outputs[i].role == OutputPlan::Role::Loss)
      tables.loss = i;
    if (plan.outputs[i].role == OutputPlan::Role::Weight)
      tables.weight = i;
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    int64_t alias = plan.buffers[i].alias;
    tables.roots.push_back(alias >= 0 ? tables.roots[alias] : i);
  }
  tables.map = plan.findBuffer(BufferRole::TokenMap);
  tables.facts = plan.findBuffer(BufferRole::CallFacts);
  tables.slots = plan.findBuffer(BufferRole::TokenSlots);
  tables.wrong = plan.findBuffer(BufferRole::WrongTokens);
  tables.isWeightInPrologue = tables.weight >= 0 && haveArgument(plan, plan.prologue, plan.outputs[tables.weight].buffer);
  for (const KernelPlan &kernel : plan.kernels) {
    constexpr int64_t kLine = 64;
    tables.scratchStride = std::max<int64_t>(tables.scratchStride, llvm::alignTo(kernel.scratchBytes, kLine));
    tables.mostWords = std::max<int64_t>(tables.mostWords, 3 * kernel.arguments.size());
  }
  return tables;
}
} // namespace

Status logitile::checkPlan(const LaunchPlan &plan) { return PlanChecker(plan).run(); }

Result<std::shared_ptr<LoadedPlan>> logitile::loadPlan(LaunchPlan plan, const KernelKey &key, std::shared_ptr<Device> device,
                                                       NativeStore store) {
  if (Status status = checkPlan(plan); !status.isOk())
    return status;
  PlanTables tables = tablesOf(plan);
  if (!device->isHost() && (tables.facts < 0 || tables.slots < 0 || tables.wrong < 0))
    return Status(ErrorCode::Internal, "the launch plan '" + plan.name + "' lacks buffers that GPUs need");
  std::shared_ptr<LoadedPlan> loaded(new LoadedPlan{std::move(device), key, std::move(plan), std::move(tables), nullptr, {}});
  Result<std::unique_ptr<DeviceCode>> code = loaded->device->load(loaded->plan, std::move(store));
  if (!code.isOk())
    return code.status();
  loaded->code = std::move(*code);
  return loaded;
}
