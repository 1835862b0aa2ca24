// Buffers.cpp - the memory that a schedule needs: what is stored, packed, summed, and for how long.
#include "compiler/Schedule/BuildPlan.h"
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

ViewType ScheduleBuilder::view(ArrayRef<int64_t> dims, Type element, Layout layout) const {
  MLIRContext *context = element.getContext();
  SmallVector<Attribute> extents = llvm::map_to_vector(dims, [&](int64_t dim) { return dimension(context, dim); });
  return ViewType::get(context, extents, element, layout);
}

void ScheduleBuilder::declare(BufferKey key, Scope scope, Use use, ViewType type) {
  if (!numbers.try_emplace({key.role, key.owner, key.number.value_or(-1)}, plans.size()).second)
    return;
  buffers.push_back({key, type});
  plans.push_back(makeBufferPlan(key.role, scope, type));
  plans.back().inForward = use & Forward;
  plans.back().inBackward = use & Backward;
}

/// Whether the backward phase has to make logits again.
bool ScheduleBuilder::projectsInBackward() const { return problem.isSplit() && choice.storedVocabSplits < problem.vocabSplits; }

/// Whether the backward phase reads packed rows: of logits, or where panels are not packed, of
/// weight gradients.
bool ScheduleBuilder::packsRowsAgain(const ProjectionProblem &projection) const {
  return projectsInBackward() || (problem.isSplit() && projection.wantsWeight && !problem.facts.packsOperands);
}

/// Whether kernels read a rounded copy of the head: they round on the way to packed panels, or
/// cannot.
bool ScheduleBuilder::copiesWeight(const ProjectionProblem &projection) const {
  return !problem.facts.packsOperands && isa<RoundedType>(projection.weightElement);
}
BufferKey ScheduleBuilder::weightOf(const ProjectionProblem &projection) const {
  return {copiesWeight(projection) ? BufferRole::RoundedWeight : BufferRole::Weight, projection.name};
}
Type ScheduleBuilder::weightElement(const ProjectionProblem &projection) const {
  return copiesWeight(projection) ? projection.operand : projection.weightElement;
}

/// The hidden states that weight gradients read: those that are products with the factors of tokens
/// lie beside the others.
BufferKey ScheduleBuilder::hiddenOfWeight(const ProjectionProblem &projection) const {
  return problem.isFactored() ? BufferKey{BufferRole::ScaledHidden, projection.name} : hiddenOfTerms(projection);
}
BufferKey ScheduleBuilder::hiddenOfTerms(const ProjectionProblem &projection) const {
  return {problem.facts.packsOperands ? BufferRole::PackedColumns : BufferRole::PackedRows, projection.name};
}

/// Whether gradients take the place of the stored logits. A 16-bit gradient beside f32 logits
/// starts at half the offset of its logit. So the gradients of a later tile of tokens would
/// overwrite logits that another task, with an earlier tile, may still read.
bool ScheduleBuilder::liesOverLogits(const ProjectionProblem &projection) const {
  bool isOneTile = choice.chunk > 0 && choice.chunk <= problem.tiles.TM && problem.facts.tokensAreLanes;
  bool sameBits = projection.operand.getIntOrFloatBitWidth() == projection.storedElement.getIntOrFloatBitWidth();
  return choice.inPlace() && !choice.keepsGradients && projection.isReadAgain && (sameBits || isOneTile);
}

/// 16-bit gradients of many chunks are summed in f32 first.
bool ScheduleBuilder::sumsWeight(const ProjectionProblem &projection) const {
  return projection.wantsWeight && sumsChunks() && !projection.weightGradient.isF32();
}

