// Launches.cpp - the launches of a schedule, in the order in which they run.
#include "compiler/Schedule/BuildPlan.h"
#include "compiler/Target/Backend.h"
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

Attribute ScheduleBuilder::number(int64_t value) const { return dimension(ProgramOp(problem.program).getContext(), value); }

LaunchOp ScheduleBuilder::launch(OpBuilder &b, const Twine &kernel, Purpose purpose, Values values, Views views) {
  ProgramOp program = problem.program;
  bool inParts = llvm::any_of(values, [](const auto &value) { return value.first == kParts; });
  TemplateOp source = templates->choose(purpose, problem.target->backend.prefix(), inParts);
  if (!source) {
    program.emitOpError() << "needs a template for " << stringifyPurpose(purpose) << (inParts ? " in parts" : "")
                          << ", and none serves " << problem.target->name();
    lacksTemplate = true;
  }
  SmallVector<NamedAttribute> bindings;
  for (auto [name, value] : values)
    if (source && llvm::is_contained(source.getParams(), b.getStringAttr(name)))
      bindings.push_back(b.getNamedAttr(name, value));
  // A loss may be called like one of its kernels, and both are symbols of the module.
  std::string name = kernel.str() == program.getSymName() ? (kernel + "_kernel").str() : kernel.str();
  auto op = LaunchOp::create(b, program.getLoc(), name, source ? source.getSymName() : "", b.getDictionaryAttr(bindings));
  if (!views.empty())
    op.setViewsAttr(viewsOf(source, views));
  return op;
}

DictionaryAttr ScheduleBuilder::viewsOf(TemplateOp source, Views views) const {
  Builder b(ProgramOp(problem.program).getContext());
  SmallVector<NamedAttribute> named;
  for (const auto &[name, key] : views)
    if (source && llvm::is_contained(source.getRoles(), b.getStringAttr(name))) {
      BufferOp buffer = emitted[numbers.at({key.role, key.owner, key.number.value_or(-1)})];
      named.push_back(b.getNamedAttr(name, FlatSymbolRefAttr::get(buffer)));
    }
  return b.getDictionaryAttr(named);
}
static FlatSymbolRefAttr symbolOf(Operation *op) { return FlatSymbolRefAttr::get(SymbolTable::getSymbolName(op)); }

LogicalResult ScheduleBuilder::emit(int64_t first, int64_t end) {
  ProgramOp program = problem.program;
  templates = std::make_unique<TemplateLibrary>(program.getContext());
  OpBuilder b = OpBuilder::atBlockEnd(&program.getBody().front());
  int64_t stored = std::min(choice.storedVocabSplits * problem.vocabSplit, problem.columns);
  auto schedule = ScheduleOp::create(b, program.getLoc(), first, end, problem.vocabSplit, stored);
  b.setInsertionPointToEnd(&schedule.getBody().emplaceBlock());
  emitBuffers(b);
  auto openRun = [&](Phase phase) {
    b.setInsertionPointToEnd(&schedule.getBody().front());
    auto run = RunOp::create(b, program.getLoc(), phase);
    b.setInsertionPointToEnd(&run.getBody().emplaceBlock());
    return run;
  };
  auto openLoop = [&](int64_t chunk) {
    if (chunk == 0)
      return;
    auto loop = LoopOp::create(b, program.getLoc(), Axis::Tokens, chunk, IntegerAttr(), IntegerAttr());
    b.setInsertionPointToEnd(&loop.getBody().emplaceBlock());
  };
  bool copies = llvm::any_of(problem.projections, [&](const ProjectionProblem &projection) { return copiesWeight(projection); });
  if (copies || !problem.finishesAfter(SweepOp(), Phase::Prologue).empty()) {
    openRun(Phase::Prologue);
    emitPrologue(b);
  }
  RunOp run = openRun(Phase::Forward);
  openLoop(problem.isSplit() ? choice.forwardChunk : choice.chunk);
  emitForward(b);
  if (!problem.makesGradients())
    return failure(lacksTemplate);
  if (problem.isSplit()) {
    run = openRun(Phase::Backward);
    openLoop(choice.chunk);
  }
  emitBackward(b);
  b.setInsertionPointToEnd(&run.getBody().front());
  if (choice.keepsGradients) {
    emitPackedColumns(b);
    emitContractions(b, "", /*whole=*/true, Accumulate::Never);
  }
  emitEnd(b);
  return failure(lacksTemplate);
}

