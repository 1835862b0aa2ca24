// BuildPlan.cpp - reads schedule, kernels and gradients of a module into plain data.
#include "compiler/Schedule/BuildPlan.h"
#include "compiler/Schedule/LaunchShape.h"
#include "compiler/Target/ModuleTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"
using namespace mlir;
using namespace logitile;

// ---- types --------------------------------------------------------------------------------------

ElementType logitile::elementTypeOf(Type type) {
  if (auto rounded = dyn_cast<RoundedType>(type))
    return elementTypeOf(rounded.getMemory());
  if (type.isF32())
    return ElementType::F32;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (type.isF64())
    return ElementType::F64;
  if (type.isInteger(32))
    return ElementType::I32;
  return type.isInteger(1) ? ElementType::Bool : ElementType::I64;
}
BufferPlan logitile::makeBufferPlan(BufferRole role, Scope scope, ViewType type) {
  auto extent = [](Attribute dim) {
    int64_t value = cast<IntegerAttr>(dim).getInt();
    return ShapedType::isDynamic(value) ? -1 : value;
  };
  BufferPlan plan;
  plan.role = role;
  plan.scope = scope;
  plan.layout = type.getLayout();
  plan.element = elementTypeOf(type.getElement());
  plan.rows = extent(type.getDims()[0]);
  plan.columns = type.getDims().size() == 2 ? extent(type.getDims()[1]) : 1;
  return plan;
}

// ---- grids --------------------------------------------------------------------------------------

static std::optional<Extent> extentOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp());
    if (!kernel)
      return std::nullopt;
    return Extent{false, *kernel.scalarOf(argument), 1, INT64_MAX};
  }
  APInt constant;
  Value inner;
  if (auto mul = value.getDefiningOp<arith::MulIOp>()) {
    inner = mul.getLhs();
    if (!matchPattern(mul.getRhs(), m_ConstantInt(&constant)))
      return std::nullopt;
    std::optional<Extent> extent = extentOf(inner);
    if (!extent || extent->isConstant || extent->cap != INT64_MAX)
      return std::nullopt;
    extent->scale *= constant.getSExtValue();
    return extent;
  }
  if (auto min = value.getDefiningOp<arith::MinUIOp>()) {
    if (!matchPattern(min.getRhs(), m_ConstantInt(&constant)))
      return std::nullopt;
    std::optional<Extent> extent = extentOf(min.getLhs());
    if (extent)
      extent->cap = std::min(extent->cap, constant.getSExtValue());
    return extent;
  }
  return std::nullopt;
}

/// A kernel without a grid has one task.
int64_t logitile::blocksTogether(KernelOp kernel, function_ref<int64_t(Algorithm)> ofAlgorithm) {
  int64_t together = 1;
  if (kernel.getBody().getOps<scf::ForallOp>().empty())
    return together;
  auto count = [&](std::optional<Algorithm> algorithm) { together = std::max(together, algorithm ? ofAlgorithm(*algorithm) : 1); };
  kernel.walk([&](ProjectOp project) { count(project.getAlgorithm()); });
  kernel.walk([&](ContractOp contract) { count(contract.getAlgorithm()); });
  return together;
}

std::optional<Extent> logitile::extentOf(OpFoldResult bound) {
  if (std::optional<int64_t> constant = getConstantIntValue(bound))
    return Extent{true, ScalarRole::Tokens, *constant, INT64_MAX};
  return ::extentOf(cast<Value>(bound));
}

// ---- work ---------------------------------------------------------------------------------------

/// Of a target that predicts none.
KernelWork Target::predictWork(KernelOp) const { return {}; }

namespace {
class PlanBuilder {
public:
  PlanBuilder(ModuleOp module, ProgramOp program, ScheduleOp schedule) : module(module), program(program), schedule(schedule) {}