void ScheduleBuilder::declareBuffers() {
  declareInputs();
  declareKnown();
  Type f32 = Float32Type::get(ProgramOp(problem.program).getContext());
  constexpr int64_t kTokens = ShapedType::kDynamic;
  for (SweepOp sweep : problem.forwardSweeps)
    declareRows(sweep, Forward);
  for (const ProjectionProblem &projection : problem.projections) {
    if (copiesWeight(projection))
      declare(weightOf(projection), problem.isSplit() ? Scope::Saved : Scope::Call, Both,
              view({problem.columns, projection.hidden}, projection.operand));
    bool isOfProducts = projection.wantsWeight && !problem.facts.packsOperands;
    declare({BufferRole::PackedRows, projection.name}, isOfProducts ? scopeOfProducts() : Scope::Chunk, packsRowsAgain(projection) ? Both : Forward,
            view({kTokens, projection.hidden}, projection.operand,
                 problem.facts.packsOperands && !problem.hasFewTokens() ? Layout::RowPanels : Layout::Strided));
    if (choice.storedVocabSplits > 0 && projection.isReadAgain) {
      Scope scope = problem.isSplit() ? Scope::Saved : Scope::Chunk;
      declare({BufferRole::Stored, projection.name}, scope, Both,
              view({kTokens, problem.columns}, projection.storedElement, logitLayout()));
      if (choice.storedVocabSplits < problem.vocabSplits)
        last().window = choice.storedVocabSplits * problem.vocabSplit;
      if (problem.hasCentres(projection))
        declare({BufferRole::Centre, projection.name}, scope, Both,
                view({int64_t(llvm::divideCeil(problem.columns, problem.tiles.TN)), kTokens}, f32));
    }
  }
  if (problem.makesGradients())
    declareGradients();
}

void ScheduleBuilder::declareRows(SweepOp sweep, Use use) {
  int64_t group = groupOf(sweep), groups = llvm::divideCeil(problem.vocabSplits, group);
  for (auto [slot, type] : llvm::enumerate(sweep.getStateTypes().getAsValueRange<TypeAttr>()))
    declare({BufferRole::RowState, sweep.getSymName(), slot}, Scope::Chunk, use,
            view({groups * group, ShapedType::kDynamic}, type)); // the last group may have fewer splits
  Type word = IntegerType::get(sweep.getContext(), 64);
  for (auto [list, places] : llvm::enumerate(sweep.getPlaces()))
    declare({BufferRole::RowList, sweep.getSymName(), list}, Scope::Chunk, use, view({ShapedType::kDynamic, groups * places}, word));
  for (auto [number, pick] : llvm::enumerate(sweep.listPicks())) {
    BufferKey key{BufferRole::RowPick, sweep.getSymName(), static_cast<int64_t>(number)};
    bool isSaved = problem.isSplit() && use == Forward && problem.picksInBackward.contains({sweep.getSymName(), key.number.value()});
    declare(key, isSaved ? Scope::Saved : scopeOfProducts(), isSaved ? Both : use,
            view({ShapedType::kDynamic, pick.getPlaces()}, Float32Type::get(sweep.getContext()), Layout::ColumnMajor));
  }
}

/// Memory of the caller, and the runtime's copies of small inputs: 32 bits or a byte each, tokens
/// that count only.
void ScheduleBuilder::declareInputs() {
  MLIRContext *context = ProgramOp(problem.program).getContext();
  constexpr int64_t kTokens = ShapedType::kDynamic;
  for (const ProjectionProblem &projection : problem.projections) {
    declare({BufferRole::Hidden, projection.name}, Scope::Input, Both, view({kTokens, projection.hidden}, projection.hiddenElement));
    declare({BufferRole::Weight, projection.name}, Scope::Input, Both,
            view({problem.columns, projection.hidden}, projection.weightElement));
    declare({BufferRole::HiddenMap, projection.name}, Scope::Call, Both, view({kTokens}, IntegerType::get(context, 32)));
  }
  declare({BufferRole::TokenMap}, Scope::Call, Both, view({kTokens}, IntegerType::get(context, 32)));
  if (!problem.facts.sharesHostMemory)
    declareFacts();
  for (const InputOp &read : problem.inputs) {
    InputOp input = read;
    BufferKey key = bufferOf(input);
    Type element = input.getType();
    switch (input.getKind()) {
    case InputKind::Token:
      declare(key, Scope::Call, Both,
              input.getPlaces() ? view({kTokens, *input.getPlaces()}, element, Layout::ColumnMajor) : view({kTokens}, element));
      break;
    case InputKind::Cotangent:
      declare(key, Scope::Call, problem.isSplit() ? Backward : Both, view({kTokens}, element));
      break;
    case InputKind::Vocab: declare(key, Scope::Call, Both, view({problem.columns}, element)); break;
    case InputKind::Scalar:
    case InputKind::SliceOffset: declare(key, Scope::Call, Both, view({1}, element)); break;
    case InputKind::Dense: {
      auto given = problem.request.getDense().getAs<TypeAttr>(input.getName());
      declare({BufferRole::InputMap, input.getName()}, Scope::Call, Both, view({kTokens}, IntegerType::get(context, 32)));
      declare(key, Scope::Input, Both, view({kTokens, problem.columns}, given ? given.getValue() : element));
      break;
    }
    case InputKind::Logits:
    case InputKind::TokenIndex: // the token map
      break;
    }
  }
  for (FinishOp finish : ProgramOp(problem.program).getBody().getOps<FinishOp>())
    declareGivenLists(finish);
}

