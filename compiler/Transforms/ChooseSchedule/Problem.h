// Problem.h - the input of choose-schedule: one program, its request, and the candidates.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "compiler/Schedule/FewTokens.h"
#include "compiler/Schedule/LaunchShape.h"
#include "compiler/Schedule/Templates.h"
#include "compiler/Schedule/TileTable.h"
#include "compiler/Target/Products.h"
#include "compiler/Target/Target.h"
#include "llvm/ADT/DenseSet.h"

namespace logitile {
/// One projection of the program, and the types that its operands have on the way.
struct ProjectionProblem {
  llvm::StringRef name;
  int64_t hidden = 0;
  mlir::Type hiddenElement, weightElement; // in memory, and what they are rounded to when they are read
  mlir::Type operand;                      // of packed operands and of gradients in contractions
  bool wantsHidden = false, wantsWeight = false;
  mlir::Type hiddenGradient, weightGradient;
  bool isReadAgain = false;                // after the first sweep: keeping its logits pays
  mlir::Type storedElement;                  // of those logits
};

struct Problem {
  /// Fails with a diagnostic where program and request do not fit each other.
  /// \param finer how many times as many vocabulary splits there are as usual, as far as tiles
  /// allow.
  static mlir::FailureOr<Problem> get(ProgramOp program, RequestAttr request, int64_t finer);

  ProgramOp program;
  RequestAttr request;
  std::shared_ptr<const Target> target;
  TargetFacts facts; // of the target
  Machine machine;   // of the target as well: the same wherever the program is compiled
  TileSizes tiles;
  int64_t panelWidth = 1;
  int64_t columns = 0, vocabSplit = 1, vocabSplits = 1; // vocabulary entries, those of a vocabulary split, number of vocabulary splits
  int64_t leastGroup = 1; // fewest vocabulary splits whose gradient is made at a time
  llvm::SmallVector<ProjectionProblem> projections;
  llvm::SmallVector<SweepOp> forwardSweeps, backwardSweeps;
  SweepOp fusedSweep;
  GradientOp gradient;                    // per element; null where there is none
  SweepOp referenceSweep;                 // of the first columns; null where no gradient is relative to them
  llvm::SmallVector<InputOp> inputs;      // that need memory of their own: one op for each, in the order of the program
  llvm::DenseSet<mlir::Attribute> knownOfCall;    // results of finishes that the runtime reads
  llvm::DenseSet<mlir::Attribute> knownInBackward; // and those that are read after the forward phase
  llvm::DenseSet<std::pair<llvm::StringRef, int64_t>> picksInBackward; // picks, by sweep and number, that are read then
  /// Whether the call has so few tokens that logits are computed as dot products of rows of the
  /// head and rows of hidden states. This depends on the tokens of the call, not of a chunk. So the
  /// number of chunks does not change the bits of a token's results.
  bool hasFewTokens() const { return request.getTokens() <= facts.mostFewTokens; }
  /// The request's number of tokens, rounded up: to whole tiles of tokens, and their number to a
  /// power of two. All calls whose numbers of tokens round up to the same number compute gradients
  /// of hidden states in the same number of parts.
  int64_t mostTokensAlike() const;
  /// The number of parts of the vocabulary in which a gradient of hidden states is computed, in a
  /// call of 'tokens' tokens. The partial sums of the parts are added afterwards. 1: in one piece.
  int64_t hiddenParts(const ProjectionProblem &projection, int64_t tokens) const;
  /// The vocabulary entries of a part, if there are 'parts' parts. The last part may be shorter.
  int64_t entriesOfPart(int64_t parts) const;
  /// Whether the gradient of hidden states of any projection is computed in several parts.
  bool hasHiddenParts(int64_t tokens) const {
    return llvm::any_of(projections, [&](const ProjectionProblem &projection) { return hiddenParts(projection, tokens) > 1; });
  }
  /// A range of numbers of tokens that contains the request's number: the first number, and the end
  /// (exclusive). Calls in the range have the same numbers of parts.
  std::pair<int64_t, int64_t> tokensAlike() const;
  /// The hidden entries that one tile of a gradient has, on targets whose tiles have fixed sizes.
  int64_t gradientColumns(const ProjectionProblem &projection) const {
    return target->gradientColumns(projection.operand, projection.hidden, tiles.TD);
  }
  /// The vocabulary entries that one tile of a weight's gradient has: as many as a tile of logits,
  /// or fewer if the target's limit is lower.
  int64_t weightRows() const { return std::min(tiles.TN, facts.mostWeightRows); }
  /// The factor by which a gradient of hidden states takes longer because its tasks are not a
  /// multiple of the device's units, so that some units idle. 'tokens' and 'parts' give the tasks.
  double hiddenWaits(const ProjectionProblem &projection, int64_t tokens, int64_t parts) const;
  /// The number of tokens in a chunk is a multiple of this.
  int64_t chunkUnit() const { return facts.hasFixedTiles ? tiles.TM : panelWidth; }
  /// Whether the gradient is factored: the first sweep stores its early part, and a factor for each
  /// token is known later.
  bool isFactored() const { return gradient && GradientOp(gradient).factoredAdjoint(); }
  bool isSplit() const { return request.getMode() == Mode::Split; }
  bool makesGradients() const { return request.getMode() != Mode::Forward; }
  /// Whether stored logits are differences from a centre of their token: logits in 16 bits are,
  /// unless the loss caps them with a tanh.
  bool hasCentres(const ProjectionProblem &projection) const;
  /// Whether 'finish' raises exponent references, and so decides for which tokens the early part of
  /// the gradient is stored once more.
  bool raisesReferences(FinishOp finish) const;
  /// The number of places of the list that 'finish' returns; none if it returns no list.
  std::optional<int64_t> placesOf(FinishOp finish) const;
  /// Sets the members that describe vocabulary splits. 'finer' is as in 'get'.
  void splitVocabulary(int64_t finer);
  /// Sets 'inputs', 'knownOfCall', 'knownInBackward' and 'picksInBackward'.
  void collectReads();
  /// The finishes of 'phase' that come after 'sweep' and before the next sweep, in order. A null
  /// sweep means the finishes before the first sweep of that phase.
  llvm::SmallVector<FinishOp> finishesAfter(SweepOp sweep, Phase phase) const;
  llvm::SmallVector<llvm::StringRef> pairsOf(llvm::ArrayRef<mlir::Operation *> parts) const;
  const ProjectionProblem &projection(llvm::StringRef name) const {
    return *llvm::find_if(projections, [&](auto &p) { return p.name == name; });
  }
};

/// How the tokens are cut, what is stored, and how much of the gradient is made at a time.
struct Choice {
  int64_t chunk = 0;        // as in loops over tokens; 0: all tokens at once
  int64_t forwardChunk = 0; // of the forward phase, where gradients are made apart
  int64_t storedVocabSplits = 0; // vocabulary splits [0, stored) keep their logits
  int64_t group = 0;           // vocabulary splits whose gradient is made at a time; 0: all, in the place of the stored logits
  bool hasParts = false;       // gradients of hidden states are made in parts of the vocabulary

