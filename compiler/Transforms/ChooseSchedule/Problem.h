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
/// One projection of the program, and the types of its operands from memory to products.
struct ProjectionProblem {
  llvm::StringRef name;
  int64_t hidden = 0;
  mlir::Type hiddenElement, weightElement; // types in memory, and those to which elements are rounded when read
  mlir::Type operand;                      // type of packed operands, and of gradients in contractions
  bool wantsHidden = false, wantsWeight = false;
  mlir::Type hiddenGradient, weightGradient;
  bool isReadAgain = false;                // whether its logits are read after the first sweep: then storing them saves work
  mlir::Type storedElement;                  // type of its stored logits
};

struct Problem {
  /// Fails with a diagnostic if program and request do not fit each other.
  /// \param finer the factor by which there are more vocabulary splits than usual, as far as tiles
  /// allow.
  static mlir::FailureOr<Problem> get(ProgramOp program, RequestAttr request, int64_t finer);

  ProgramOp program;
  RequestAttr request;
  std::shared_ptr<const Target> target;
  TargetFacts facts; // of the target
  Machine machine;   // also of the target: the same on every machine that compiles the program
  TileSizes tiles;
  int64_t panelWidth = 1;
  int64_t columns = 0, vocabSplit = 1, vocabSplits = 1; // vocabulary entries, entries of a vocabulary split, number of vocabulary splits
  /// Tiles of kernels that make the logits of one projection, and store them for the first sweep.
  /// None if the first sweep makes the logits of all projections.
  std::optional<TileSizes> tilesApart;
  double slowdownOfLogits = 1; // how much longer products of logits take in narrower tiles than those of one projection
  int64_t leastGroup = 1; // fewest vocabulary splits whose gradient is computed at a time
  llvm::SmallVector<ProjectionProblem> projections;
  llvm::SmallVector<SweepOp> forwardSweeps, backwardSweeps;
  SweepOp fusedSweep;
  GradientOp gradient;                    // computed per element; null if there is none
  SweepOp referenceSweep;                 // over the first columns, for exponent references; null if there are none
  llvm::SmallVector<InputOp> inputs;      // inputs in memory, so all but logits: one op for each input, in program order
  llvm::DenseSet<mlir::Attribute> knownOfCall;    // results of finishes that the runtime reads
  llvm::DenseSet<mlir::Attribute> knownInBackward; // results of finishes that are read after the forward phase
  llvm::DenseSet<std::pair<llvm::StringRef, int64_t>> picksInBackward; // picks that are read after the forward phase, by owner and number
  /// Whether the call has so few tokens that logits are computed as dot products of rows of the
  /// head and rows of hidden states. This depends on the tokens of the call, not of a chunk. So the
  /// number of chunks does not change the bits of a token's results.
  bool hasFewTokens() const { return request.getTokens() <= mostFewTokens(); }
  int64_t mostFewTokens() const {
    auto isBF16 = [](const ProjectionProblem &projection) { return projection.operand.isBF16(); };
    return llvm::all_of(projections, isBF16) ? facts.mostFewTokensOfBF16 : facts.mostFewTokens;
  }
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
  int64_t weightRows() const { return std::min(tilesApart ? tilesApart->TN : tiles.TN, facts.mostWeightRows); }
  /// The factor by which a gradient of hidden states takes longer because its tasks are not a
  /// multiple of the device's units, so that some units idle. 'tokens' and 'parts' determine the
  /// number of tasks.
  double hiddenWaits(const ProjectionProblem &projection, int64_t tokens, int64_t parts) const;
  /// The number of tokens in a chunk is a multiple of this.
  int64_t chunkUnit() const { return facts.hasFixedTiles ? tiles.TM : panelWidth; }
  /// Whether the gradient is factored: the first sweep stores its early part, and a factor for each
  /// token is known later.
  bool isFactored() const { return gradient && GradientOp(gradient).factoredAdjoint(); }
  bool isSplit() const { return request.getMode() == Mode::Split; }
  /// Whether another number of chunks would make the logits again in the backward phase.
  bool mayBeMadeAgain() const { return isSplit() && request.getChunks() > 0; }
  bool makesGradients() const { return request.getMode() != Mode::Forward; }
  /// Whether stored logits are differences from a centre of their token: logits in 16 bits are,
  /// unless the loss caps them with a tanh.
  bool hasCentres(const ProjectionProblem &projection) const;
  /// Whether 'finish' raises exponent references, and so decides for which tokens the early part of
  /// the gradient is stored once more.
  bool raisesReferences(FinishOp finish) const;
  /// The number of places of the list that 'finish' returns; none if it returns no list.
  std::optional<int64_t> placesOf(FinishOp finish) const;
  /// Sets 'tilesApart' and 'slowdownOfLogits' for a program whose kernels hold so many tiles of
  /// logits and of Dense inputs at a time.
  void compareApart(int64_t tilesAtATime);
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

/// How the tokens are cut, what is stored, and how much of the gradient is computed at a time.
struct Choice {
  int64_t chunk = 0;        // tokens of a chunk; negative: minus the number of chunks; 0: all tokens at once
  int64_t forwardChunk = 0; // the same for the forward phase, if gradients are computed in a separate phase
  int64_t storedVocabSplits = 0; // logits of vocabulary splits 0 to storedVocabSplits (exclusive) are stored
  int64_t group = 0;           // vocabulary splits whose gradient is computed at a time; 0: all, in the place of the stored logits
  bool hasParts = false;       // gradients of hidden states are computed in parts of the vocabulary
  bool keepsGradients = false; // gradients of logits are kept for all tokens, and multiplied after the last chunk

