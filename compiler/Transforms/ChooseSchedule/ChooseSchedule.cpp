// ChooseSchedule.cpp - the pass that decides what is stored and what is recomputed, within the byte
// budget. Cost.cpp has the cost of a choice, Buffers.cpp and Launches.cpp its IR.
#include "compiler/Passes.h"
#include "compiler/Support/SizeText.h"
#include "compiler/Target/Backend.h"
#include "compiler/Target/ModuleTarget.h"
#include "compiler/Transforms/ChooseSchedule/Problem.h"
#include "compiler/Transforms/FactorGradient/FactorGradient.h"
#include "compiler/Transforms/JoinFinishes.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CHOOSESCHEDULEPASS
#include "compiler/Passes.h.inc"

namespace {
/// A choice and the numbers of tokens that it serves.
struct Candidate {
  Choice choice;
  int64_t first = 0, end = INT64_MAX;
  double seconds = 0;
};

class Chooser {
public:
  explicit Chooser(const Problem &problem) : problem(problem), tokens(problem.request.getTokens()), budget(problem.request.getWorkspace()) {}

  /// The quickest schedule within the budget, if there is one.
  std::optional<Candidate> run() const {
    if (int64_t chunks = problem.request.getChunks(); chunks > 0) {
      Candidate given{inChunks(chunks == 1 ? 0 : -chunks)};
      given.seconds = ScheduleBuilder(problem, given.choice).seconds(tokens);
      return narrowed(given);
    }
    SmallVector<Candidate> candidates;
    for (const Choice &shape : shapes())
      if (std::optional<Candidate> fitted = fit(shape))
        candidates.push_back(*fitted);
    if (candidates.empty())
      return std::nullopt;
    Candidate best = *llvm::min_element(candidates, [](const Candidate &a, const Candidate &b) { return a.seconds < b.seconds; });
    best.first = 1 + mostForWhole(best.choice);
    return narrowed(best);
  }

  /// The most tokens, fewer than those asked for, that the budget lets be one chunk in which
  /// nothing is made twice.
  int64_t mostAtOnce() const {
    Choice whole = shapes().front();
    whole.hasParts = false;
    return largest(1, tokens - 1, [&](int64_t count) { return bytes(whole, count) <= budget; });
  }

  /// Bytes of the smallest budget that has a schedule for 'count' tokens. A single chunk may take
  /// less than many: chunks of tokens have float32 sums of the weight's gradient.
  int64_t leastBytes(int64_t count) const {
    int64_t least = INT64_MAX;
    for (const Choice &shape : shapes()) {
      least = std::min(least, bytes(shape, count));
      if (!keepsAcrossPhases(shape) && leastChunk(shape) <= std::max(count, problem.chunkUnit()))
        least = std::min(least, bytes(withChunk(shape, leastChunk(shape)), count));
    }
    return least;
  }
  /// The most tokens, fewer than those asked for, that the budget has a schedule for.
  int64_t mostTokens() const {
    return largest(1, tokens - 1, [&](int64_t count) { return leastBytes(count) <= budget; });
  }

private:
  /// Few tokens have kernels of their own: no program serves both them and more. The same holds for
  /// parts of the vocabulary.
  Candidate narrowed(Candidate candidate) const {
    int64_t more = problem.mostFewTokens() + 1;
    if (problem.hasFewTokens())
      candidate.end = std::min(candidate.end, more);
    else
      candidate.first = std::max<int64_t>(candidate.first, more);
    candidate.first = std::max(candidate.first, ScheduleBuilder(problem, candidate.choice).leastTokensOfLists());
    if (problem.makesGradients() && candidate.choice.inPlace()) {
      auto [first, end] = problem.tokensAlike();
      candidate.first = std::max(candidate.first, first);
      candidate.end = std::min(candidate.end, end);
    }
    return candidate;
  }
  /// Whether there is a sweep that makes logits which a later pass reads; of a slice, a program has
  /// the one or the other.
  bool needsLogitsAgain() const {
    return !problem.forwardSweeps.empty() &&
           llvm::any_of(problem.projections, [](const ProjectionProblem &projection) { return projection.isReadAgain; });
  }
  /// With a number of chunks asked for, everything of a chunk is stored: bits do not depend on the
  /// number.
  Choice inChunks(int64_t chunk) const {
    Choice choice;
    choice.chunk = choice.forwardChunk = chunk;
    bool keeps = problem.isFactored() || (needsLogitsAgain() && !(problem.isSplit() && chunk != 0));
    choice.storedVocabSplits = keeps ? problem.vocabSplits : 0;
    choice.group = !problem.makesGradients() || problem.isFactored() ? 0 : problem.isSplit() || !keeps ? problem.vocabSplits : 0;
    choice.hasParts = problem.makesGradients() && choice.inPlace() && problem.hasHiddenParts(problem.mostTokensAlike());
    return choice;
  }