// ---- buffers ------------------------------------------------------------------------------------

/// What people read for a buffer: its owner and a word for what it holds.
static std::string nameOf(BufferKey key, Operation *part) {
  std::string owner = key.owner.str(), ofNumber = key.number ? "_" + std::to_string(*key.number) : "";
  switch (key.role) {
  case BufferRole::Hidden: return owner + "_hidden";
  case BufferRole::Weight: return owner + "_weight";
  case BufferRole::HiddenMap: return "map_" + owner + "_hidden";
  case BufferRole::RoundedWeight: return "rounded_" + owner + "_weight";
  case BufferRole::PackedRows: return "packed_" + owner + "_rows";
  case BufferRole::ScaledHidden: return "scaled_" + owner + "_hidden";
  case BufferRole::PackedColumns: return "packed_" + owner + "_columns";
  case BufferRole::Stored: return "stored_" + owner;
  case BufferRole::Centre: return "centre_" + owner;
  case BufferRole::LogitGradient: return "grad_" + owner;
  case BufferRole::HiddenGradient: return "gradient_" + owner + "_hidden";
  case BufferRole::WeightGradient: return "gradient_" + owner + "_weight";
  case BufferRole::HiddenSum: return "sum_" + owner + "_hidden";
  case BufferRole::WeightSum: return "sum_" + owner + "_weight";
  case BufferRole::Input: return owner + ofNumber;
  case BufferRole::InputMap: return "map_" + owner;
  case BufferRole::InputBlocks: return "blocks_" + owner;
  case BufferRole::InputSum: return "sum_" + owner;
  case BufferRole::InputGradient: return "gradient_" + owner;
  case BufferRole::Cotangent:
    return "cotangent_" + owner;
  case BufferRole::RowState:
    return "state_" + owner + "_" + cast<StringAttr>(cast<SweepOp>(part).getStateNames()[*key.number]).str();
  case BufferRole::RowList: return "list_" + owner + ofNumber;
  case BufferRole::RowPick: return "picked_" + owner + ofNumber;
  case BufferRole::Result:
    return "known_" + cast<StringAttr>(cast<FinishOp>(part).getResultNames()[*key.number]).str();
  case BufferRole::TokenMap: return "tokens_map";
  case BufferRole::TokenSlots: return "tokens_slots";
  case BufferRole::WrongTokens: return "tokens_wrong";
  case BufferRole::SliceOffset: return "slice_offset";
  case BufferRole::CallFacts: return "call_facts";
  }
  llvm_unreachable("a role without a word");
}

void ScheduleBuilder::emitBuffers(OpBuilder &b) {
  auto schedule = cast<ScheduleOp>(b.getInsertionBlock()->getParentOp());
  SymbolTable symbols(schedule);
  for (auto [buffer, plan] : llvm::zip_equal(buffers, plans)) {
    auto [key, type] = buffer;
    bool isOfPart = llvm::is_contained({BufferRole::RowState, BufferRole::RowList, BufferRole::RowPick, BufferRole::Result}, key.role);
    bool hasOwner = !key.owner.empty();
    Operation *part = isOfPart ? SymbolTable::lookupSymbolIn(ProgramOp(problem.program), key.owner) : nullptr;
    std::string name = nameOf(key, part);
    std::replace_if(name.begin(), name.end(), [](char c) { return !llvm::isAlnum(c) && c != '_'; }, '_');
    Attribute owner = !hasOwner ? Attribute() : part ? Attribute(symbolOf(part)) : b.getStringAttr(key.owner);
    auto number = [&](std::optional<int64_t> value) { return value ? b.getI64IntegerAttr(*value) : IntegerAttr(); };
    auto alias = plan.alias >= 0 ? FlatSymbolRefAttr::get(emitted[plan.alias]) : FlatSymbolRefAttr();
    auto op = BufferOp::create(b, ProgramOp(problem.program).getLoc(), name, plan.scope, key.role, owner, number(key.number), alias,
                               number(plan.window > 0 ? std::optional(plan.window) : std::nullopt), plan.tokensPerRow, type);
    symbols.insert(op); // gives another name where two buffers have the same
    emitted.push_back(op);
  }
}

