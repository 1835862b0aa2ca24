// RuntimePlans.cpp - buffers, kernels and steps of the hand-made plans.
#include "test/unit/runtime/RuntimePlans.h"
#include <algorithm>
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
enum class Phase { Prologue, Forward, Backward };

class PlanMaker {
public:
  explicit PlanMaker(const PlanOptions &options) : options(options) {}

  LaunchPlan run() {
    plan.name = "weighted";
    plan.target = "cpu:portable";
    plan.vocab = plan.columns = kVocab;
    plan.vocabSplit = kVocabSplit;
    plan.stored = std::min(options.storedVocabSplits * kVocabSplit, kVocab);
    plan.tokenTile = plan.memory.panelWidth = kPanel;
    plan.isSplit = options.gradients == PlanOptions::Gradients::Split;
    plan.code = kernelObject();
    plan.projections = {{"z", kHidden, ElementType::F32, ElementType::F32, ElementType::F32}};
    addInputs();
    addBuffers();
    addForward();
    if (options.gradients != PlanOptions::Gradients::None)
      addGradients();
    return plan;
  }

private:
  bool keepsAll() const { return options.storedVocabSplits == kVocabSplits; }
  Scope knownScope() const { return plan.isSplit ? Scope::Saved : Scope::Chunk; }

  // ---- buffers
  BufferPlan &buffer(const std::string &name, BufferRole role, int64_t owner, Scope scope, int64_t rows, int64_t columns = 1,
                     ElementType element = ElementType::F32, Layout layout = Layout::Strided) {
    BufferPlan buffer;
    buffer.name = name;
    buffer.role = role;
    buffer.owner = owner;
    buffer.scope = scope;
    buffer.layout = layout;
    buffer.element = element;
    buffer.rows = rows;
    buffer.columns = columns;
    plan.buffers.push_back(buffer);
    return plan.buffers.back();
  }
  /// By the names above, which only this file knows.
  int64_t indexOf(const std::string &name) const {
    return std::ranges::find(plan.buffers, name, &BufferPlan::name) - plan.buffers.begin();
  }
  void addInputs() {
    using Kind = InputKind;
    plan.inputs = {{Kind::Token, "target", 0, ElementType::I32, true},
                   {Kind::Token, "alpha", 0, ElementType::F32, false},
                   {Kind::Scalar, "beta", 0, ElementType::F32, false},
                   {Kind::Vocab, "bias", 0, ElementType::F32, false},
                   {Kind::Dense, "mask", 0, ElementType::F32, false}};
    if (options.hasWeight)
      plan.inputs.push_back({Kind::Vocab, "class_weight", 0, ElementType::F32, false});
  }
  enum Inputs { Target, Alpha, Beta, Bias, Mask, ClassWeight }; // as in addInputs
  void addBuffers() {
    using enum BufferRole;
    constexpr ElementType kInt = ElementType::I32;
    buffer("z_hidden", Hidden, 0, Scope::Input, -1, kHidden);
    buffer("z_weight", Weight, 0, Scope::Input, kVocab, kHidden);
    buffer("mask", Input, Mask, Scope::Input, -1, kVocab);
    buffer("tokens_map", TokenMap, -1, Scope::Call, -1, 1, kInt).inForward = true;
    plan.buffers.back().inBackward = true;
    buffer("map_z_hidden", HiddenMap, 0, Scope::Call, -1, 1, kInt);
    buffer("map_mask", InputMap, Mask, Scope::Call, -1, 1, kInt);
    buffer("target", Input, Target, Scope::Call, -1, 1, kInt);
    buffer("alpha", Input, Alpha, Scope::Call, -1);
    buffer("beta", Input, Beta, Scope::Call, 1);
    buffer("bias", Input, Bias, Scope::Call, kVocab);
    if (options.hasWeight)
      buffer("class_weight", Input, ClassWeight, Scope::Call, kVocab);
    buffer("known_loss", Result, -1, Scope::Call, -1);
    buffer("known_weight", Result, -1, Scope::Call, -1);
    buffer("known_next", Result, -1, Scope::Call, -1, 1, kInt);
    buffer("known_even", Result, -1, Scope::Call, -1, 1, ElementType::Bool);
    buffer("known_lse", Result, -1, knownScope(), -1);
    buffer("known_nll", Result, -1, knownScope(), -1);
    for (const char *name : {"state_max", "state_sum", "state_pick"})
      buffer(name, RowState, -1, Scope::Chunk, kVocabSplits, -1);
    buffer("packed_z_rows", PackedRows, 0, Scope::Chunk, -1, kHidden, ElementType::F32, Layout::RowPanels);
    Scope storedScope = plan.isSplit ? Scope::Saved : Scope::Chunk;
    buffer("stored_z", Stored, 0, storedScope, -1, kVocab, ElementType::F32, Layout::ColumnMajor);
    if (!keepsAll())
      plan.buffers.back().window = options.storedVocabSplits * kVocabSplit;
    addGradientBuffers();
  }
  void addGradientBuffers() {
    using enum BufferRole;
    buffer("cotangent_loss", Cotangent, 0, Scope::Call, -1);
    for (const char *name : {"known_dalpha", "known_dbeta"})
      buffer(name, Result, -1, Scope::Call, -1);
    buffer("known_scale", Result, -1, Scope::Chunk, -1);
    buffer("grad_z", LogitGradient, 0, Scope::Chunk, -1, kVocab, ElementType::F32, Layout::ColumnMajor);
    if (options.group == 0)
      plan.buffers.back().alias = indexOf("stored_z");
    else if (options.group < kVocabSplits)
      plan.buffers.back().window = options.group * kVocabSplit;
    buffer("blocks_bias", InputBlocks, Bias, Scope::Chunk, -1, kVocab).tokensPerRow = 8;
    buffer("sum_bias", InputSum, Bias, Scope::Call, 1, kVocab);
    buffer("sum_z_hidden", HiddenSum, 0, Scope::Chunk, -1, kHidden);
    buffer("gradient_z_hidden", HiddenGradient, 0, Scope::Output, -1, kHidden);
    buffer("gradient_z_weight", WeightGradient, 0, Scope::Output, kVocab, kHidden);
    buffer("gradient_mask", InputGradient, Mask, Scope::Output, -1, kVocab);
  }