  bool inPlace() const { return group == 0; }
};

/// The schedule of one choice: its buffers, and on demand its ops.
class ScheduleBuilder {
public:
  ScheduleBuilder(const Problem &problem, const Choice &choice) : problem(problem), choice(choice) {
    declareBuffers();
  }
  /// Bytes beyond inputs and outputs of a call with 'tokens' tokens.
  int64_t workspace(int64_t tokens) const;
  /// Seconds of such a call that schedules are compared by.
  double seconds(int64_t tokens) const { return seconds(tokens, problem.machine); }
  /// Predicted seconds of such a call: with what all schedules of a program have in common.
  double predictedSeconds(int64_t tokens, const Machine &machine) const;
  /// Appends the schedule to the program. Fails with a diagnostic where no template serves the
  /// target.
  mlir::LogicalResult emit(int64_t first, int64_t end);
  /// How many vocabulary splits share the lists of a sweep: one task goes through all of them.
  int64_t listGroup() const;
  /// The same of one sweep; 1 where it has no lists.
  int64_t groupOf(SweepOp sweep) const { return sweep.getPlaces().empty() ? 1 : listGroup(); }
  /// The fewest tokens for which such tasks are enough for the units.
  int64_t leastTokensOfLists() const;

private:
  enum Use { Forward = 1, Backward = 2, Both = 3 };
  // ---- buffers (Buffers.cpp)
  void declareBuffers();
  void declareInputs();
  void declareGivenLists(FinishOp finish);
  void declareFacts();
  void declareKnown();
  void declareGradients();
  void declare(BufferKey key, Scope scope, Use use, ViewType type);
  void declareRows(SweepOp sweep, Use use);
  BufferPlan &last() { return plans.back(); }
  ViewType view(llvm::ArrayRef<int64_t> dims, mlir::Type element, Layout layout = Layout::Strided) const;
  int64_t scratchBytes() const;
  double seconds(int64_t tokens, const Machine &machine) const;
  double headSeconds(int64_t chunks, const Machine &machine) const;
  double pageSeconds(const Machine &machine) const;
  double idleFactor(int64_t tokens) const;
  double timesProjected(const ProjectionProblem &projection) const;