// ---- forward ------------------------------------------------------------------------------------

void ScheduleBuilder::emitPack(OpBuilder &b, const ProjectionProblem &projection, bool rows, StringRef suffix) {
  launch(b, "pack_" + projection.name + (rows ? "_rows" : "_columns") + suffix, Purpose::Pack,
         {{"TM", number(problem.panelWidth)},
          {"D", number(projection.hidden)},
          {"in", type(projection.hiddenElement)},
          {"op", type(projection.operand)}},
         {{"source", {BufferRole::Hidden, projection.name}},
          {"map", {BufferRole::HiddenMap, projection.name}},
          {"packed", {rows ? BufferRole::PackedRows : BufferRole::PackedColumns, projection.name}}});
}

void ScheduleBuilder::emitPrologue(OpBuilder &b) {
  for (const ProjectionProblem &projection : problem.projections) {
    if (!copiesWeight(projection))
      continue;
    launch(b, "round_" + projection.name + "_operand", Purpose::Round,
           {{"TN", number(problem.tiles.TN)},
            {"TD", number(problem.tiles.TD)},
            {"D", number(projection.hidden)},
            {"in", type(projection.weightElement)},
            {"tile", type(projection.operand)},
            {"out", type(projection.operand)}},
           {{"source", {BufferRole::Weight, projection.name}}, {"out", weightOf(projection)}});
  }
  emitFinishes(b, SweepOp(), Phase::Prologue);
}

void ScheduleBuilder::emitForward(OpBuilder &b) {
  for (const ProjectionProblem &projection : problem.projections)
    if (!problem.forwardSweeps.empty() || problem.makesGradients())
      emitPack(b, projection, /*rows=*/true, "");
  emitReference(b);
  for (auto [i, sweep] : llvm::enumerate(problem.forwardSweeps)) {
    emitSweep(b, sweep, /*makesStored=*/i == 0);
    emitFinishes(b, sweep, Phase::Forward);
  }
}

/// What exponentials are stored relative to, from one tile of columns.
void ScheduleBuilder::emitReference(OpBuilder &b) {
  if (!problem.referenceSweep)
    return;
  FinishOp finish = problem.finishesAfter(problem.referenceSweep, Phase::Forward).front();
  LaunchOp op = launch(b, finish.getSymName(), Purpose::Reference,
                       {{"TM", number(problem.tiles.TM)},
                        {"TN", number(problem.tiles.TN)},
                        {"TK", number(projectDepth())},
                        {"acc", type(b.getF32Type())}});
  op.setAlgorithm(projectAlgorithm());
  op.setSweepAttr(symbolOf(problem.referenceSweep));
  op.setFinishAttr(symbolOf(finish));
  op.setVocabSplits(ArrayRef<int64_t>{0, 1});
}