  FailureOr<LaunchPlan> run() {
    RequestAttr request = getRequest(module);
    FailureOr<std::shared_ptr<const Target>> chosen = chooseTarget(module);
    if (failed(chosen))
      return failure();
    target = *chosen;
    plan.name = program.getSymName();
    plan.target = target->name();
    plan.vocab = program.getVocab();
    plan.columns = program.getWidth();
    countSweeps();
    plan.tokensFirst = schedule.getFirst();
    plan.tokensEnd = schedule.getEnd();
    plan.vocabSplit = schedule.getVocabSplit();
    plan.stored = schedule.getStored();
    plan.memory = target->facts().memory;
    plan.tokenTile = plan.memory.panelWidth;
    plan.isSplit = request.getMode() == Mode::Split;
    for (ProjectionAttr projection : request.getProjections())
      plan.projections.push_back({projection.getName().str(), projection.getHidden(), elementTypeOf(projection.getElement()),
                                  elementTypeOf(projection.getHiddenMemory()), elementTypeOf(projection.getWeightMemory())});
    addInputs(request);
    addOutputs();
    addBuffers();
    findResults();
    for (KernelOp kernel : module.getOps<KernelOp>())
      if (failed(addKernel(kernel)))
        return failure();
    for (RunOp run : schedule.getBody().getOps<RunOp>()) {
      std::vector<StepPlan> &steps = run.getPhase() == Phase::Prologue  ? plan.prologue
                                     : run.getPhase() == Phase::Backward ? plan.backward
                                                                        : plan.forward;
      if (failed(addSteps(run.getBody().front(), steps, run.getPhase() == Phase::Backward)))
        return failure();
    }
    if (failed(addGradients(request)))
      return failure();
    return std::move(plan);
  }

private:
  void countSweeps() {
    SweepOp ofFirstColumns = findReferenceSweep(program); // hardly a pass
    for (SweepOp sweep : program.getBody().getOps<SweepOp>())
      if (sweep != ofFirstColumns)
        (sweep.getPhase() == Phase::Forward ? plan.forwardSweeps : plan.backwardSweeps) += sweep.getPhase() != Phase::Fused;
    if (std::optional<ArrayRef<int64_t>> whole = program.getSweeps())
      plan.forwardSweeps = (*whole)[0], plan.backwardSweeps = (*whole)[1];
  }
  void addBuffers() {
    for (BufferOp buffer : schedule.getBody().getOps<BufferOp>()) {
      BufferPlan planned = makeBufferPlan(buffer.getRole(), buffer.getScope(), cast<ViewType>(buffer.getType()));
      planned.name = buffer.getSymName();
      planned.owner = ownerOf(buffer);
      planned.entry = buffer.getRole() == BufferRole::Input ? buffer.getNumber().value_or(-1) : -1;
      planned.tokensPerRow = buffer.getPer();
      planned.window = buffer.getWindow().value_or(0);
      if (buffer.getAlias())
        planned.alias = numbers.at(buffer.getAliasAttr().getAttr());
      planned.inForward = planned.inBackward = isReadInEveryCall(buffer.getRole());
      numbers[buffer.getSymNameAttr()] = plan.buffers.size();
      plan.buffers.push_back(planned);
    }
  }
  /// By the runtime itself.
  static bool isReadInEveryCall(BufferRole role) { return role >= BufferRole::TokenMap; }
  /// The number of the projection, input or output that a buffer belongs to; -1 where there is
  /// none.
  int64_t ownerOf(BufferOp buffer) const {
    StringRef name = buffer.getOwnerName();
    if (buffer.getRole() <= BufferRole::WeightSum)
      return numberIn(plan.projections, name);
    if (buffer.getRole() <= BufferRole::InputGradient)
      return numberIn(plan.inputs, name);
    return buffer.getRole() == BufferRole::Cotangent ? numberIn(plan.outputs, name) : -1;
  }
  /// Which of the list has that name; -1 where none has.
  template <typename Named>
  static int64_t numberIn(const std::vector<Named> &list, StringRef name) {
    auto it = llvm::find_if(list, [&](const Named &one) { return one.name == name; });
    return it == list.end() ? -1 : it - list.begin();
  }
  /// The number of a buffer of the schedule; -1 where there is none.
  int64_t numberOf(BufferKey key) {
    BufferOp buffer = schedule.findBuffer(key.role, key.owner, key.number);
    return buffer ? numbers.at(buffer.getSymNameAttr()) : -1;
  }

