// Problem.cpp - reads program and request into a scheduling problem.
#include "compiler/Transforms/ChooseSchedule/Problem.h"
#include "compiler/Target/Backend.h"
#include "compiler/Transforms/HalfLogits/StoredBase.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>
using namespace mlir;
using namespace logitile;

/// Logits that the regions of 'op' read, and that its sweeps go along.
static void collectPairs(Operation *op, SmallVectorImpl<StringRef> &names) {
  auto add = [&](StringRef name) {
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  };
  op->walk([&](Operation *part) {
    if (auto input = dyn_cast<InputOp>(part); input && input.getKind() == InputKind::Logits)
      add(input.getName());
    auto sweep = dyn_cast<SweepOp>(part);
    if (sweep && sweep.getAlong())
      add(*sweep.getAlong());
    for (PickAttr pick : sweep ? sweep.listPicks() : SmallVector<PickAttr>())
      add(pick.getLogits());
  });
}
SmallVector<StringRef> Problem::pairsOf(ArrayRef<Operation *> parts) const {
  SmallVector<StringRef> names;
  for (Operation *part : parts)
    if (part)
      collectPairs(part, names);
  return names;
}

/// Schedules are tried by the hundred: none of them walks through the program for this.
void Problem::collectReads() {
  for (OutputAttr output : program.getOutputs().getAsRange<OutputAttr>())
    knownOfCall.insert(output.getResult());
  for (Attribute result : program.getChecked())
    knownOfCall.insert(result);
  llvm::DenseSet<std::tuple<InputKind, StringRef, int64_t>> seen;
  program.walk([&](InputOp input) {
    bool needsMemory = input.getKind() != InputKind::Logits;
    if (needsMemory && seen.insert({input.getKind(), input.getName(), input.getIndex().value_or(-1)}).second)
      inputs.push_back(input);
  });
  program.walk([&](PickedOp picked) {
    if (auto finish = picked->getParentOfType<FinishOp>(); !finish || finish.getPhase() > Phase::Forward)
      picksInBackward.insert({picked.getSource().getFinish().getValue(), picked.getSource().getNumber()});
  });
  program.walk([&](SweepOp sweep) {
    for (PickAttr pick : sweep.listPicks())
      if (auto index = dyn_cast<ResultAttr>(pick.getIndex()); index && sweep.getPhase() > Phase::Forward)
        knownInBackward.insert(index);
  });
  program.walk([&](KnownOp known) {
    auto finish = known->getParentOfType<FinishOp>();
    auto sweep = known->getParentOfType<SweepOp>();
    bool forward = (finish && finish.getPhase() <= Phase::Forward) || (sweep && sweep.getPhase() == Phase::Forward);
    if (!forward)
      knownInBackward.insert(known.getSource());
    for (Operation *user : known->getUsers())
      if (auto adjoint = dyn_cast<AdjointOp>(user))
        if (adjoint.getKind() == InputKind::Token || adjoint.getKind() == InputKind::Scalar)
          knownOfCall.insert(known.getSource());
  });
}

bool Problem::raisesReferences(FinishOp finish) const {
  ReferenceAttr reference = gradient ? GradientOp(gradient).getReferenceAttr() : ReferenceAttr();
  return reference && reference.getRaised().getFinish().getValue() == finish.getSymName();
}

std::optional<int64_t> Problem::placesOf(FinishOp finish) const {
  if (!finish.givesLists())
    return std::nullopt;
  return finish.countPlaces();
}

SmallVector<FinishOp> Problem::finishesAfter(SweepOp sweep, Phase phase) const {
  // A finish belongs to the sweep before it, whether it takes its state or only what the finish of
  // that state left.
  SmallVector<FinishOp> finishes;
  SweepOp current;
  for (Operation &op : ProgramOp(program).getBody().front()) {
    if (auto next = dyn_cast<SweepOp>(op))
      current = next;
    auto finish = dyn_cast<FinishOp>(op);
    if (!finish || finish.getPhase() != phase)
      continue;
    bool ownsSweep = current && current.getPhase() == phase;
    if ((ownsSweep ? current : SweepOp()) == sweep)
      finishes.push_back(finish);
  }
  return finishes;
}

bool Problem::hasCentres(const ProjectionProblem &projection) const {
  bool isCapped = !forwardSweeps.empty() && StoredBase::tanhOf(SweepOp(forwardSweeps.front()).getCandidate().front());
  return !projection.storedElement.isF32() && !isCapped;
}

/// The type of a gradient: that of its input, unless the request says otherwise.
static Type gradientType(GradientAttr wanted, Type input) { return wanted && wanted.getElement() ? wanted.getElement() : input; }

/// Tiles of logits and of Dense inputs that a kernel may hold at a time.
static int64_t tilesAtATime(ProgramOp program, RequestAttr request) {
  llvm::StringSet<> dense;
  program.walk([&](InputOp input) {
    if (input.getKind() == InputKind::Dense)
      dense.insert(input.getName());
  });
  return std::max<int64_t>(request.getProjections().size() + dense.size(), 1);
}