/// Tiles that have a token whose reference was too low are made and stored once more. The finish of
/// the sweep knows these tokens.
void ScheduleBuilder::emitRepair(OpBuilder &b) {
  // Few enough tasks to end at once, and enough of them for a single tile of tokens.
  constexpr int64_t kGroup = 4;
  ReferenceAttr reference = GradientOp(problem.gradient).getReferenceAttr();
  LaunchOp op = launch(b, "repair", Purpose::Repair,
                       {{"TM", number(problem.tiles.TM)},
                        {"TN", number(problem.tiles.TN)},
                        {"TK", number(projectDepth())},
                        {"GROUP", number(kGroup)},
                        {"acc", type(b.getF32Type())}},
                       {{"raised", bufferOf(reference.getRaised())}});
  op.setAlgorithm(projectAlgorithm(/*sharesOperands=*/false));
}

/// Hidden states for the gradient of the head, each times the factor of its token.
void ScheduleBuilder::emitScale(OpBuilder &b, const ProjectionProblem &projection) {
  AdjointOp adjoint = GradientOp(problem.gradient).factoredAdjoint();
  launch(b, "scale_" + projection.name + "_hidden", Purpose::Scale,
         {{"TM", number(rowsOfStored())},
          {"TD", number(problem.gradientColumns(projection))},
          {"D", number(projection.hidden)},
          {"in", type(projection.hiddenElement)},
          {"op", type(projection.operand)}},
         {{"source", {BufferRole::Hidden, projection.name}},
          {"map", {BufferRole::HiddenMap, projection.name}},
          {"factor", bufferOf(adjoint.getFactor())},
          {"scaled", {BufferRole::ScaledHidden, projection.name}}});
}

/// The logits of one projection, before the sweep that reads them.
void ScheduleBuilder::emitProject(OpBuilder &b, const ProjectionProblem &projection, StringRef suffix) {
  const TileSizes &tiles = *problem.tilesApart;
  LaunchOp op = launch(b, "project_" + projection.name + suffix, Purpose::Project,
                       {{"TM", number(tiles.TM)},
                        {"TN", number(tiles.TN)},
                        {"TK", number(depthOf(tiles.TKproject, projection.operand))},
                        {"D", number(projection.hidden)},
                        {"in", type(weightElement(projection))},
                        {"op", type(projection.operand)},
                        {"acc", type(b.getF32Type())}},
                       {{"hidden", {BufferRole::PackedRows, projection.name}},
                        {"weight", weightOf(projection)},
                        {"stored", {BufferRole::Stored, projection.name}}});
  op.setAlgorithm(apartAlgorithm(projection));
  if (choice.storedVocabSplits < problem.vocabSplits)
    op.setVocabSplits(ArrayRef<int64_t>{0, choice.storedVocabSplits});
}

/// Over the vocabulary splits that are stored, and over those that are not.
void ScheduleBuilder::emitSweep(OpBuilder &b, SweepOp sweep, bool makesStored) {
  Attribute f32 = type(b.getF32Type());
  bool hasStored = choice.storedVocabSplits > 0, hasRest = choice.storedVocabSplits < problem.vocabSplits;
  for (bool stored : {true, false}) {
    if (stored ? !hasStored : !hasRest)
      continue;
    StringRef suffix = stored && hasRest ? "_stored" : "";
    bool isApart = stored && makesStored && problem.tilesApart;
    for (const ProjectionProblem &projection : problem.projections)
      if (isApart)
        emitProject(b, projection, suffix);
    bool projects = !stored || (makesStored && !isApart);
    int64_t rows = projects ? problem.tiles.TM : rowsOfStored(), columns = projects ? problem.tiles.TN : columnsOfStored();
    SmallVector<std::pair<StringRef, Attribute>> values{
        {"TM", number(rows)}, {"TN", number(columns)}, {"TK", number(projectDepth())}, {"GROUP", number(groupOf(sweep))}, {"acc", f32}};
    LaunchOp op = launch(b, sweep.getSymName() + suffix, Purpose::Sweep, values);
    if (projects)
      op.setAlgorithm(projectAlgorithm());
    op.setSweepAttr(symbolOf(sweep));
    op.setStore(stored && projects);
    if (hasStored && hasRest)
      op.setVocabSplits(ArrayRef<int64_t>{stored ? 0 : choice.storedVocabSplits, stored ? choice.storedVocabSplits : problem.vocabSplits});
  }
}

