// EmitProgram.h - writes a placed plan as a program: where each per-token value becomes known, and
// as which result.
#pragma once
#include "compiler/Expression/Import.h"
#include "compiler/Transforms/FormSweeps/Placement.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace logitile {
/// The part of a per-token value that carries its rounding error along.
enum class Part { Whole, High, Low };

/// Points of a program at which values become known: stage * kStepsOfStage + step. Stage 0 needs no
/// logits; stage i follows forward sweep i; then come the start of the backward phase, its sweeps,
/// and the end of the gradient pass. Steps within a stage are values read from memory at an index
/// that the step before it found.
constexpr int kStepsOfStage = 1024;
constexpr int kFree = -1; // inputs, constants, and what is cheap to make of them

class RegionEmitter;

class ProgramEmitter {
public:
  /// 'places': the number of places of each output that is a list, by name.
  ProgramEmitter(Planner &planner, const Placement &placement, llvm::ArrayRef<std::pair<llvm::StringRef, NodeRef>> outputs,
                 const llvm::StringMap<int64_t> &places, llvm::ArrayRef<GradientNodes> gradients);
  /// Builds the program before 'loss'.
  ProgramOp emit(LossOp loss);
  /// Whether the program has all values that it needs. If not, errors were emitted.
  bool hasAllValues() const { return isComplete; }

  // ---- for the regions
  Planner &planner;
  /// The point at which a uniform value is known.
  int pointOf(NodeRef node);
  /// The expression over accumulators that computes a reduction; for a fused sum, the result of its
  /// accumulator. Any other node is returned as it is.
  NodeRef resolve(NodeRef node) const;
  /// Whether a uniform value has a low part.
  bool hasLow(NodeRef node);
  /// The varying expression of which the uniform 'node' is one entry, if that entry can be computed
  /// at the point where 'node' is computed.
  Graph::Origin originOf(NodeRef node);
  /// For a product p of exponentials: p[select(c, i, j)] as select(c, p[i], p[j]), so that each
  /// branch is an entry of p. Null for other nodes.
  NodeRef asSelectedEntries(NodeRef node);
  /// The value of which 'node' is an entry, as scale * base + addend. The base is the one that
  /// exponents use.
  Planner::Canonical partsOfEntry(NodeRef node, Graph::Origin origin);
  /// Whether a value that needs no logits is so cheap that every region computes it itself.
  bool isCheap(NodeRef node);
  /// Makes 'node' a result of the finish at its point, and returns that result.
  ResultAttr request(NodeRef node, Part part);
  /// Makes the value or the index at one place of a list a result of a finish, and returns that
  /// result.
  ResultAttr requestPlace(NodeRef node);
  /// Makes the values or the indices of a list of largest entries a result of the finish that sorts
  /// the list, and returns that result.
  ResultAttr requestListed(NodeRef list);
  /// Makes 'sum', a sum over the places of a list, a result of the finish that goes through these
  /// places, and returns that result.
  ResultAttr requestSum(NodeRef sum);
  /// The pick of a sweep that computes 'accumulator'.
  ResultAttr pickOf(NodeRef accumulator);
  unsigned stageOf(const Accumulator *accumulator) const { return accumulatorStages.lookup(accumulator->number); }
  /// Reports an internal error: a region needs a slot of row state that no earlier sweep computes.
  /// The program cannot be used then.
  void reportMissing(NodeRef accumulator);

private:
  struct Request {
    std::string name;
    NodeRef node;
    Part part;
    bool isOutput;
  };
  void requestOutputs();
  void requestChecks();
  std::string uniqueName(NodeRef node, Part part);
  ResultAttr addRequest(int point, Request request);
  /// Where finishes that go through places are asked for: after which point, how many places,
  /// whether they add up.
  using PlaceKey = std::tuple<int, int64_t, bool>;
  ResultAttr addPlaceRequest(PlaceKey key, Request request);
  static std::string placesName(PlaceKey key);
  void emitPlaceFinishes(int point, Phase phase);
  void emitPlaceFinish(PlaceKey key, Phase phase);
  std::optional<int> lastPoint(unsigned stage) const;
  static std::string finishName(int point);
  void emitSweep(unsigned stage, Phase phase, const SweepAccumulators &accumulators, mlir::StringRef name);
  void emitFinishes(unsigned stage, Phase phase, const SweepAccumulators &accumulators, mlir::StringRef sweep);
  void emitFinish(int point, Phase phase, const SweepAccumulators *accumulators, mlir::StringRef sweep);
  void emitResults(FinishOp finish, RegionEmitter &emitter, const std::vector<Request> &wanted);
  void emitList(Accumulator *list);
  void emitPlaces(const SweepAccumulators &accumulators);
  void emitListFinish(Accumulator *list, llvm::StringRef name, mlir::IntegerAttr place, llvm::ArrayRef<Request> wanted);
  void emitGradient();
  void emitPerTokenGradients();
  void emitAdjoint(const GradientNodes &gradient, mlir::Value dense, mlir::ValueRange columns, mlir::ValueRange coefficients);
  Graph::Origin findOrigin(NodeRef node);
  /// Two values of which a condition selects one; whether they are products of exponentials, or
  /// what exponents are made of.
  struct Selection {
    NodeRef condition = nullptr, taken = nullptr, other = nullptr;
    bool isExponential = false;
    explicit operator bool() const { return condition; }
  };
  Selection selectionOf(NodeRef node);
  Selection findSelection(NodeRef node);
  Graph::Origin originOfExponent(NodeRef exponent);
  Graph::Origin originOfFactor(NodeRef factor);
  bool hasPartsOf(NodeRef node, Graph::Origin origin);
  unsigned backwardStage() const { return placement.forward.size() + 1; }
  unsigned fusedStage() const { return backwardStage() + placement.backward.size() + 1; }