  bool inPlace() const { return group == 0; }
};

/// The schedule of one choice: its buffers, and, on demand, its ops.
class ScheduleBuilder {
public:
  ScheduleBuilder(const Problem &problem, const Choice &choice) : problem(problem), choice(choice) {
    declareBuffers();
  }
  /// The bytes of workspace of a call with 'tokens' tokens.
  int64_t workspace(int64_t tokens) const;
  /// The predicted seconds of a call with 'tokens' tokens, for comparing schedules of one program.
  double seconds(int64_t tokens) const { return seconds(tokens, problem.machine); }
  /// The predicted seconds of such a call, including the time that all schedules of a program have
  /// in common.
  double predictedSeconds(int64_t tokens, const Machine &machine) const;
  /// Appends the schedule to the program, for numbers of tokens from 'first' to 'end' (exclusive).
  /// Fails with a diagnostic if the target has no template for a launch.
  mlir::LogicalResult emit(int64_t first, int64_t end);
  /// The number of vocabulary splits that share the lists of a sweep. One task processes all splits
  /// of such a group.
  int64_t listGroup() const;
  /// The same for 'sweep'; 1 if it has no lists.
  int64_t groupOf(SweepOp sweep) const { return sweep.getPlaces().empty() ? 1 : listGroup(); }
  /// The fewest tokens for which every unit gets such a task; 0 if vocabulary splits share no
  /// lists.
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
  double headBytes(int64_t chunks) const;
  double headSeconds(int64_t chunks, int64_t products, const Machine &machine) const;
  double pageSeconds(const Machine &machine) const;
  double lossSeconds(int64_t tokens, const Machine &machine) const;
  int64_t sweeps() const;
  double idleFactor(int64_t vocabSplits, int64_t tokens) const;
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
  /// The algorithm by which the target computes a product, for the tokens of the request and the
  /// vocabulary of the program.
  Algorithm algorithmOf(Product product, bool sharesOperands = true) const;
  /// \param sharesOperands whether the blocks of a cluster may share operands. This needs a kernel
  /// in which every block computes its tile.
  Algorithm projectAlgorithm(bool sharesOperands = true) const;
  /// Of the logits of one projection, in tiles of their own.
  Algorithm apartAlgorithm(const ProjectionProblem &projection) const;
  Algorithm hiddenAlgorithm(const ProjectionProblem &projection) const;
  Algorithm weightAlgorithm(const ProjectionProblem &projection) const;