void ScheduleBuilder::emitFinishes(OpBuilder &b, SweepOp sweep, Phase phase) {
  for (FinishOp finish : problem.finishesAfter(sweep, phase)) {
    Purpose purpose = finish.isOfList() ? Purpose::ListFinish : finish.isOfPlaces() ? Purpose::PlaceFinish : Purpose::Finish;
    int64_t rows = finish.isOfList() ? problem.tiles.TM : rowsOfStored();
    LaunchOp op = launch(b, finish.getSymName(), purpose, {{"TM", number(rows)}});
    op.setFinishAttr(symbolOf(finish));
    if (finish.getSweepAttr())
      op.setSweepAttr(finish.getSweepAttr());
    if (problem.raisesReferences(finish))
      emitRepair(b);
  }
}

// ---- backward -----------------------------------------------------------------------------------

void ScheduleBuilder::emitBackward(OpBuilder &b) {
  for (const ProjectionProblem &projection : problem.projections)
    if (packsRowsAgain(projection))
      emitPack(b, projection, /*rows=*/true, "_again");
  emitFinishes(b, SweepOp(), Phase::Backward);
  for (SweepOp sweep : problem.backwardSweeps) {
    emitSweep(b, sweep, /*makesStored=*/false);
    emitFinishes(b, sweep, Phase::Backward);
  }
  if (!choice.keepsGradients)
    emitPackedColumns(b);
  for (const ProjectionProblem &projection : problem.projections)
    if (projection.wantsWeight && problem.isFactored())
      emitScale(b, projection);
  emitGradient(b);
  if (problem.fusedSweep)
    emitFinishes(b, problem.fusedSweep, Phase::Fused);
  // Vocab inputs: blocks of tokens, then sparse terms, added to what earlier chunks left.
  Attribute f32 = type(b.getF32Type());
  for (GradientOp gradient : ProgramOp(problem.program).getBody().getOps<GradientOp>())
    for (AdjointOp adjoint : gradient.getBody().getOps<AdjointOp>()) {
      if (adjoint.getKind() != InputKind::Vocab)
        continue;
      LaunchOp op = launch(b, "sum_" + adjoint.getName(), Purpose::VocabGradient,
                           {{"TM", number(problem.tiles.TM)}, {"TN", number(problem.tiles.TN)}, {"acc", f32}},
                           {{"partial", {BufferRole::InputBlocks, adjoint.getName()}}, {"out", {BufferRole::InputSum, adjoint.getName()}}});
      op.setInput(adjoint.getName());
      op.setAccumulate(hasManyChunks() ? Accumulate::Tokens : Accumulate::Never);
    }
}

/// Hidden states for the gradients of heads, on targets that pack operands.
void ScheduleBuilder::emitPackedColumns(OpBuilder &b) {
  for (const ProjectionProblem &projection : problem.projections)
    if (projection.wantsWeight && problem.facts.packsOperands)
      emitPack(b, projection, /*rows=*/false, "");
}

