// Planner.h - turns reductions into accumulators of row state, and finds the sweep (level) that can
// compute each of them. EmitProgram.h writes the state as IR.
#pragma once
#include "compiler/Expression/Graph.h"
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace logitile {
/// One slot of row state: an element of an associative monoid over the vocabulary.
struct Accumulator {
  enum class Kind {
    Max,    // running maximum of 'base', NaN ignored
    Exp,    // sum of exp(scale * (max.base - max)) times 'factors', and (pivot - centre) if there is one
    Sum,    // sum of 'factors'
    Count,  // number of entries where 'base' holds
    Arg,    // index of the largest or smallest 'base', and its value
    Carry,  // the value of 'base' at the index of 'arg'
    Gather, // the value of 'base' at 'index'
    List,   // the largest values of 'base' and their indices: 'places' of them, no part of the state
    Pick,   // the values of 'base' at each index of the list 'index', no part of the state
  };
  Kind kind = Kind::Max;
  unsigned number = 0;
  unsigned level = 0; // its sweep: 1 is the first
  NodeRef base = nullptr;
  bool isOfLogSumExp = false; // Max: of a value that a logsumexp takes as it is rounded
  bool isOfProduct = false;   // Max: of exponents of products, or of powers of a softmax: a logsumexp cancels them
  Accumulator *max = nullptr; // Exp
  NodeRef scale = nullptr;
  llvm::SmallVector<NodeRef, 2> factors; // of type Bool: a condition, the product is 0 where it does not hold
  NodeRef pivot = nullptr;
  Accumulator *weights = nullptr; // of a pivoted accumulator: the same sum without the pivot, in its sweep if that moves a centre
  llvm::SmallVector<std::pair<NodeRef, Accumulator *>, 2>
      centre; // pivot = sum of coefficient * (max.base - max) + rest + what is pulled out
  NodeRef rest = nullptr;
  Accumulator *arg = nullptr;
  bool wantsLargest = true;
  NodeRef index = nullptr;
  int64_t places = 0;
  llvm::SmallVector<mlir::Location, 4> reductions; // where those stand that it is for, and what they are of

  /// Whether it is a pair: its rounding errors are summed beside it. Small terms would be lost in a
  /// long sum.
  bool isPair() const { return kind == Kind::Exp || kind == Kind::Sum; }
  /// Max: whether exponents relative to it keep the rounding of the base. What a logsumexp takes is
  /// rounded, as a pick of it is. The exponents of a product are not: each of the exponentials
  /// would be exact near its own maximum.
  bool keepsRounding() const;
  /// Expressions that its sweep evaluates.
  llvm::SmallVector<NodeRef> bodies() const;
  /// Accumulators of the same or an earlier sweep that it is relative to.
  llvm::SmallVector<Accumulator *> needs() const;
};

/// factor * sum over the vocabulary of exp(exponent + addend) * product(factors); factor and addend
/// uniform.
struct Term {
  NodeRef factor;
  NodeRef exponent = nullptr; // finished, or null
  NodeRef addend = nullptr;
  llvm::SmallVector<NodeRef, 2> factors = {}; // finished, varying; conditions among them
};
using Terms = llvm::SmallVector<Term, 2>;

/// Levels, accumulators and finishes. A value is finished at L when its level is at most L: then a
/// sweep after level L may use it inside. For each reduction, levels are tried in ascending order;
/// the first whose body decomposes wins.
class Planner {
public:
  /// What needs a cotangent is finished after every forward sweep.
  static constexpr unsigned kCotangent = 1000;

  /// Where the vocabulary is in slices ('isSliced'), every value that needs all of it comes from
  /// merged states.
  Planner(Graph &graph, bool isSliced) : g(graph), isSliced(isSliced) {}

  /// The level after which 'node' is known; places the reductions that it depends on.
  unsigned level(NodeRef node);
  /// The uniform expression over accumulators that a reduction stands for, or null.
  NodeRef resolved(NodeRef reduction) const { return resolutions.lookup(reduction); }
  Accumulator *accumulatorOf(NodeRef node) const { return accumulators[node->index].get(); }
  NodeRef resultOf(Accumulator *accumulator);
  /// The values of a list, or its indices, in a finish of the list.
  NodeRef resultOfList(Accumulator *list, NodeType type);
  /// The same where later parts read them: a list as one that is an input.
  NodeRef listRead(Accumulator *list, NodeType type);
  /// One place of a list, as a finish of it gives it.
  NodeRef placeOfList(Accumulator *list, NodeRef place, NodeType type);
  /// The entry of 'value' at 'index', or the entries, if that is where a list of the same values
  /// has them: no sweep has to pick them. Null otherwise.
  NodeRef listedEntry(NodeRef value, NodeRef index);
  /// The list whose places 'node' differs along; null where it is one value per token.
  Accumulator *listOf(NodeRef node);

  /// logsumexp of x as scale * max + addend + log(sum): x is scale * max.base + addend.
  struct LogSumExp {
    Accumulator *max;
    NodeRef scale;
    Accumulator *sum;
  };
  std::optional<LogSumExp> logSumExp(NodeRef reduction) const {
    auto it = logSumExps.find(reduction);
    return it == logSumExps.end() ? std::nullopt : std::optional(it->second);
  }
  /// 'gradient' in the form in which sums of it were factored: what no cotangent is in stays
  /// together. Then a sum over the vocabulary and the values that it is subtracted from are rounded
  /// alike, and cancel as they should.
  NodeRef factored(NodeRef gradient);
  /// The accumulator that sums the body of 'reduction' as it stands.
  Accumulator *verbatim(NodeRef reduction);
  /// From now on 'reduction' stands for that entry.
  void resolveVerbatim(NodeRef reduction) { resolutions[reduction] = resultOf(verbatim(reduction)); }
  /// Accumulators that 'roots' need, and what those accumulators' own bodies need, by number.
  std::map<unsigned, Accumulator *> reach(llvm::ArrayRef<NodeRef> roots);
  /// Reductions that 'root' uses directly, not through another reduction.
  llvm::SmallVector<NodeRef> directReductions(NodeRef root);

  Graph &g;
  const bool isSliced;

  /// x = scale * base + addend, scale and addend uniform.
  struct Canonical {
    NodeRef base, scale, addend;
  };
  /// x = rest + addend, with 'rest' rounded as x was written, but for uniform addends and divisors.
  /// Its leaves are as many as the atoms of x, unless some meet again, as in (z - t) + t.
  struct Written {
    NodeRef rest, addend;
    size_t leaves;
  };
  Written asWritten(NodeRef x);
  Written asWrittenOnce(NodeRef x);
  Canonical canonical(NodeRef x);
  /// The same in the form that a logsumexp of x has: it gives up every uniform addend.
  Canonical underLogSumExp(NodeRef x);
  /// The accumulator that is the running maximum of 'base', or null.
  Accumulator *maximumOf(NodeRef base) const;

private:
  // ---- placing (Planner.cpp)
  unsigned place(NodeRef reduction);
  unsigned placeArg(NodeRef reduction);
  unsigned placeGather(NodeRef reduction);
  unsigned placeList(NodeRef reduction);
  NodeRef caught(Accumulator *accumulator);
  bool placeSum(NodeRef reduction, unsigned L);
  bool placeLogSumExp(NodeRef reduction, unsigned L);
  Accumulator *intern(Accumulator accumulator, bool sameSweep = false);

  // ---- exponents and pivots (Centre.cpp)
  struct Shift {
    Accumulator *max;
    NodeRef scale, addend;
  };
  struct Scaled {
    NodeRef atom, coefficient;
    bool weighs; // a coefficient of 0 wins over an infinite atom
  };
  using Affine = std::map<unsigned, Scaled>; // by id of the atom
  std::optional<std::pair<NodeRef, NodeRef>> strip(NodeRef node, unsigned L);
  std::optional<std::pair<NodeRef, NodeRef>> stripOnce(NodeRef node, unsigned L);
  std::optional<Shift> shift(NodeRef exponent, unsigned L);
  /// 'stops': what there is a logsumexp of is an atom.
  std::pair<Affine, NodeRef> affine(NodeRef x, bool stops = false);
  std::pair<Affine, NodeRef> affineOnce(NodeRef x, bool stops);
  std::optional<Canonical> ofOneLogSumExp(NodeRef x);
  struct Centred {
    llvm::SmallVector<std::pair<NodeRef, Accumulator *>, 2> parts;
    NodeRef rest;
  };
  Centred centre(NodeRef pivot, unsigned L, Accumulator *exponents);
  std::optional<Centred> centreOnExponents(NodeRef pivot, Accumulator *exponents);
  bool hasFinishedReduction(NodeRef node);

  // ---- decomposing and finishing (Decompose.cpp, Finish.cpp)
  std::optional<Terms> decompose(NodeRef node, unsigned L, bool top);
  std::optional<Terms> decomposeOnce(NodeRef node, unsigned L, bool top);
  std::optional<Terms> decomposeLogSoftmax(NodeRef node, unsigned L);
  std::optional<Terms> decomposeProduct(NodeRef node, unsigned L, bool top);
  std::optional<Terms> decomposeSelect(NodeRef node, unsigned L, bool top);
  Term join(const Term &a, const Term &b);
  Terms regroup(llvm::ArrayRef<Term> terms, unsigned L);
  std::pair<NodeRef, NodeRef> splitFinished(NodeRef factor, unsigned L);
  NodeRef product(llvm::ArrayRef<NodeRef> factors, NodeRef value);
  NodeRef conditionOf(llvm::ArrayRef<NodeRef> factors);
  NodeRef finish(const Terms &terms, unsigned L, bool isMean);
  /// Terms with one exponent and one product of factors: each a factor and the pivot, if it has
  /// one.
  struct Group {
    NodeRef exponent, addend;
    llvm::SmallVector<NodeRef, 2> factors;
    llvm::SmallVector<std::pair<NodeRef, NodeRef>, 2> parts;
  };
  NodeRef pivotOf(const Term &term);
  bool isCentrable(NodeRef pivot, NodeRef base);
  llvm::SmallVector<Group> groupTerms(const Terms &terms);
  NodeRef timesSum(NodeRef factor, Accumulator sum);
  NodeRef whereInRange(Accumulator &sum, NodeRef exponential, NodeRef product);
  Accumulator *placeMoment(const Accumulator &plain, Accumulator *weights, NodeRef pivot);

  llvm::DenseMap<NodeRef, unsigned> levels;
  llvm::DenseMap<NodeRef, NodeRef> resolutions;
  llvm::DenseMap<NodeRef, LogSumExp> logSumExps;
  llvm::DenseMap<NodeRef, Canonical> exponents; // of each logsumexp, which may lack a mean that is known after its sweep
  // Of what was asked before: operands may be shared many times over.
  std::map<std::pair<NodeRef, bool>, std::pair<Affine, NodeRef>> affines;
  llvm::DenseMap<NodeRef, Written> written;
  std::map<std::pair<NodeRef, unsigned>, std::optional<std::pair<NodeRef, NodeRef>>> stripped;
  std::map<std::tuple<NodeRef, unsigned, bool>, std::optional<Terms>> decomposed;
  llvm::DenseSet<NodeRef> exponentsOfProducts; // and of powers of a softmax
  llvm::SmallVector<std::unique_ptr<Accumulator>> accumulators;
  llvm::SmallVector<mlir::Location, 4> placed; // where the reduction stands that is being placed, and what of it is decomposed
};
} // namespace logitile