  /// The kinds of schedule, without their sizes.
  SmallVector<Choice> shapes() const {
    int64_t all = problem.vocabSplits;
    if (!problem.makesGradients()) {
      SmallVector<Choice> shapes{{0, 0, 0, 0}};
      if (needsLogitsAgain())
        shapes.push_back({0, 0, all, 0});
      return shapes;
    }
    SmallVector<Choice> shapes;
    bool keeps = !problem.forwardSweeps.empty();
    for (bool hasParts : {true, false})
      if (keeps && (!problem.isSplit() || problem.isFactored()) && (!hasParts || problem.hasHiddenParts(problem.mostTokensAlike())))
        shapes.push_back({0, 0, all, 0, hasParts}); // gradients in the place of the stored logits
    if (keepsLessThanLogits())
      for (bool hasParts : {true, false})
        if (!hasParts || problem.hasHiddenParts(problem.mostTokensAlike()))
          shapes.push_back({0, 0, all, 0, hasParts, /*keepsGradients=*/true});
    if (problem.isFactored())
      return shapes;
    // Stored from forward to backward, all or a part of the vocabulary, with gradients beside them:
    // few vocabulary splits at a time, so that they stay in the caches until they are contracted,
    // or where that does not fill the units, more of them.
    int64_t eighth = (all + 7) / 8, quarter = (all + 3) / 4, least = problem.leastGroup;
    SmallVector<int64_t> few{least}, any{all, quarter, least};
    if (!problem.facts.isFilledByOneVocabSplit) {
      few.append({eighth, quarter});
      any.insert(any.begin() + 2, eighth);
    }
    for (int64_t stored : {all, all * 7 / 8, all * 3 / 4, all / 2, all / 4})
      for (int64_t group : few)
        if (keeps && stored > 0 && (stored < all || problem.isSplit()))
          shapes.push_back({0, 0, stored, group});
    for (int64_t group : any)
      shapes.push_back({0, 0, 0, group}); // logits computed again
    return shapes;
  }

  /// Whether gradients of logits of all tokens, beside the logits of a chunk, may take less memory
  /// than the logits of all tokens. A gradient that waits for what reaches the loss keeps none.
  bool keepsLessThanLogits() const {
    auto isSmaller = [](const ProjectionProblem &projection) {
      bool hasGradient = projection.wantsHidden || projection.wantsWeight;
      return hasGradient && projection.isReadAgain && projection.operand.getIntOrFloatBitWidth() < projection.storedElement.getIntOrFloatBitWidth();
    };
    return !problem.forwardSweeps.empty() && !problem.isSplit() && !problem.isFactored() && llvm::any_of(problem.projections, isSmaller);
  }

  int64_t bytes(const Choice &choice, int64_t count) const { return ScheduleBuilder(problem, choice).workspace(count); }

  /// The most tokens that are better served by another program than that of 'choice': one that
  /// takes all tokens at once and makes nothing twice. It has to fit the budget and to be predicted
  /// as faster. 'choice' leaves these calls to the other program, so that a call has the same
  /// program whichever of the two was compiled first. Less than 0 where there are none.
  int64_t mostForWhole(const Choice &choice) const {
    Choice whole = shapes().front();
    whole.hasParts = false; // takes less, and fewer tokens may have none
    ScheduleBuilder builder(problem, whole);
    int64_t most = largest(1, tokens - 1, [&](int64_t count) { return builder.workspace(count) <= budget; });
    return most > 0 && builder.seconds(most) < ScheduleBuilder(problem, choice).seconds(most) ? most : -1;
  }