/// Values and indices of the lists of other programs.
void ScheduleBuilder::declareGivenLists(FinishOp finish) {
  if (!finish.getGiven())
    return;
  MLIRContext *context = finish.getContext();
  for (auto [number, input] : llvm::enumerate(finish.getGiven()->getAsValueRange<StringAttr>())) {
    Type element = number % 2 == 0 ? Type(Float32Type::get(context)) : IntegerType::get(context, 32);
    declare({BufferRole::Input, input}, Scope::Call, Both, view({ShapedType::kDynamic, finish.countPlaces()}, element, Layout::ColumnMajor));
  }
}

/// What devices with their own memory find out about tokens themselves. The backward phase divides
/// by what the forward phase has counted.
void ScheduleBuilder::declareFacts() {
  Type i32 = IntegerType::get(ProgramOp(problem.program).getContext(), 32);
  constexpr int64_t kFactWords = 16;
  declare({BufferRole::CallFacts}, problem.isSplit() ? Scope::Saved : Scope::Call, Both, view({kFactWords}, i32));
  declare({BufferRole::TokenSlots}, Scope::Call, Both, view({ShapedType::kDynamic}, i32));
  declare({BufferRole::WrongTokens}, Scope::Call, Both, view({ShapedType::kDynamic}, i32));
}

/// Results of finishes: of the call where the runtime reads them, saved where the backward phase
/// does, else as long as products with gradients, which read some of them for sparse terms.
void ScheduleBuilder::declareKnown() {
  for (FinishOp finish : ProgramOp(problem.program).getBody().getOps<FinishOp>()) {
    bool forward = finish.getPhase() <= Phase::Forward, prologue = finish.getPhase() == Phase::Prologue;
    for (auto [number, type] : llvm::enumerate(finish.getResultTypes().getAsValueRange<TypeAttr>())) {
      auto result = ResultAttr::get(FlatSymbolRefAttr::get(finish), number);
      bool saved = problem.isSplit() && forward && problem.knownInBackward.contains(result);
      Scope scope = saved                                              ? Scope::Saved
                          : prologue || problem.knownOfCall.contains(result) ? Scope::Call
                                                                             : scopeOfProducts();
      Use use = !problem.isSplit() || saved ? Both : forward ? Forward : Backward;
      SmallVector<int64_t, 2> extents{ShapedType::kDynamic};
      if (std::optional<int64_t> places = problem.placesOf(finish))
        extents.push_back(*places);
      // Tokens are neighbours in lists that only kernels read, as they are in lists that are
      // inputs.
      bool isInternal = extents.size() == 2 && !problem.knownOfCall.contains(result);
      declare(bufferOf(result), scope, use, view(extents, type, isInternal ? Layout::ColumnMajor : Layout::Strided));
    }
  }
}