void ScheduleBuilder::emitGradient(OpBuilder &b) {
  if (!problem.gradient)
    return;
  if (problem.isFactored()) {
    emitContractions(b, "", /*whole=*/true, Accumulate::Never);
    return;
  }
  if (choice.inPlace()) {
    emitGradientPart(b, "", /*stored=*/true, 0, problem.vocabSplits);
    if (!choice.keepsGradients)
      emitContractions(b, "", /*whole=*/true, Accumulate::Never);
    return;
  }
  // In groups of vocabulary splits: those that are stored, then the others.
  for (bool stored : {true, false}) {
    int64_t first = stored ? 0 : choice.storedVocabSplits, end = stored ? choice.storedVocabSplits : problem.vocabSplits;
    if (first == end)
      continue;
    OpBuilder::InsertionGuard guard(b);
    auto loop = LoopOp::create(b, ProgramOp(problem.program).getLoc(), Axis::VocabSplits, choice.group, b.getI64IntegerAttr(first),
                               b.getI64IntegerAttr(end));
    b.setInsertionPointToEnd(&loop.getBody().emplaceBlock());
    StringRef suffix = stored && end < problem.vocabSplits ? "_stored" : "";
    emitGradientPart(b, suffix, stored, -1, -1);
    emitContractions(b, suffix, /*whole=*/false, first > 0 ? Accumulate::Always : Accumulate::VocabSplits);
  }
  for (const ProjectionProblem &projection : problem.projections) {
    if (!projection.wantsHidden)
      continue;
    HiddenTile tile = hiddenTile(projection);
    LaunchOp op = launch(b, "round_" + projection.name + "_hidden", Purpose::HiddenEnd,
                         {{"TM", number(tile.tokens)},
                          {"TD", number(tile.hidden)},
                          {"D", number(projection.hidden)},
                          {"in", type(weightElement(projection))},
                          {"acc", type(b.getF32Type())},
                          {"out", type(projection.hiddenGradient)}},
                         {{"sum", {BufferRole::HiddenSum, projection.name}},
                          {"weight", weightOf(projection)},
                          {"out", {BufferRole::HiddenGradient, projection.name}}});
    op.setInput(projection.name);
  }
}

void ScheduleBuilder::emitGradientPart(OpBuilder &b, StringRef suffix, bool stored, int64_t first, int64_t end) {
  int64_t rows = stored && !hasVocabGradients() ? rowsOfStored() : problem.tiles.TM;
  LaunchOp op = launch(b, "gradient" + suffix, Purpose::Gradient,
                       {{"TM", number(rows)},
                        {"TN", number(stored ? columnsOfStored() : problem.tiles.TN)},
                        {"TK", number(projectDepth())},
                        {"CENTRE", number(problem.tiles.TN)},
                        {"acc", type(b.getF32Type())}});
  if (!stored)
    op.setAlgorithm(projectAlgorithm());
  if (problem.fusedSweep)
    op.setSweepAttr(symbolOf(problem.fusedSweep));
  if (first >= 0)
    op.setVocabSplits(ArrayRef<int64_t>{first, end});
}

/// dX in parts of the vocabulary, and their sum. Threads have two tiles of that at a time, so it is
/// of fewer tokens.
void ScheduleBuilder::emitHiddenParts(OpBuilder &b, const ProjectionProblem &projection) {
  constexpr int64_t kTokensOfSum = 32;
  HiddenTile tile = hiddenTile(projection);
  SmallVector<std::pair<StringRef, Attribute>> common{{"TD", number(tile.hidden)},
                                                      {kParts, number(hiddenParts(projection))},
                                                      {"WIDTH", number(partWidth(projection))},
                                                      {"ROW", number(hiddenSumColumns(projection))},
                                                      {"D", number(projection.hidden)},
                                                      {"in", type(weightElement(projection))}};
  auto ofParts = common, ofSum = common;
  ofParts.append({{"TM", number(tile.tokens)},
                  {"TK", number(hiddenDepth(projection))},
                  {"acc", type(b.getF32Type())},
                  {"ENTRIES", number(problem.entriesOfPart(hiddenParts(projection)))},
                  {"g", type(projection.operand)}});
  LaunchOp parts = launch(b, projection.name + "_hidden", Purpose::HiddenGradient, ofParts,
                          {{"grad", {BufferRole::LogitGradient, projection.name}},
                           {"weight", weightOf(projection)},
                           {"sum", {BufferRole::HiddenSum, projection.name}}});
  parts.setAlgorithm(hiddenAlgorithm(projection));
  parts.setInput(projection.name);
  ofSum.append({{"TM", number(kTokensOfSum)}, {"out", type(projection.hiddenGradient)}});
  LaunchOp sum = launch(b, "join_" + projection.name + "_hidden", Purpose::HiddenEnd, ofSum,
                        {{"sum", {BufferRole::HiddenSum, projection.name}},
                         {"weight", weightOf(projection)},
                         {"out", {BufferRole::HiddenGradient, projection.name}}});
  sum.setInput(projection.name);
}