  /// The sizes that make a shape fit the budget: all tokens at once if possible, else the largest
  /// chunk.
  std::optional<Candidate> fit(Choice choice) const {
    if (problem.makesGradients() && choice.inPlace() && !choice.hasParts && fitsWithParts(choice))
      return std::nullopt;
    if (bytes(choice, tokens) <= budget)
      return finish(choice);
    if (keepsAcrossPhases(choice))
      return std::nullopt;
    // Room for the copies of small inputs of more tokens than now: the program should serve them as
    // well.
    constexpr int64_t kGrowth = 4;
    for (int64_t growth : {kGrowth, int64_t(1)}) {
      auto fits = [&](int64_t chunk) { return bytes(withChunk(choice, chunk), tokens * growth) <= budget; };
      int64_t unit = problem.chunkUnit(), chunk = largest(unit, std::max<int64_t>(tokens, unit), fits);
      if (chunk < leastChunk(choice))
        continue;
      // As many chunks as it takes, but all about the same size: each of them reads the head and
      // adds to its gradient.
      int64_t even = llvm::alignTo(llvm::divideCeil(tokens, llvm::divideCeil(std::max<int64_t>(tokens, 1), chunk)), unit);
      return finish(withChunk(choice, even >= leastChunk(choice) && fits(even) ? even : chunk));
    }
    return std::nullopt;
  }
  /// Then there are parts, whatever they take for just so many tokens: they change the order of
  /// sums.
  bool fitsWithParts(Choice choice) const {
    choice.hasParts = true;
    return problem.hasHiddenParts(problem.mostTokensAlike()) && bytes(choice, tokens) <= budget;
  }
  /// Then what is stored has to hold all tokens.
  bool keepsAcrossPhases(const Choice &choice) const { return problem.isSplit() && choice.storedVocabSplits > 0; }
  /// The fewest tokens of a chunk. Each chunk packs the whole head, which takes long for few
  /// tokens. Schedules that keep gradients have others beside them that need no such chunks.
  int64_t leastChunk(const Choice &choice) const {
    int64_t unit = problem.chunkUnit();
    return choice.keepsGradients ? std::max<int64_t>(unit, llvm::alignTo(problem.mostFewTokens() + 1, unit)) : unit;
  }
  Choice withChunk(Choice choice, int64_t chunk) const {
    choice.chunk = choice.forwardChunk = chunk;
    return choice;
  }
  /// The largest multiple of 'unit' up to 'limit' that fits; 0 if none does.
  template <typename Fits>
  int64_t largest(int64_t unit, int64_t limit, Fits fits) const {
    int64_t low = 0, high = llvm::divideCeil(limit, unit);
    while (low < high) {
      int64_t middle = (low + high + 1) / 2;
      if (fits(middle * unit))
        low = middle;
      else
        high = middle - 1;
    }
    return low * unit;
  }
  Candidate finish(const Choice &choice) const {
    Candidate candidate;
    candidate.choice = choice;
    ScheduleBuilder builder(problem, choice);
    candidate.seconds = builder.seconds(tokens);
    constexpr int64_t kMost = int64_t(1) << 40;
    candidate.end = 1 + largest(1, kMost, [&](int64_t count) { return builder.workspace(count) <= budget; });
    if (candidate.end > kMost)
      candidate.end = INT64_MAX;
    return candidate;
  }

  const Problem &problem;
  int64_t tokens, budget;
};

struct ChooseSchedulePass : impl::ChooseSchedulePassBase<ChooseSchedulePass> {
  LogicalResult choose(ProgramOp program, RequestAttr request) {
    if (!program.getBody().getOps<ScheduleOp>().empty())
      return program.emitOpError() << "has a schedule already";
    // Finer vocabulary splits have smaller gradients of logits at a time, but more row states:
    // where nothing else fits the budget.
    constexpr int64_t kFinest = 8;
    int64_t least = INT64_MAX, first = 0;
    SmallVector<ProgramOp> forms = formsOf(program, request);
    if (request.getMode() == Mode::Early) // the call has cotangents from the start
      llvm::for_each(forms, joinFinishes);
    for (int64_t finer = 1; finer <= kFinest; finer *= 2) {
      std::optional<Found> best;
      int64_t mostAtOnce = -1; // of several forms
      for (ProgramOp form : forms) {
        FailureOr<Problem> problem = Problem::get(form, request, finer);
        if (failed(problem))
          return failure();
        Chooser chooser(*problem);
        std::optional<Candidate> found = chooser.run();
        if (found && (!best || found->seconds < best->candidate.seconds))
          best = Found{*problem, *found};
        if (forms.size() > 1)
          mostAtOnce = std::max(mostAtOnce, chooser.mostAtOnce());
        least = std::min(least, chooser.leastBytes(request.getTokens()));
        if (!found)
          first = std::max(first, 1 + chooser.mostTokens()); // fewer tokens have a program with coarser splits
      }
      if (!best)
        continue;
      // A call that some form takes at once has that program, whichever was compiled first.
      if (best->candidate.choice.chunk != 0)
        first = std::max(first, 1 + mostAtOnce);
      best->candidate.first = std::max(best->candidate.first, first);
      for (ProgramOp form : forms)
        if (form != best->problem.program)
          form.erase();
      return emit(best->problem, best->candidate);
    }
    return emitRefusal(program, request, least);
  }