  bool isComplete = true;
  const Placement &placement;
  llvm::ArrayRef<std::pair<llvm::StringRef, NodeRef>> outputs;
  const llvm::StringMap<int64_t> &places;
  llvm::ArrayRef<GradientNodes> gradients;
  mlir::OpBuilder builder;
  ProgramOp program;
  llvm::DenseMap<unsigned, unsigned> accumulatorStages;
  llvm::DenseMap<NodeRef, int> points;
  llvm::DenseMap<NodeRef, Graph::Origin> origins;
  llvm::DenseMap<NodeRef, Selection> selections;
  std::map<int, std::vector<Request>> requests;
  std::map<PlaceKey, std::vector<Request>> placeRequests;
  llvm::DenseMap<NodeRef, ResultAttr> sumResults;
  std::map<unsigned, std::vector<Request>> ofLists, ofReadLists;         // by number
  std::map<std::pair<unsigned, int64_t>, std::vector<Request>> ofPlaces; // by number and place
  llvm::DenseMap<std::pair<NodeRef, unsigned>, ResultAttr> results;
  llvm::DenseMap<NodeRef, ResultAttr> placeResults; // of the finishes of lists
  llvm::StringSet<> usedNames;
  llvm::SmallVector<mlir::Attribute> checked;
};

/// Emits scalar code into one region of a program.
class RegionEmitter {
public:
  /// A finish computes the values of its point and later steps; another region reads all non-free
  /// values as known.
  RegionEmitter(ProgramEmitter &program, mlir::Block &block, int point, bool isFinish)
      : program(program), builder(mlir::OpBuilder::atBlockEnd(&block)), point(point), isFinish(isFinish) {}
  /// Emits varying values at entry 'index' of the vocabulary, with the operations of a region along
  /// it: the bits are equal.
  RegionEmitter(RegionEmitter &parent, NodeRef index)
      : program(parent.program), builder(parent.builder), point(parent.point), isFinish(false), parent(&parent), index(index) {}

  /// Tells which value of this region is the accumulator's slot of the row state.
  void bind(const Accumulator *accumulator, mlir::Value value) { state[accumulator->number] = value; }
  void bind(const Accumulator *accumulator, mlir::Value high, mlir::Value low);
  void bindNode(NodeRef node, mlir::Value value) { whole[node] = value; }
  /// The value as one number.
  mlir::Value value(NodeRef node);
  mlir::Value value(NodeRef node, Part part);
  /// A value and its rounding error. 'low' may be null.
  struct Pair {
    mlir::Value high, low;
    mlir::Value sum(RegionEmitter &emitter) const { return low ? emitter.add(high, low) : high; }
  };
  /// A varying value with the rounding of sums of two tensors of logits, and of their products with
  /// per-token values.
  Pair exactPair(NodeRef node) { return exactPair(node, /*ofAllSums=*/false); }
  /// Whether exponents are made of this value, rounded: so are its sums, for the two may cancel.
  bool isRounded(NodeRef node) const;
  /// What a + b loses when it is rounded to 'sum'; not finite where 'sum' is not.
  mlir::Value roundingOf(mlir::Value a, mlir::Value b, mlir::Value sum);
  /// The base of a running maximum less that maximum.
  mlir::Value distanceFrom(const Accumulator *max);
  /// The maximum of 'accumulator': state of this sweep, or known from an earlier one.
  mlir::Value maximumOf(const Accumulator *accumulator);
  /// exp(scale * (base - max)), made once.
  mlir::Value exponential(const Accumulator *max, NodeRef scale);
  mlir::OpBuilder &ops() { return builder; }
  void setLoc(mlir::Location next) { loc = next; }
  /// From now on, values are computed for reductions at these locations.
  void setReductions(llvm::ArrayRef<mlir::Location> places);
  /// The location of a value, with its name, joined with the locations of the reductions for which
  /// it is computed.
  mlir::Location placeOf(mlir::Location value) const;

