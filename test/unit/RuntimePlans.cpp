// RuntimePlans.cpp - buffers, kernels and steps of the hand-made plans.
#include "test/unit/RuntimePlans.h"
#include <fstream>
#include <iterator>
using namespace logitile;
using namespace logitile::test;

const std::string &test::kernelObject() {
  static const std::string bytes = [] {
    std::ifstream file(RUNTIME_KERNELS, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

namespace {
enum class Phase { Prologue, Forward, Adjoint };

class PlanMaker {
public:
  explicit PlanMaker(const PlanOptions &options) : options(options) {}

  LaunchPlan run() {
    plan.name = "weighted";
    plan.target = "cpu:portable";
    plan.vocab = plan.columns = kVocab;
    plan.slab = kSlab;
    plan.kept = std::min(options.keptSlabs * kSlab, kVocab);
    plan.tokenTile = plan.panelWidth = kPanel;
    plan.isSplit = options.gradients == PlanOptions::Gradients::Split;
    plan.code = kernelObject();
    plan.pairs = {{"z", kHidden, ElementType::F32}};
    addInputs();
    addBuffers();
    addForward();
    if (options.gradients != PlanOptions::Gradients::None)
      addGradients();
    return plan;
  }

private:
  bool keepsAll() const { return options.keptSlabs == kSlabs; }
  BufferScope knownScope() const { return plan.isSplit ? BufferScope::Saved : BufferScope::Chunk; }

  // ---- buffers
  BufferPlan &buffer(const std::string &name, BufferScope scope, int64_t rows, int64_t columns = 1, ElementType element = ElementType::F32,
                     BufferLayout layout = BufferLayout::Strided) {
    BufferPlan entry;
    entry.name = name;
    entry.scope = scope;
    entry.layout = layout;
    entry.element = element;
    entry.rows = rows;
    entry.columns = columns;
    plan.buffers.push_back(entry);
    return plan.buffers.back();
  }
  void addInputs() {
    using Kind = InputPlan::Kind;
    plan.inputs = {{Kind::Token, "target", 0, ElementType::I32, true},
                   {Kind::Token, "alpha", 0, ElementType::F32, false},
                   {Kind::Scalar, "beta", 0, ElementType::F32, false},
                   {Kind::Vocab, "bias", 0, ElementType::F32, false},
                   {Kind::Dense, "mask", 0, ElementType::F32, false}};
    if (options.hasWeight)
      plan.inputs.push_back({Kind::Vocab, "class_weight", 0, ElementType::F32, false});
  }
  void addBuffers() {
    buffer("z.hidden", BufferScope::Input, -1, kHidden);
    buffer("z.weight", BufferScope::Input, kVocab, kHidden);
    buffer("mask", BufferScope::Input, -1, kVocab);
    buffer("tokens.map", BufferScope::Call, -1, 1, ElementType::I32).inForward = true;
    plan.buffers.back().inAdjoint = true;
    for (const char *name : {"map.z.hidden", "map.mask", "target"})
      buffer(name, BufferScope::Call, -1, 1, ElementType::I32);
    buffer("alpha", BufferScope::Call, -1);
    buffer("beta", BufferScope::Call, 1);
    for (const char *name : {"bias", "class_weight"})
      buffer(name, BufferScope::Call, kVocab);
    buffer("known.loss", BufferScope::Call, -1);
    buffer("known.weight", BufferScope::Call, -1);
    buffer("known.next", BufferScope::Call, -1, 1, ElementType::I32);
    buffer("known.even", BufferScope::Call, -1, 1, ElementType::Bool);
    buffer("known.lse", knownScope(), -1);
    buffer("known.nll", knownScope(), -1);
    for (const char *name : {"rows.max", "rows.sum", "rows.pick"})
      buffer(name, BufferScope::Chunk, kSlabs, -1);
    buffer("packed.z.rows", BufferScope::Chunk, -1, kHidden, ElementType::F32, BufferLayout::RowPanels);
    buffer("kept.z", plan.isSplit ? BufferScope::Saved : BufferScope::Chunk, -1, kVocab, ElementType::F32, BufferLayout::ColumnMajor);
    if (!keepsAll())
      plan.buffers.back().window = options.keptSlabs * kSlab;
    buffer("upstream.loss", BufferScope::Call, -1);
    for (const char *name : {"known.dalpha", "known.dbeta"})
      buffer(name, BufferScope::Call, -1);
    buffer("known.scale", BufferScope::Chunk, -1);
    buffer("grad.z", BufferScope::Chunk, -1, kVocab, ElementType::F32, BufferLayout::ColumnMajor);
    if (options.group == 0)
      plan.buffers.back().alias = plan.findBuffer("kept.z");
    else if (options.group < kSlabs)
      plan.buffers.back().window = options.group * kSlab;
    buffer("blocks.bias", BufferScope::Chunk, -1, kVocab).tokensPerRow = 8;
    buffer("sum.bias", BufferScope::Call, 1, kVocab);
    buffer("sum.z.hidden", BufferScope::Chunk, -1, kHidden);
    buffer("gradient.z.hidden", BufferScope::Output, -1, kHidden);
    buffer("gradient.z.weight", BufferScope::Output, kVocab, kHidden);
    buffer("gradient.mask", BufferScope::Output, -1, kVocab);
  }

  // ---- kernels and steps
  enum class Grid { Tokens, TokensAndSlabs, Slabs, One };
  /// A launch, and its kernel where it is new.
  StepPlan launch(Phase phase, const std::string &name, Grid grid, const std::vector<std::string> &arguments, int64_t slabFirst = -1,
                  int64_t slabBehind = -1) {
    StepPlan step;
    step.slabFirst = slabFirst;
    step.slabBehind = slabBehind;
    step.kernel = static_cast<int64_t>(plan.kernels.size());
    KernelPlan kernel;
    kernel.name = name;
    kernel.scratchBytes = kSlab * 4;
    constexpr int64_t kTaskTokens = 8;
    GridAxis tokens{{true, ScalarKind::Tokens, 0}, {false, ScalarKind::Tokens, 1}, kTaskTokens};
    GridAxis slabs{{false, ScalarKind::SlabFirst, 1}, {false, ScalarKind::SlabBehind, 1}, 1};
    if (grid == Grid::Tokens || grid == Grid::TokensAndSlabs)
      kernel.grid.push_back(tokens);
    if (grid == Grid::Slabs || grid == Grid::TokensAndSlabs)
      kernel.grid.push_back(slabs);
    for (const std::string &argument : arguments)
      kernel.arguments.push_back(argumentOf(argument, phase));
    plan.kernels.push_back(kernel);
    return step;
  }
  ArgumentPlan argumentOf(const std::string &name, Phase phase) {
    const std::pair<const char *, ScalarKind> scalars[] = {{"tokens", ScalarKind::Tokens},
                                                           {"slab_first", ScalarKind::SlabFirst},
                                                           {"slab_behind", ScalarKind::SlabBehind},
                                                           {"again.tokens", ScalarKind::AgainTokens},
                                                           {"again.slabs", ScalarKind::AgainSlabs}};
    for (auto [word, kind] : scalars)
      if (name == word)
        return {false, -1, kind};
    int64_t index = plan.findBuffer(name);
    for (int64_t used = index; used >= 0; used = plan.buffers[used].alias)
      (phase == Phase::Adjoint ? plan.buffers[used].inAdjoint : plan.buffers[used].inForward) = true;
    return {true, index, ScalarKind::Tokens};
  }
  std::vector<std::string> with(std::vector<std::string> first, const std::vector<std::string> &rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }
  StepPlan loop(StepKind kind, int64_t step, int64_t first, int64_t behind, std::vector<StepPlan> body) {
    StepPlan entry;
    entry.kind = kind;
    entry.step = step;
    entry.first = first;
    entry.behind = behind;
    entry.body = std::move(body);
    return entry;
  }

  const std::vector<std::string> logits{"packed.z.rows", "z.weight", "bias", "mask", "map.mask"};

  void addForward() {
    plan.outputs = {{"loss", ElementType::F32, plan.findBuffer("known.loss"), options.gradients != PlanOptions::Gradients::None}};
    std::vector<StepPlan> steps;
    if (options.hasWeight) {
      plan.outputs.push_back({"weight", ElementType::F32, plan.findBuffer("known.weight"), false});
      StepPlan weigh = launch(Phase::Prologue, "weigh", Grid::Tokens, {"tokens", "target", "class_weight", "known.weight"});
      (options.isWeightLate ? steps : plan.prologue).push_back(weigh);
    }
    if (options.hasIndex) {
      plan.outputs.push_back({"next", ElementType::I32, plan.findBuffer("known.next"), false});
      plan.outputs.push_back({"even", ElementType::Bool, plan.findBuffer("known.even"), false});
      plan.checkedIndices = {plan.findBuffer("known.next")};
      plan.prologue.push_back(launch(Phase::Prologue, "compute_index", Grid::Tokens, {"tokens", "target", "known.next", "known.even"}));
    }
    steps.push_back(launch(Phase::Forward, "pack", Grid::Tokens, {"tokens", "map.z.hidden", "z.hidden", "packed.z.rows"}));
    std::vector<std::string> sweep =
        with({"tokens", "slab_first", "slab_behind"}, with(logits, {"target", "rows.max", "rows.sum", "rows.pick"}));
    if (options.keptSlabs > 0)
      steps.push_back(launch(Phase::Forward, "sweep_keep", Grid::TokensAndSlabs, with(sweep, {"kept.z"}), 0, options.keptSlabs));
    if (options.keptSlabs < kSlabs)
      steps.push_back(launch(Phase::Forward, "sweep", Grid::TokensAndSlabs, sweep, options.keptSlabs, kSlabs));
    steps.push_back(launch(Phase::Forward, "finish", Grid::Tokens,
                           {"tokens", "rows.max", "rows.sum", "rows.pick", "alpha", "beta", "known.loss", "known.lse", "known.nll"}));
    forwardSteps = std::move(steps);
    if (options.gradients != PlanOptions::Gradients::Early)
      plan.forward = chunked(forwardSteps);
  }
  std::vector<StepPlan> chunked(std::vector<StepPlan> steps) {
    if (options.chunk == 0)
      return steps;
    return {loop(StepKind::TokenLoop, options.chunk, 0, 0, std::move(steps))};
  }

  void addGradients() {
    Phase phase = plan.isSplit ? Phase::Adjoint : Phase::Forward;
    std::vector<StepPlan> steps;
    if (plan.isSplit)
      steps.push_back(launch(phase, "pack", Grid::Tokens, {"tokens", "map.z.hidden", "z.hidden", "packed.z.rows"}));
    steps.push_back(launch(phase, "coefficients", Grid::Tokens,
                           {"tokens", "upstream.loss", "alpha", "known.nll", "known.scale", "known.dalpha", "known.dbeta"}));
    if (options.group == 0) {
      steps.push_back(gradient(phase, true, 0, kSlabs));
      steps.push_back(launch(phase, "hidden_whole", Grid::Tokens, {"tokens", "tokens.map", "grad.z", "z.weight", "gradient.z.hidden"}));
      steps.push_back(weight(phase, 0, kSlabs));
    } else {
      addGroups(phase, steps);
      steps.push_back(launch(phase, "round_hidden", Grid::Tokens, {"tokens", "tokens.map", "sum.z.hidden", "gradient.z.hidden"}));
    }
    steps.push_back(launch(phase, "sum_blocks", Grid::One, {"tokens", "again.tokens", "blocks.bias", "sum.bias"}));
    if (plan.isSplit) {
      plan.adjoint = chunked(std::move(steps));
    } else {
      forwardSteps.insert(forwardSteps.end(), steps.begin(), steps.end());
      plan.forward = chunked(forwardSteps);
    }
    nameGradients();
  }
  void addGroups(Phase phase, std::vector<StepPlan> &steps) {
    for (bool kept : {true, false}) {
      int64_t first = kept ? 0 : options.keptSlabs, behind = kept ? options.keptSlabs : kSlabs;
      if (first == behind)
        continue;
      std::vector<std::string> hidden{"tokens", "slab_first", "slab_behind", "again.slabs", "grad.z", "z.weight", "sum.z.hidden"};
      steps.push_back(loop(StepKind::SlabLoop, options.group, first, behind,
                           {gradient(phase, kept, -1, -1), launch(phase, first > 0 ? "hidden_more" : "hidden_part", Grid::Tokens, hidden),
                            weight(phase, -1, -1)}));
    }
  }
  StepPlan gradient(Phase phase, bool kept, int64_t first, int64_t behind) {
    std::vector<std::string> arguments{"tokens",    "slab_first",  "slab_behind", "tokens.map",         "target",
                                       "known.lse", "known.scale", "grad.z",      "blocks.bias", "gradient.mask"};
    return launch(phase, kept ? "gradient_kept" : "gradient_project", Grid::TokensAndSlabs,
                  with(arguments, kept ? std::vector<std::string>{"kept.z"} : logits), first, behind);
  }
  StepPlan weight(Phase phase, int64_t first, int64_t behind) {
    return launch(phase, options.accumulates ? "weight_more" : "weight", Grid::Slabs,
                  {"tokens", "slab_first", "slab_behind", "again.tokens", "grad.z", "packed.z.rows", "gradient.z.weight"}, first, behind);
  }
  void nameGradients() {
    using Kind = GradientPlan::Kind;
    auto add = [&](Kind kind, const char *name, const char *buffer) {
      plan.gradients.push_back({kind, name, ElementType::F32, {plan.findBuffer(buffer)}, false});
    };
    add(Kind::Direct, "z.hidden", "gradient.z.hidden");
    add(Kind::Direct, "z.weight", "gradient.z.weight");
    plan.gradients.back().accumulates = options.accumulates;
    add(Kind::Direct, "mask", "gradient.mask");
    add(Kind::Vocab, "bias", "sum.bias");
    add(Kind::Token, "alpha", "known.dalpha");
    add(Kind::Scalar, "beta", "known.dbeta");
  }

  const PlanOptions options;
  LaunchPlan plan;
  std::vector<StepPlan> forwardSteps;
};
} // namespace

LaunchPlan test::makePlan(const PlanOptions &options) { return PlanMaker(options).run(); }