  // ---- kernels and steps
  enum class Grid { Tokens, TokensAndVocabSplits, VocabSplits, One };
  /// A launch, and its kernel where it is new.
  StepPlan launch(Phase phase, const std::string &name, Grid grid, const std::vector<std::string> &arguments, int64_t vocabSplitFirst = -1,
                  int64_t vocabSplitEnd = -1) {
    StepPlan step;
    step.vocabSplitFirst = vocabSplitFirst;
    step.vocabSplitEnd = vocabSplitEnd;
    step.kernel = static_cast<int64_t>(plan.kernels.size());
    KernelPlan kernel;
    kernel.name = name;
    kernel.scratchBytes = kVocabSplit * 4;
    constexpr int64_t kTaskTokens = 8;
    GridAxis tokens{{true, ScalarRole::Tokens, 0}, {false, ScalarRole::Tokens, 1}, kTaskTokens};
    GridAxis vocabSplits{{false, ScalarRole::VocabSplitFirst, 1}, {false, ScalarRole::VocabSplitEnd, 1}, 1};
    if (grid == Grid::Tokens || grid == Grid::TokensAndVocabSplits)
      kernel.grid.push_back(tokens);
    if (grid == Grid::VocabSplits || grid == Grid::TokensAndVocabSplits)
      kernel.grid.push_back(vocabSplits);
    for (const std::string &argument : arguments)
      kernel.arguments.push_back(argumentOf(argument, phase));
    plan.kernels.push_back(kernel);
    return step;
  }
  ArgumentPlan argumentOf(const std::string &name, Phase phase) {
    const std::pair<const char *, ScalarRole> scalars[] = {{"tokens", ScalarRole::Tokens},
                                                           {"vocab_split_first", ScalarRole::VocabSplitFirst},
                                                           {"vocab_split_end", ScalarRole::VocabSplitEnd},
                                                           {"accumulate_tokens", ScalarRole::AccumulateTokens},
                                                           {"accumulate_vocab_splits", ScalarRole::AccumulateVocabSplits}};
    for (auto [word, kind] : scalars)
      if (name == word)
        return {false, -1, kind};
    int64_t index = indexOf(name);
    for (int64_t used = index; used >= 0; used = plan.buffers[used].alias)
      (phase == Phase::Backward ? plan.buffers[used].inBackward : plan.buffers[used].inForward) = true;
    return {true, index, ScalarRole::Tokens};
  }
  std::vector<std::string> with(std::vector<std::string> first, const std::vector<std::string> &rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }
  StepPlan loop(StepKind kind, int64_t step, int64_t first, int64_t end, std::vector<StepPlan> body) {
    StepPlan planned;
    planned.kind = kind;
    planned.step = step;
    planned.first = first;
    planned.end = end;
    planned.body = std::move(body);
    return planned;
  }