/// The tiles of logits of kernels that hold so many tiles at a time.
static LogitTiles logitTiles(const Problem &problem, int64_t tilesAtATime) {
  LogitTiles tiles;
  tiles.count = tilesAtATime;
  for (ProjectionAttr projection : problem.request.getProjections())
    tiles.operands.push_back(projection.getElement());
  tiles.columns = problem.tiles.TN;
  tiles.drawsRandomNumbers = ProgramOp(problem.program).walk([](UniformOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return tiles;
}

/// Logits are made apart if that saves more than reading them in the first sweep takes. All of them
/// have to be stored as they are. Not where another number of chunks would make the logits again,
/// in other tiles: the order of the sums of a sweep follows from its tiles.
void Problem::compareApart(int64_t tilesAtATime) {
  if (!facts.hasFixedTiles || tilesAtATime == 1 || projections.empty())
    return;
  std::string error;
  std::optional<TileSizes> apart = findTileSizes(*target, 1, {}, error);
  if (!apart)
    return;
  LogitTiles together = logitTiles(*this, tilesAtATime), alone = together;
  alone.count = 1;
  alone.drawsRandomNumbers = false;
  apart->TN = std::min(apart->TN, target->limitLogitColumns(alone).most);
  alone.columns = apart->TN;
  slowdownOfLogits = std::max(1.0, target->rateShareOfLogits(alone) / target->rateShareOfLogits(together));
  double saved = 0, paid = 0; // seconds for each token and vocabulary entry
  for (const ProjectionProblem &projection : projections) {
    double rate = machine.flops * (projection.operand.isF32() ? 1 : machine.speedOf16Bit);
    saved += 2.0 * projection.hidden / rate * (slowdownOfLogits - 1);
    paid += 4 / machine.memoryRate;
  }
  auto isStored = [](const ProjectionProblem &projection) { return projection.isReadAgain && projection.storedElement.isF32(); };
  if (saved > paid && !mayBeMadeAgain() && !isFactored() && !forwardSweeps.empty() && llvm::all_of(projections, isStored))
    tilesApart = apart;
}

/// Elements as kernels read them from memory.
static Type readAs(Type memory, Type value) { return memory == value ? memory : RoundedType::get(memory.getContext(), memory, value); }

static TileChoice tileChoice(RequestAttr request) {
  TileChoice choice;
  for (NamedAttribute tile : request.getTiles() ? request.getTiles().getValue() : ArrayRef<NamedAttribute>())
    choice[tile.getName().str()] = cast<IntegerAttr>(tile.getValue()).getInt();
  return choice;
}

/// What stored logits are rounded to: 16 bits, where errors of an exponent are no more than those
/// of the operands, and where gradients of as many bits then lie over them. Operands of f16 have
/// errors that are smaller than that. Not where another number of chunks would make the logits
/// again: bits do not depend on that number.
static Type storedElement(const Problem &problem, const ProjectionProblem &projection) {
  MLIRContext *context = problem.request.getContext();
  bool isExponential = problem.gradient && GradientOp(problem.gradient).getExponential();
  bool hasGradient = projection.wantsHidden || projection.wantsWeight;
  bool halves = projection.operand.isBF16() && hasGradient && isExponential && !problem.mayBeMadeAgain();
  return halves ? Type(Float16Type::get(context)) : Type(Float32Type::get(context));
}

/// Vocabulary splits are what tasks are made of: enough of them for the units, whole tiles each.
/// Their number does not depend on the number of tokens, so neither do the bits of a row among the
/// calls of one program.
void Problem::splitVocabulary(int64_t finer) {
  constexpr int64_t kLeast = 16; // splits
  // Units without work wait for the last tasks. Where each task is for one unit, shorter tasks make
  // that wait shorter.
  const int64_t most = facts.isFilledByOneVocabSplit ? 64 : 128;
  int64_t wanted = std::clamp<int64_t>(4 * machine.units, kLeast, most);
  int64_t unit = std::lcm(std::lcm(tiles.TN, weightRows()), tilesApart ? tilesApart->TN : 1);
  if (facts.isFilledByOneVocabSplit) {
    vocabSplit = llvm::alignTo(llvm::divideCeil(columns, finer * wanted), unit);
  } else {
    // Short splits spend their time on what begins and ends them: they have a few tiles, unless too
    // few splits are left then.
    constexpr int64_t kTiles = 4;
    int64_t coarse = llvm::divideCeil(columns, kLeast), fine = llvm::divideCeil(columns, std::max(wanted, kLeast * finer));
    int64_t least = std::min(coarse, finer == 1 ? kTiles * tiles.TN : tiles.TN);
    vocabSplit = llvm::alignTo(std::max(fine, least), unit);
  }
  vocabSplits = llvm::divideCeil(columns, vocabSplit);
  leastGroup = facts.isFilledByOneVocabSplit ? 1 : llvm::divideCeil(vocabSplits, kLeast * finer);
}

FailureOr<Problem> Problem::get(ProgramOp program, RequestAttr request, int64_t finer) {
  Problem problem;
  problem.program = program;
  problem.request = request;
  std::string error;
  problem.target = findTarget(request.getTarget(), error);
  if (!problem.target)
    return program.emitOpError() << "cannot be scheduled: " << error;
  problem.facts = problem.target->facts();
  problem.machine = problem.target->machine(request.getThreads());
  int64_t atATime = tilesAtATime(program, request);
  TileChoice wanted = tileChoice(request);
  std::optional<TileSizes> tiles = findTileSizes(*problem.target, atATime, wanted, error);
  if (!tiles)
    return program.emitOpError() << error;
  problem.tiles = *tiles;
  ColumnLimit limit = problem.target->limitLogitColumns(logitTiles(problem, atATime));
  if (wanted.contains("TN") && problem.tiles.TN > limit.most)
    return program.emitOpError() << "cannot have tiles of TN=" << problem.tiles.TN << " columns: where " << StringRef(limit.reason) << " on '"
                                 << problem.target->name() << "', registers have room for " << limit.most
                                 << " (tiles that a kernel holds: " << atATime << "); take TN=" << limit.most << " or less";
  problem.tiles.TN = std::min(problem.tiles.TN, limit.most);
  problem.panelWidth = problem.facts.memory.panelWidth;

  problem.columns = program.getWidth();

  SweepOp referenceSweep = findReferenceSweep(program);
  for (Operation &op : program.getBody().front()) {
    if (auto sweep = dyn_cast<SweepOp>(op)) {
      if (!sweep.getPlaces().empty() && !problem.facts.makesLists)
        return sweep.emitOpError() << "has lists, which kernels of target '" << problem.target->name() << "' do not make";
      if (sweep == referenceSweep)
        problem.referenceSweep = sweep;
      else if (sweep.getPhase() == Phase::Fused)
        problem.fusedSweep = sweep;
      else
        (sweep.getPhase() == Phase::Forward ? problem.forwardSweeps : problem.backwardSweeps).push_back(sweep);
    }
    if (auto gradient = dyn_cast<GradientOp>(op)) {
      bool perElement = llvm::any_of(gradient.getBody().getOps<AdjointOp>(), [](AdjointOp adjoint) {
        return adjoint.getKind() != InputKind::Token && adjoint.getKind() != InputKind::Scalar;
      });
      if (!problem.gradient && (perElement || problem.fusedSweep))
        problem.gradient = gradient;
    }
  }
  SmallVector<Operation *> again;
  for (SweepOp sweep : llvm::drop_begin(problem.forwardSweeps, problem.forwardSweeps.empty() ? 0 : 1))
    again.push_back(sweep);
  for (Operation *op : problem.backwardSweeps)
    again.push_back(op);
  again.push_back(problem.fusedSweep ? problem.fusedSweep.getOperation() : nullptr);
  again.push_back(problem.gradient && !problem.isFactored() ? problem.gradient.getOperation() : nullptr);
  SmallVector<StringRef> readAgain = problem.pairsOf(again), used = problem.pairsOf(program.getOperation());

  for (ProjectionAttr projection : request.getProjections()) {
    ProjectionProblem part;
    part.name = projection.getName();
    part.hidden = projection.getHidden();
    Type element = projection.getElement(), hidden = projection.getHiddenMemory(), weight = projection.getWeightMemory();
    bool dots = element.isBF16() ? problem.facts.multipliesBF16 : element.isF16() && problem.facts.multipliesF16;
    part.hiddenElement = readAs(hidden, element);
    part.weightElement = readAs(weight, element);
    part.operand = dots ? element : Type(Float32Type::get(program.getContext()));
    GradientAttr ofHidden = request.findGradient(OperandPart::Hidden, projection.getName());
    GradientAttr ofWeight = request.findGradient(OperandPart::Weight, projection.getName());
    part.wantsHidden = bool(ofHidden);
    part.wantsWeight = bool(ofWeight);
    part.hiddenGradient = gradientType(ofHidden, hidden);
    part.weightGradient = gradientType(ofWeight, weight);
    part.isReadAgain = llvm::is_contained(readAgain, part.name);
    part.storedElement = storedElement(problem, part);
    problem.projections.push_back(part);
  }
  problem.compareApart(atATime);
  problem.splitVocabulary(finer);
  problem.collectReads();
  for (StringRef name : used)
    if (llvm::none_of(problem.projections, [&](const ProjectionProblem &projection) { return projection.name == name; }))
      return program.emitOpError() << "reads logits '" << name << "', which the request has no projection for";
  if (!request.getGradients().empty() && problem.projections.empty())
    return program.emitOpError() << "makes gradients but has no projection";
  return problem;
}