  // ---- launches (Launches.cpp)
  /// What a template may ask for: values of its parameters, and buffers for its views. Each has the
  /// name that templates use for it.
  using Values = llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Attribute>>;
  using Views = llvm::ArrayRef<std::pair<llvm::StringRef, BufferKey>>;
  void emitPrologue(mlir::OpBuilder &b);
  void emitForward(mlir::OpBuilder &b);
  void emitBackward(mlir::OpBuilder &b);
  void emitPack(mlir::OpBuilder &b, const ProjectionProblem &projection, bool rows, llvm::StringRef suffix);
  void emitReference(mlir::OpBuilder &b);
  void emitSweep(mlir::OpBuilder &b, SweepOp sweep, bool makesStored);
  void emitProject(mlir::OpBuilder &b, const ProjectionProblem &projection, llvm::StringRef suffix);
  void emitRepair(mlir::OpBuilder &b);
  void emitScale(mlir::OpBuilder &b, const ProjectionProblem &projection);
  void emitFinishes(mlir::OpBuilder &b, SweepOp sweep, Phase phase);
  void emitGradient(mlir::OpBuilder &b);
  void emitGradientPart(mlir::OpBuilder &b, llvm::StringRef suffix, bool stored, int64_t first, int64_t end);
  void emitHiddenParts(mlir::OpBuilder &b, const ProjectionProblem &projection);
  void emitPackedColumns(mlir::OpBuilder &b);
  void emitContractions(mlir::OpBuilder &b, llvm::StringRef suffix, bool whole, Accumulate accumulate);
  void emitEnd(mlir::OpBuilder &b);
  void emitBuffers(mlir::OpBuilder &b);
  mlir::DictionaryAttr viewsOf(TemplateOp source, Views views) const;
  /// A launch of the template for 'purpose', with those of 'values' and 'views' for which the
  /// template asks.
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
  /// How long what the products with gradients of logits read is kept.
  Scope scopeOfProducts() const { return choice.keepsGradients ? Scope::Call : Scope::Chunk; }
  /// The tokens of one product with gradients of logits.
  int64_t tokensOfProduct(int64_t tokens) const {
    return choice.keepsGradients || !hasManyChunks() ? tokens : chunkTokens(tokens, choice.chunk, problem.panelWidth);
  }
  /// The layout of buffers with one value for each pair of token and vocabulary entry.
  Layout logitLayout() const { return problem.facts.tokensAreLanes ? Layout::ColumnMajor : Layout::Strided; }
  bool liesOverLogits(const ProjectionProblem &projection) const;
  bool copiesWeight(const ProjectionProblem &projection) const;
  BufferKey weightOf(const ProjectionProblem &projection) const;
  mlir::Type weightElement(const ProjectionProblem &projection) const;
  bool hasManyChunks() const { return choice.chunk != 0; }
  /// Whether gradients of weights are sums over the chunks of tokens.
  bool sumsChunks() const { return hasManyChunks() && !choice.keepsGradients; }

  const Problem &problem;
  Choice choice;
  std::vector<std::pair<BufferKey, ViewType>> buffers; // in the order of 'plans'
  std::vector<BufferPlan> plans;                       // to compute sizes from, for many numbers of tokens
  llvm::SmallVector<BufferOp> emitted;                 // ops of the schedule, in the order of 'plans'
  std::unique_ptr<TemplateLibrary> templates;          // set by emit
  bool lacksTemplate = false;
  llvm::DenseMap<std::tuple<BufferRole, llvm::StringRef, int64_t>, size_t> numbers;
};
} // namespace logitile