  LogicalResult addKernel(KernelOp kernel) {
    KernelPlan planned;
    planned.isConditional = kernel.walk([](AnyTokenOp) { return WalkResult::interrupt(); }).wasInterrupted();
    planned.name = kernel.getSymName();
    planned.code = kernel.getCode().value_or("");
    for (BlockArgument argument : kernel.getBody().getArguments()) {
      ArgumentPlan plan_;
      StringAttr buffer = kernel.bufferOf(argument);
      plan_.isBuffer = bool(buffer);
      if (buffer && !numbers.contains(buffer))
        return kernel.emitOpError() << "takes buffer @" << buffer.getValue() << ", which the schedule does not define";
      if (buffer)
        plan_.buffer = numbers.at(buffer);
      else
        plan_.scalar = *kernel.scalarOf(argument);
      planned.arguments.push_back(plan_);
    }
    for (auto loop : kernel.getBody().getOps<scf::ForallOp>())
      for (auto [lower, upper, step] : llvm::zip_equal(loop.getMixedLowerBound(), loop.getMixedUpperBound(), loop.getMixedStep())) {
        std::optional<Extent> from = extentOf(lower), to = extentOf(upper), by = extentOf(step);
        if (!from || !to || !by || !by->isConstant)
          return kernel.emitOpError() << "has a grid that depends on more than constants and the scalars of a launch";
        planned.grid.push_back({*from, *to, by->scale});
      }
    auto ofAlgorithm = [&](Algorithm algorithm) { return target->blocksTogether(algorithm); };
    if (int64_t together = blocksTogether(kernel, ofAlgorithm); together > 1) { // whose numbers follow each other
      planned.grid.front().step *= together;
      planned.grid.push_back({{true, ScalarRole::Tokens, 0}, {true, ScalarRole::Tokens, together}, 1});
    }
    planned.work = target->predictWork(kernel);
    plan.kernels.push_back(planned);
    return success();
  }
  // ---- steps ------------------------------------------------------------------------------------

  LogicalResult addSteps(Block &block, std::vector<StepPlan> &steps, bool backward) {
    for (Operation &op : block) {
      StepPlan step;
      if (auto loop = dyn_cast<LoopOp>(op)) {
        step.kind = loop.getAxis() == Axis::Tokens ? StepKind::TokenLoop : StepKind::VocabSplitLoop;
        step.step = loop.getStep();
        step.first = loop.getFirst().value_or(0);
        step.end = loop.getEnd().value_or(0);
        if (failed(addSteps(loop.getBody().front(), step.body, backward)))
          return failure();
      }
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        step.kernel =
            llvm::find_if(plan.kernels, [&](const KernelPlan &kernel) { return kernel.name == launch.getKernel(); }) - plan.kernels.begin();
        if (step.kernel == static_cast<int64_t>(plan.kernels.size()))
          return launch.emitOpError() << "names kernel '" << launch.getKernel() << "', which the module does not have";
        if (std::optional<ArrayRef<int64_t>> vocabSplits = launch.getVocabSplits()) {
          step.vocabSplitFirst = (*vocabSplits)[0];
          step.vocabSplitEnd = (*vocabSplits)[1];
        }
        markUsed(step.kernel, backward);
      }
      steps.push_back(std::move(step));
    }
    return success();
  }
  void markUsed(int64_t kernel, bool backward) {
    for (const ArgumentPlan &argument : plan.kernels[kernel].arguments) {
      if (!argument.isBuffer)
        continue;
      for (int64_t buffer = argument.buffer; buffer >= 0; buffer = plan.buffers[buffer].alias)
        (backward ? plan.buffers[buffer].inBackward : plan.buffers[buffer].inForward) = true;
    }
  }