  const std::vector<std::string> logits{"packed_z_rows", "z_weight", "bias", "mask", "map_mask"};

  void addForward() {
    plan.outputs = {{"loss", ElementType::F32, indexOf("known_loss"), options.gradients != PlanOptions::Gradients::None,
                     OutputPlan::Role::Loss}};
    std::vector<StepPlan> steps;
    if (options.hasWeight) {
      plan.outputs.push_back({"weight", ElementType::F32, indexOf("known_weight"), false, OutputPlan::Role::Weight});
      StepPlan weigh = launch(Phase::Prologue, "weigh", Grid::Tokens, {"tokens", "target", "class_weight", "known_weight"});
      (options.isWeightLate ? steps : plan.prologue).push_back(weigh);
    }
    if (options.hasIndex) {
      plan.outputs.push_back({"next", ElementType::I32, indexOf("known_next"), false});
      plan.outputs.push_back({"even", ElementType::Bool, indexOf("known_even"), false});
      plan.checkedIndices = {indexOf("known_next")};
      plan.prologue.push_back(launch(Phase::Prologue, "compute_index", Grid::Tokens, {"tokens", "target", "known_next", "known_even"}));
    }
    steps.push_back(launch(Phase::Forward, "pack", Grid::Tokens, {"tokens", "map_z_hidden", "z_hidden", "packed_z_rows"}));
    std::vector<std::string> sweep =
        with({"tokens", "vocab_split_first", "vocab_split_end"}, with(logits, {"target", "state_max", "state_sum", "state_pick"}));
    if (options.storedVocabSplits > 0)
      steps.push_back(
          launch(Phase::Forward, "sweep_keep", Grid::TokensAndVocabSplits, with(sweep, {"stored_z"}), 0, options.storedVocabSplits));
    if (options.storedVocabSplits < kVocabSplits)
      steps.push_back(launch(Phase::Forward, "sweep", Grid::TokensAndVocabSplits, sweep, options.storedVocabSplits, kVocabSplits));
    steps.push_back(launch(Phase::Forward, "finish", Grid::Tokens,
                           {"tokens", "state_max", "state_sum", "state_pick", "alpha", "beta", "known_loss", "known_lse", "known_nll"}));
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
    Phase phase = plan.isSplit ? Phase::Backward : Phase::Forward;
    std::vector<StepPlan> steps;
    if (plan.isSplit)
      steps.push_back(launch(phase, "pack", Grid::Tokens, {"tokens", "map_z_hidden", "z_hidden", "packed_z_rows"}));
    steps.push_back(launch(phase, "coefficients", Grid::Tokens,
                           {"tokens", "cotangent_loss", "alpha", "known_nll", "known_scale", "known_dalpha", "known_dbeta"}));
    if (options.group == 0) {
      steps.push_back(gradient(phase, true, 0, kVocabSplits));
      steps.push_back(launch(phase, "hidden_whole", Grid::Tokens, {"tokens", "tokens_map", "grad_z", "z_weight", "gradient_z_hidden"}));
      steps.push_back(weight(phase, 0, kVocabSplits));
    } else {
      addGroups(phase, steps);
      steps.push_back(launch(phase, "round_hidden", Grid::Tokens, {"tokens", "tokens_map", "sum_z_hidden", "gradient_z_hidden"}));
    }
    steps.push_back(launch(phase, "sum_blocks", Grid::One, {"tokens", "accumulate_tokens", "blocks_bias", "sum_bias"}));
    if (plan.isSplit) {
      plan.backward = chunked(std::move(steps));
    } else {
      forwardSteps.insert(forwardSteps.end(), steps.begin(), steps.end());
      plan.forward = chunked(forwardSteps);
    }
    nameGradients();
  }
  void addGroups(Phase phase, std::vector<StepPlan> &steps) {
    for (bool kept : {true, false}) {
      int64_t first = kept ? 0 : options.storedVocabSplits, end = kept ? options.storedVocabSplits : kVocabSplits;
      if (first == end)
        continue;
      std::vector<std::string> hidden{"tokens", "vocab_split_first", "vocab_split_end", "accumulate_vocab_splits",
                                      "grad_z", "z_weight",          "sum_z_hidden"};
      steps.push_back(loop(StepKind::VocabSplitLoop, options.group, first, end,
                           {gradient(phase, kept, -1, -1), launch(phase, first > 0 ? "hidden_more" : "hidden_part", Grid::Tokens, hidden),
                            weight(phase, -1, -1)}));
    }
  }
  StepPlan gradient(Phase phase, bool kept, int64_t first, int64_t end) {
    std::vector<std::string> arguments{"tokens",    "vocab_split_first", "vocab_split_end", "tokens_map",  "target",
                                       "known_lse", "known_scale",       "grad_z",          "blocks_bias", "gradient_mask"};
    return launch(phase, kept ? "gradient_stored" : "gradient_project", Grid::TokensAndVocabSplits,
                  with(arguments, kept ? std::vector<std::string>{"stored_z"} : logits), first, end);
  }
  StepPlan weight(Phase phase, int64_t first, int64_t end) {
    return launch(phase, options.accumulates ? "weight_more" : "weight", Grid::VocabSplits,
                  {"tokens", "vocab_split_first", "vocab_split_end", "accumulate_tokens", "grad_z", "packed_z_rows", "gradient_z_weight"},
                  first, end);
  }
  void nameGradients() {
    using Kind = GradientPlan::Kind;
    using Part = OperandPart;
    auto add = [&](Kind kind, Part part, int64_t number, const char *owner, const char *buffer) {
      plan.gradients.push_back({kind, part, owner, number, ElementType::F32, {indexOf(buffer)}, false});
    };
    add(Kind::Direct, Part::Hidden, 0, "z", "gradient_z_hidden");
    add(Kind::Direct, Part::Weight, 0, "z", "gradient_z_weight");
    plan.gradients.back().accumulates = options.accumulates;
    add(Kind::Direct, Part::Input, Mask, "mask", "gradient_mask");
    add(Kind::Vocab, Part::Input, Bias, "bias", "sum_bias");
    add(Kind::Token, Part::Input, Alpha, "alpha", "known_dalpha");
    add(Kind::Scalar, Part::Input, Beta, "beta", "known_dbeta");
  }

  const PlanOptions options;
  LaunchPlan plan;
  std::vector<StepPlan> forwardSteps;
};
} // namespace

LaunchPlan test::makePlan(const PlanOptions &options) { return PlanMaker(options).run(); }