  // ---- small pieces of code
  mlir::Value f32(double number);
  mlir::Value i32(int64_t number);
  mlir::Value add(mlir::Value a, mlir::Value b) { return mlir::arith::AddFOp::create(builder, where(), a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return mlir::arith::SubFOp::create(builder, where(), a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return mlir::arith::MulFOp::create(builder, where(), a, b); }
  mlir::Value multiplyNoNan(mlir::Value a, mlir::Value b) { return MultiplyNoNanOp::create(builder, where(), a, b); }
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value exp(mlir::Value a);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value finiteOrZero(mlir::Value value);

private:
  mlir::Location where() const { return placeOf(loc ? *loc : mlir::UnknownLoc::get(builder.getContext())); }
  Pair pairOf(NodeRef node);
  Pair makePair(NodeRef node);
  /// 'ofAllSums': with the rounding of every sum of two varying values.
  Pair exactPair(NodeRef node, bool ofAllSums);
  Pair makeExactPair(NodeRef node, bool ofAllSums);
  Pair exactlyScaled(NodeRef node, bool ofAllSums);
  Pair negated(Pair x);
  Pair sumPair(NodeRef node);
  Pair addPairs(Pair a, Pair b, bool subtracts, bool keepsRounding);
  Pair factorOf(NodeRef node);
  Pair makeEntryPair(NodeRef node, Graph::Origin origin);
  /// What a difference from a logsumexp of the same values is made of.
  struct LogSoftmax {
    Planner::LogSumExp parts;
    NodeRef logSum, addend;
  };
  /// 'isNegated': of a logsumexp less the values.
  std::optional<LogSoftmax> logSoftmaxOf(NodeRef difference, bool isNegated = false);
  Pair logSoftmaxPair(const LogSoftmax &of);
  mlir::Value withCancelled(mlir::Value value, NodeRef addend);
  Pair scalePair(NodeRef node);
  Pair multiplyPairs(Pair a, Pair b, bool isNoNan);
  Pair dividePairs(NodeRef node);
  mlir::Value scaledPlus(NodeRef node, mlir::Value c);
  mlir::Value twoSumError(mlir::Value a, mlir::Value b, mlir::Value sum);
  bool lowMatters(NodeRef node);
  bool mayBe(NodeRef value, NodeRef other) const;
  bool isKnown(NodeRef node);
  RegionEmitter &atEntry(NodeRef index);
  NodeRef constantEntry(NodeRef node);
  /// Whether per-token values are read by code for entries of the vocabulary.
  bool isAlongVocabulary() const { return !isFinish; }
  mlir::Value compute(NodeRef node);
  mlir::Value softmax(NodeRef node);
  mlir::Value gather(NodeRef node);
  mlir::Value readList(NodeRef node);
  mlir::Value read(InputKind kind, mlir::StringRef name, mlir::Type type);
  /// Reads the result of an earlier finish.
  mlir::Value readKnown(NodeRef node, Part part, mlir::Type type);

  ProgramEmitter &program;
  mlir::OpBuilder builder;
  int point;
  bool isFinish;
  RegionEmitter *parent = nullptr;
  NodeRef index = nullptr;
  std::map<NodeRef, std::unique_ptr<RegionEmitter>> singleEntries; // by index
  std::optional<mlir::Location> loc, reductions;
  llvm::DenseMap<unsigned, mlir::Value> state, stateLows;
  llvm::DenseMap<NodeRef, mlir::Value> whole;
  llvm::DenseMap<NodeRef, Pair> pairs;
  std::map<std::pair<NodeRef, bool>, Pair> exactPairs;
  llvm::DenseMap<NodeRef, bool> lows;
  llvm::DenseMap<std::pair<unsigned, NodeRef>, mlir::Value> exponentials;
};

/// The regions of one sweep.
void emitSweepRegions(ProgramEmitter &program, SweepOp sweep, llvm::ArrayRef<Accumulator *> accumulators, int point);
/// Names and types of the state of 'accumulators', in slots: the maxima first.
void describeState(llvm::ArrayRef<Accumulator *> accumulators, mlir::OpBuilder &builder, llvm::SmallVectorImpl<mlir::StringRef> &names,
                   llvm::SmallVectorImpl<mlir::Type> &types, llvm::BumpPtrAllocator &strings);
/// The lists among 'accumulators'.
llvm::SmallVector<Accumulator *> listsOf(llvm::ArrayRef<Accumulator *> accumulators);
/// What is picked at indices of lists, among 'accumulators'.
llvm::SmallVector<Accumulator *> picksOf(llvm::ArrayRef<Accumulator *> accumulators);
/// Each accumulator of the state, and the slot of its result.
llvm::SmallVector<std::pair<Accumulator *, unsigned>> slotsOf(llvm::ArrayRef<Accumulator *> accumulators);
} // namespace logitile