  // ---- inputs, outputs, gradients ---------------------------------------------------------------

  void addInputs(RequestAttr request) {
    llvm::StringMap<size_t> seen;
    program.walk([&](InputOp input) {
      addInput(input.getKind(), input.getKind() == InputKind::SliceOffset ? kSliceOffsetName : input.getName(), input.getType(),
               input.getPlaces() ? *input.getPlaces() - 1 : input.getIndex().value_or(-1), request, seen);
    });
    // The gradient of an input that nothing reads, such as that of a sum in a program whose forward
    // part is another one.
    program.walk([&](AdjointOp adjoint) {
      if (adjoint.getKind() == InputKind::Dense)
        addInput(adjoint.getKind(), adjoint.getName(), Float32Type::get(module.getContext()), -1, request, seen);
    });
    for (FinishOp finish : program.getBody().getOps<FinishOp>())
      addGivenLists(finish, seen);
  }
  /// Adds the input, or one more of its entries.
  void addInput(InputKind kind, StringRef name, Type type, int64_t index, RequestAttr request, llvm::StringMap<size_t> &seen) {
    if (kind == InputKind::Logits || kind == InputKind::Cotangent || kind == InputKind::TokenIndex) // the runtime knows the last
      return;
    auto [it, isNew] = seen.try_emplace(name, plan.inputs.size());
    if (isNew) {
      InputPlan planned;
      planned.kind = kind;
      planned.name = name;
      auto dense = request.getDense().getAs<TypeAttr>(name);
      planned.element = elementTypeOf(dense && kind == InputKind::Dense ? dense.getValue() : type);
      planned.isIndex = llvm::is_contained(program.getIndices().getAsValueRange<StringAttr>(), name);
      plan.inputs.push_back(planned);
    }
    plan.inputs[it->second].entries = std::max(plan.inputs[it->second].entries, index + 1);
  }
  void addGivenLists(FinishOp finish, llvm::StringMap<size_t> &seen) {
    if (!finish.getGiven())
      return;
    for (auto [number, name] : llvm::enumerate(finish.getGiven()->getAsValueRange<StringAttr>())) {
      InputPlan planned;
      planned.name = name;
      planned.entries = finish.countPlaces();
      planned.element = number % 2 == 0 ? ElementType::F32 : ElementType::I32;
      if (seen.try_emplace(name, plan.inputs.size()).second)
        plan.inputs.push_back(planned);
    }
  }
  void addOutputs() {
    for (OutputAttr output : program.getOutputs().getAsRange<OutputAttr>()) {
      OutputPlan planned;
      planned.name = output.getName().str();
      planned.element = elementTypeOf(output.getType());
      // The language reduces the output 'loss', and weighs tokens by the output 'weight'.
      planned.role = output.getState()        ? OutputPlan::Role::State
                   : planned.name == "loss"   ? OutputPlan::Role::Loss
                   : planned.name == "weight" ? OutputPlan::Role::Weight
                                            : OutputPlan::Role::Value;
      plan.outputs.push_back(planned);
    }
  }
  /// What outputs and computed indices are in, once buffers have numbers.
  void findResults() {
    for (auto [output, attribute] : llvm::zip_equal(plan.outputs, program.getOutputs().getAsRange<OutputAttr>())) {
      output.buffer = numberOf(bufferOf(attribute.getResult()));
      ViewType type = cast<ViewType>(schedule.findBuffer(BufferRole::Result, attribute.getResult().getFinish().getValue(),
                                                         attribute.getResult().getNumber())
                                         .getType());
      output.places = type.getDims().size() == 2 ? cast<IntegerAttr>(type.getDims()[1]).getInt() : 0;
      output.hasCotangent = numberOf({BufferRole::Cotangent, output.name}) >= 0;
    }
    for (ResultAttr index : program.getChecked().getAsRange<ResultAttr>())
      plan.checkedIndices.push_back(numberOf(bufferOf(index)));
  }