  // ---- tiles (Tiles.cpp)
  struct HiddenTile {
    int64_t tokens, hidden;
  };
  HiddenTile hiddenTile(const ProjectionProblem &projection) const;
  struct WeightTile {
    int64_t columns, hidden;
  };
  WeightTile weightTile(const ProjectionProblem &projection) const;
  int64_t rowsOfStored() const;
  int64_t columnsOfStored() const;
  bool hasVocabGradients() const;
  int64_t widest(int64_t rows) const;
  int64_t depthOf(int64_t steps, mlir::Type operand) const;
  int64_t hiddenDepth(const ProjectionProblem &projection) const;
  int64_t projectDepth() const;
  /// What the target computes a product by; its calls have the tokens and the vocabulary of the
  /// program.
  Algorithm algorithmOf(Product product, bool sharesOperands = true) const;
  /// \param sharesOperands whether blocks may share operands: then all of them make their tiles.
  Algorithm projectAlgorithm(bool sharesOperands = true) const;
  Algorithm hiddenAlgorithm(const ProjectionProblem &projection) const;
  Algorithm weightAlgorithm(const ProjectionProblem &projection) const;

  // ---- launches (Launches.cpp)
  /// What templates may ask for: values of parameters, and buffers of views, each by the name that
  /// templates have for it.
  using Values = llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Attribute>>;
  using Views = llvm::ArrayRef<std::pair<llvm::StringRef, BufferKey>>;
  void emitPrologue(mlir::OpBuilder &b);
  void emitForward(mlir::OpBuilder &b);
  void emitBackward(mlir::OpBuilder &b);
  void emitPack(mlir::OpBuilder &b, const ProjectionProblem &projection, bool rows, llvm::StringRef suffix);
  void emitReference(mlir::OpBuilder &b);
  void emitSweep(mlir::OpBuilder &b, SweepOp sweep, bool makesStored);
  void emitRepair(mlir::OpBuilder &b);
  void emitScale(mlir::OpBuilder &b, const ProjectionProblem &projection);
  void emitFinishes(mlir::OpBuilder &b, SweepOp sweep, Phase phase);
  void emitGradient(mlir::OpBuilder &b);
  void emitGradientPart(mlir::OpBuilder &b, llvm::StringRef suffix, bool stored, int64_t first, int64_t end);
  void emitHiddenParts(mlir::OpBuilder &b, const ProjectionProblem &projection);
  void emitContractions(mlir::OpBuilder &b, llvm::StringRef suffix, bool whole, Accumulate accumulate);
  void emitEnd(mlir::OpBuilder &b);
  void emitBuffers(mlir::OpBuilder &b);
  mlir::DictionaryAttr viewsOf(TemplateOp source, Views views) const;
  /// A launch of the template for 'purpose', with what that asks for.
  LaunchOp launch(mlir::OpBuilder &b, const llvm::Twine &kernel, Purpose purpose, Values values, Views views = {});
  mlir::Attribute number(int64_t value) const;
  mlir::Attribute type(mlir::Type value) const { return mlir::TypeAttr::get(value); }
  bool sumsWeight(const ProjectionProblem &projection) const;
  bool sumsHidden(const ProjectionProblem &projection) const {
    return projection.wantsHidden && (!choice.inPlace() || hiddenParts(projection) > 1);
  }
  int64_t hiddenParts(const ProjectionProblem &projection) const {
    return choice.hasParts ? problem.hiddenParts(projection, problem.mostTokensAlike()) : 1;
  }
  int64_t partWidth(const ProjectionProblem &projection) const;
  int64_t hiddenSumColumns(const ProjectionProblem &projection) const;
  bool projectsInBackward() const;
  bool packsRowsAgain(const ProjectionProblem &projection) const;
  BufferKey hiddenOfTerms(const ProjectionProblem &projection) const;
  BufferKey hiddenOfWeight(const ProjectionProblem &projection) const;
  /// The layout of memory with an entry for each token and vocabulary entry.
  Layout logitLayout() const { return problem.facts.tokensAreLanes ? Layout::ColumnMajor : Layout::Strided; }
  bool liesOverLogits(const ProjectionProblem &projection) const;
  bool copiesWeight(const ProjectionProblem &projection) const;
  BufferKey weightOf(const ProjectionProblem &projection) const;
  mlir::Type weightElement(const ProjectionProblem &projection) const;
  bool hasManyChunks() const { return choice.chunk != 0; }

  const Problem &problem;
  Choice choice;
  std::vector<std::pair<BufferKey, ViewType>> buffers; // in the order of 'plans'
  std::vector<BufferPlan> plans;                       // their sizes, which many calls are asked for
  llvm::SmallVector<BufferOp> emitted;                 // in the schedule
  std::unique_ptr<TemplateLibrary> templates;          // while it is emitted
  bool lacksTemplate = false;
  llvm::DenseMap<std::tuple<BufferRole, llvm::StringRef, int64_t>, size_t> numbers;
};
} // namespace logitile