  struct Found {
    Problem problem;
    Candidate candidate;
  };
  /// The program, and a copy whose first sweep stores gradients, where there may be one.
  static SmallVector<ProgramOp> formsOf(ProgramOp program, RequestAttr request) {
    SmallVector<ProgramOp> forms{program};
    std::string error;
    std::shared_ptr<const Target> target = findTarget(request.getTarget(), error);
    // Another number of chunks would make the logits again: bits do not depend on that number.
    bool mayBeMadeAgain = request.getMode() == Mode::Split && request.getChunks() > 0;
    if (!target || !target->facts().storesFactoredGradients || mayBeMadeAgain || !multipliesBF16(request))
      return forms;
    OpBuilder b(program);
    auto copy = cast<ProgramOp>(b.clone(*program.getOperation()));
    if (factorGradient(copy))
      forms.push_back(copy);
    else
      copy.erase();
    return forms;
  }
  /// Errors of gradients of bf16 are no more than those of the operands, and exponentials relative
  /// to a reference need the range of that type.
  static bool multipliesBF16(RequestAttr request) {
    return llvm::all_of(request.getProjections(), [](ProjectionAttr projection) { return projection.getElement().isBF16(); });
  }

  LogicalResult emit(const Problem &problem, const Candidate &best) {
    ScheduleBuilder builder(problem, best.choice);
    Builder b(&getContext());
    Machine machine = measuredMachine(problem.machine, getUnitRates(getOperation()));
    getOperation()->setAttr(kPredictedSecondsAttrName, b.getF64FloatAttr(builder.predictedSeconds(problem.request.getTokens(), machine)));
    return failed(builder.emit(best.first, best.end)) ? failure() : checkCluster(problem);
  }

  /// That a cluster which the request names is of use to a product.
  LogicalResult checkCluster(const Problem &problem) {
    auto sharesOperand = [&](LaunchOp launch) {
      std::optional<Algorithm> algorithm = launch.getAlgorithm();
      return algorithm && problem.target->blocksTogether(*algorithm) > 1 ? WalkResult::interrupt() : WalkResult::advance();
    };
    ProgramOp program = problem.program;
    DictionaryAttr named = problem.request.getTiles();
    if (!named || !named.contains("cluster") || problem.tiles.cluster == 1 || program.walk(sharesOperand).wasInterrupted())
      return success();
    return program.emitOpError() << "has no product for clusters of " << problem.tiles.cluster
                                 << " blocks: they share operands of 16 bits, and have tiles of a multiple of 64 rows; take cluster=1";
  }

  LogicalResult emitRefusal(ProgramOp program, RequestAttr request, int64_t least) {
    // For callers that name the minimum in their own words.
    getOperation()->setAttr(kMinimumWorkspaceAttrName, Builder(&getContext()).getI64IntegerAttr(least));
    return program.emitOpError() << "needs a workspace of at least " << sizeText(least) << " for " << request.getTokens()
                                 << " tokens, but 'workspace' is " << sizeText(request.getWorkspace());
  }

  void runOnOperation() override {
    RequestAttr request = getRequest(getOperation());
    if (!request) {
      getOperation().emitOpError() << "has no '" << kRequestAttrName << "': target and budget are unknown";
      return signalPassFailure();
    }
    for (ProgramOp program : llvm::to_vector(getOperation().getOps<ProgramOp>())) // another form may take its place
      if (failed(choose(program, request)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace logitile