  // ---- gradients --------------------------------------------------------------------------------

  LogicalResult addGradients(RequestAttr request) {
    for (GradientAttr wanted : request.getGradients()) {
      GradientPlan planned;
      planned.part = wanted.getPart();
      planned.owner = wanted.getOwner();
      planned.number = planned.part == OperandPart::Input ? numberIn(plan.inputs, planned.owner) : numberIn(plan.projections, planned.owner);
      planned.element = wanted.getElement() ? elementTypeOf(wanted.getElement()) : ElementType::F32;
      if (int64_t direct = directBuffer(planned); direct >= 0) {
        planned.buffers = {direct};
        planned.element = plan.buffers[direct].element;
        planned.accumulates = request.getAccumulate() && plan.buffers[direct].rows >= 0; // one row for each vocabulary entry
      } else if (failed(addSummedGradient(planned))) {
        return failure();
      }
      plan.gradients.push_back(planned);
    }
    return success();
  }
  /// The caller's memory that kernels write; -1 where the runtime hands the gradient out.
  int64_t directBuffer(const GradientPlan &planned) const {
    switch (planned.part) {
    case OperandPart::Hidden:
      return plan.findBuffer(BufferRole::HiddenGradient, planned.number);
    case OperandPart::Weight:
      return plan.findBuffer(BufferRole::WeightGradient, planned.number);
    case OperandPart::Input:
      return planned.number < 0 ? -1 : plan.findBuffer(BufferRole::InputGradient, planned.number);
    }
    return -1;
  }
  /// A gradient that the runtime hands out: per token, per vocabulary entry, or for the call.
  LogicalResult addSummedGradient(GradientPlan &planned) {
    planned.kind = GradientPlan::Kind::Zero;
    if (planned.part != OperandPart::Input)
      return success();
    for (GradientOp gradient : program.getBody().getOps<GradientOp>())
      for (AdjointOp adjoint : gradient.getBody().getOps<AdjointOp>()) {
        if (adjoint.getName() != planned.owner)
          continue;
        if (int64_t sum = numberOf({BufferRole::InputSum, planned.owner}); sum >= 0) {
          planned.kind = GradientPlan::Kind::Vocab;
          planned.buffers = {sum};
          continue;
        }
        if (!adjoint.getDense()) // nothing reaches it
          continue;
        auto perToken = adjoint.getDense().getDefiningOp<KnownOp>();
        if (!perToken)
          return adjoint.emitOpError() << "is asked for as gradient '" << planned.owner << "', which has no buffer and is no known value";
        planned.kind = adjoint.getKind() == InputKind::Token ? GradientPlan::Kind::Token : GradientPlan::Kind::Scalar;
        size_t slot = adjoint.getIndex().value_or(0);
        if (planned.buffers.size() <= slot)
          planned.buffers.resize(slot + 1, -1);
        planned.buffers[slot] = numberOf(bufferOf(perToken.getSource()));
      }
    return success();
  }

  ModuleOp module;
  ProgramOp program;
  ScheduleOp schedule;
  LaunchPlan plan;
  std::shared_ptr<const Target> target;
  llvm::DenseMap<StringAttr, int64_t> numbers; // of buffers
};
} // namespace

FailureOr<LaunchPlan> logitile::buildPlan(ModuleOp module) {
  auto programs = module.getOps<ProgramOp>();
  if (programs.empty() || std::next(programs.begin()) != programs.end())
    return module.emitOpError() << "must hold one program, has " << std::distance(programs.begin(), programs.end());
  if (!getRequest(module))
    return module.emitOpError() << "has no '" << kRequestAttrName << "'";
  ProgramOp program = *programs.begin();
  auto schedules = program.getBody().getOps<ScheduleOp>();
  if (schedules.empty())
    return program.emitOpError() << "has no schedule";
  return PlanBuilder(module, program, *schedules.begin()).run();
}