void ScheduleBuilder::declareGradients() {
  MLIRContext *context = ProgramOp(problem.program).getContext();
  Type f32 = Float32Type::get(context);
  constexpr int64_t kTokens = ShapedType::kDynamic;
  Use use = problem.isSplit() ? Backward : Both;
  for (SweepOp sweep : problem.backwardSweeps)
    declareRows(sweep, use);
  if (problem.fusedSweep)
    declareRows(problem.fusedSweep, use);
  for (const ProjectionProblem &projection : problem.projections) {
    if (!projection.wantsHidden && !projection.wantsWeight)
      continue;
    bool isSaved = problem.isFactored() && problem.isSplit();
    declare({BufferRole::LogitGradient, projection.name}, isSaved ? Scope::Saved : scopeOfProducts(), isSaved ? Both : use,
            view({kTokens, problem.columns}, projection.operand, logitLayout()));
    if (liesOverLogits(projection))
      last().alias = numbers.at({BufferRole::Stored, projection.name, -1});
    else if (!choice.inPlace() && choice.group < problem.vocabSplits)
      last().window = choice.group * problem.vocabSplit;
    if (projection.wantsHidden)
      declare({BufferRole::HiddenGradient, projection.name}, Scope::Output, use,
              view({kTokens, projection.hidden}, projection.hiddenGradient));
    if (sumsHidden(projection))
      declare({BufferRole::HiddenSum, projection.name}, scopeOfProducts(), use, view({kTokens, hiddenSumColumns(projection)}, f32));
    if (projection.wantsWeight) {
      if (problem.facts.packsOperands)
        declare({BufferRole::PackedColumns, projection.name}, scopeOfProducts(), use,
                view({kTokens, projection.hidden}, projection.operand, Layout::ColumnPanels));
      if (problem.isFactored())
        declare({BufferRole::ScaledHidden, projection.name}, Scope::Chunk, use,
                view({kTokens, projection.hidden}, projection.operand));
      declare({BufferRole::WeightGradient, projection.name}, Scope::Output, use,
              view({problem.columns, projection.hidden}, projection.weightGradient));
    }
    if (sumsWeight(projection))
      declare({BufferRole::WeightSum, projection.name}, Scope::Call, use, view({problem.columns, projection.hidden}, f32));
  }
  for (GradientOp gradient : ProgramOp(problem.program).getBody().getOps<GradientOp>())
    for (AdjointOp adjoint : gradient.getBody().getOps<AdjointOp>()) {
      if (adjoint.getKind() == InputKind::Vocab) {
        declare({BufferRole::InputBlocks, adjoint.getName()}, Scope::Chunk, use, view({kTokens, problem.columns}, f32));
        last().tokensPerRow = problem.tiles.TM;
        declare({BufferRole::InputSum, adjoint.getName()}, Scope::Call, use, view({1, problem.columns}, f32));
      }
      if (adjoint.getKind() == InputKind::Dense) {
        auto given = problem.request.getDense().getAs<TypeAttr>(adjoint.getName());
        declare({BufferRole::InputGradient, adjoint.getName()}, Scope::Output, use,
                view({kTokens, problem.columns}, given ? given.getValue() : f32));
      }
    }
}

/// An upper bound of what a kernel needs beside its buffers, for each thread: tiles of logits and
/// gradients, blocks of operands. The conversion must stay below it.
int64_t ScheduleBuilder::scratchBytes() const {
  if (!problem.facts.sharesHostMemory) // it is the device's own memory
    return 0;
  const TileSizes &t = problem.tiles;
  int64_t projections = problem.projections.size(), tile = t.TM * t.TN * 4;
  int64_t sweep = (2 * projections + 2) * tile + t.TN * (t.TKproject + 16) * 4;
  int64_t contraction = 0;
  for (const ProjectionProblem &projection : problem.projections) {
    HiddenTile hidden = hiddenTile(projection);
    WeightTile weight = weightTile(projection);
    if (problem.hasFewTokens())
      sweep += kDotRows * (dotCopyStride(projection.hidden) + kDotTokens * problem.panelWidth) * 4;
    contraction = std::max(contraction, weight.columns * (weight.hidden + t.TKweight + 32) * 4);
    contraction = std::max(contraction, (hidden.tokens + t.TKhidden) * (hidden.hidden + 16) * 4 + t.TKhidden * (hidden.tokens + 32) * 4);
  }
  constexpr int64_t kRows = 256 * 1024; // row state, per-token values, and candidates of maxima of a tile
  return std::max(sweep, contraction) + kRows;
}

int64_t ScheduleBuilder::workspace(int64_t tokens) const {
  auto chunkOf = [&](int64_t chunk) { return chunk == 0 ? tokens : chunkTokens(tokens, chunk, problem.panelWidth); };
  WorkspaceLayout forward =
      layoutWorkspace(plans, tokens, chunkOf(problem.isSplit() ? choice.forwardChunk : choice.chunk), problem.facts.memory, false);
  int64_t phase = forward.phaseBytes;
  if (problem.isSplit())
    phase = std::max(phase, layoutWorkspace(plans, tokens, chunkOf(choice.chunk), problem.facts.memory, true).phaseBytes);
  return forward.savedBytes + phase + scratchBytes() * problem.request.getThreads();
}