/// dX and dW of every projection that needs them, from its gradient: of the whole vocabulary, or of
/// a group of vocabulary splits.
void ScheduleBuilder::emitContractions(OpBuilder &b, StringRef suffix, bool whole, Accumulate accumulate) {
  Attribute f32 = type(b.getF32Type());
  for (const ProjectionProblem &projection : problem.projections) {
    SmallVector<std::pair<StringRef, Attribute>> common{{"D", number(projection.hidden)}, {"g", type(projection.operand)}, {"acc", f32}};
    if (whole && hiddenParts(projection) > 1) {
      emitHiddenParts(b, projection);
    } else if (projection.wantsHidden) {
      auto bindings = common;
      HiddenTile tile = hiddenTile(projection);
      bindings.append({{"TM", number(tile.tokens)},
                       {"TD", number(tile.hidden)},
                       {"TK", number(hiddenDepth(projection))},
                       {"in", type(weightElement(projection))},
                       {"out", whole ? type(projection.hiddenGradient) : f32}});
      LaunchOp op = launch(b, projection.name + "_hidden" + suffix, Purpose::HiddenGradient, bindings,
                           {{"grad", {BufferRole::LogitGradient, projection.name}},
                            {"weight", weightOf(projection)},
                            {"out", {whole ? BufferRole::HiddenGradient : BufferRole::HiddenSum, projection.name}}});
      op.setAlgorithm(hiddenAlgorithm(projection));
      op.setInput(projection.name);
      op.setPart(!whole);
      if (!whole)
        op.setAccumulate(accumulate);
    }
    if (projection.wantsWeight) {
      bool sums = sumsWeight(projection);
      auto bindings = common;
      WeightTile tile = weightTile(projection);
      bindings.append({{"TN", number(tile.columns)}, {"TD", number(tile.hidden)},
                       {"TK", number(depthOf(problem.tiles.TKweight, projection.operand))}, {"op", type(projection.operand)},
                       {"out", sums ? f32 : type(projection.weightGradient)}});
      LaunchOp op = launch(b, projection.name + "_weight" + suffix, Purpose::WeightGradient, bindings,
                           {{"grad", {BufferRole::LogitGradient, projection.name}},
                            {"hidden", hiddenOfWeight(projection)},
                            {"unscaled", hiddenOfTerms(projection)},
                            {"out", {sums ? BufferRole::WeightSum : BufferRole::WeightGradient, projection.name}}});
      op.setAlgorithm(weightAlgorithm(projection));
      op.setInput(projection.name);
      bool accumulates = problem.request.getAccumulate();
      op.setAccumulate(accumulates ? Accumulate::Always : sumsChunks() ? Accumulate::Tokens : Accumulate::Never);
    }
  }
}

/// After the last chunk: what was summed in f32 is rounded.
void ScheduleBuilder::emitEnd(OpBuilder &b) {
  for (const ProjectionProblem &projection : problem.projections) {
    if (!sumsWeight(projection))
      continue;
    launch(b, "round_" + projection.name + "_weight", Purpose::Round,
           {{"TN", number(problem.tiles.TN)},
            {"TD", number(problem.tiles.TD)},
            {"D", number(projection.hidden)},
            {"in", type(b.getF32Type())},
            {"tile", type(b.getF32Type())},
            {"out", type(projection.weightGradient)}},
           {{"source", {BufferRole::WeightSum, projection.name}}, {"out", {BufferRole::WeightGradient, projection.name}}});
  }
}
