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
    List,   // the 'places' largest values of 'base' and their indices; not in the row state
    Pick,   // the values of 'base' at each index of the list 'index'; not in the row state
  };
  Kind kind = Kind::Max;
  unsigned number = 0;
  unsigned level = 0; // its sweep: 1 is the first
  NodeRef base = nullptr;
  bool isOfLogSumExp = false; // Max: 'base' is the argument of a logsumexp, rounded as there
  bool isOfProduct = false;   // Max: 'base' is the exponent of a product of exponentials, or of a power of a softmax
  Accumulator *max = nullptr; // Exp
  NodeRef scale = nullptr;
  llvm::SmallVector<NodeRef, 2> factors; // one of type Bool is a condition: if it is false, the product is 0
  NodeRef pivot = nullptr;
  /// With a pivot: the accumulator of the same sum without the pivot. It is in the same sweep if
  /// that sweep moves a centre.
  Accumulator *weights = nullptr;
  /// With a pivot: (coefficient, max) of each term. The pivot is the sum of coefficient * (max.base
  /// - max), plus 'rest', plus addends that were moved out of the sum.
  llvm::SmallVector<std::pair<NodeRef, Accumulator *>, 2> centre;
  NodeRef rest = nullptr;
  Accumulator *arg = nullptr;
  bool wantsLargest = true;
  NodeRef index = nullptr;
  int64_t places = 0;
  llvm::SmallVector<mlir::Location, 4> reductions; // locations of the reductions that it is for, and of their arguments

  /// Whether it is a pair: a second slot sums the rounding errors of the first one. Otherwise,
  /// small terms would be lost in a long sum.
  bool isPair() const { return kind == Kind::Exp || kind == Kind::Sum; }
  /// Max: whether exponents relative to this maximum are computed from the rounded base. The
  /// argument of a logsumexp is rounded, because a pick of the same value is rounded in the same
  /// way. Exponents of a product are not rounded, because each of the exponentials would be exact
  /// near its own maximum.
  bool keepsRounding() const;
  /// Expressions that its sweep evaluates.
  llvm::SmallVector<NodeRef> bodies() const;
  /// Accumulators, of the same or of an earlier sweep, whose values its own update needs.
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

/// Chooses the level and the accumulators of each reduction. The level of a value is the number of
/// the sweep after which it is known. A value is called finished at L if its level is at most L:
/// then later sweeps may use it. For each reduction, levels are tried in ascending order. The first
/// level at which the reduction's body can be decomposed into terms is chosen.
class Planner {
public:
  /// The level of values that need a cotangent: above the levels of all forward sweeps.
  static constexpr unsigned kCotangent = 1000;

  /// 'isSliced': the vocabulary is in slices. Then every value that needs the whole vocabulary is
  /// computed from merged row states.
  Planner(Graph &graph, bool isSliced) : g(graph), isSliced(isSliced) {}

  /// The level after which 'node' is known; places the reductions that it depends on.
  unsigned level(NodeRef node);
  /// The uniform expression over accumulators that computes a reduction, or null.
  NodeRef resolved(NodeRef reduction) const { return resolutions.lookup(reduction); }
  Accumulator *accumulatorOf(NodeRef node) const { return accumulators[node->index].get(); }
  NodeRef resultOf(Accumulator *accumulator);
  /// The values of a list, or its indices, in a finish of the list.
  NodeRef resultOfList(Accumulator *list, NodeType type);
  /// The values of a list, or its indices, where later parts of the program read them from memory.
  NodeRef listRead(Accumulator *list, NodeType type);
  /// The value, or the index, at one place of a list, as a result of a finish of the list.
  NodeRef placeOfList(Accumulator *list, NodeRef place, NodeType type);
  /// The entry of 'value' at 'index' (or the entries, if 'index' is a list), taken from a list of
  /// the largest entries of 'value' whose index is 'index'. Then no sweep has to pick it. Null if
  /// there is no such list.
  NodeRef listedEntry(NodeRef value, NodeRef index);
  /// The list along whose places 'node' has different values; null if 'node' has one value per
  /// token.
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
  /// 'gradient' in the form in which sums of it were factored: factors without a cotangent are kept
  /// together. Then a sum over the vocabulary is rounded in the same way as the values from which
  /// it is subtracted, and the difference cancels as it should.
  NodeRef factored(NodeRef gradient);
  /// The accumulator that sums the body of 'reduction' as it is written, without decomposing it.
  Accumulator *verbatim(NodeRef reduction);
  /// From now on, 'reduction' is computed by that accumulator.
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
  /// x = rest + addend. 'rest' is rounded as x was written, except that uniform addends and
  /// divisors are left out. 'leaves' is the number of leaves of x. It is the number of its atoms,
  /// unless the same atom occurs several times, as in (z - t) + t.
  struct Written {
    NodeRef rest, addend;
    size_t leaves;
  };
  Written asWritten(NodeRef x);
  Written asWrittenOnce(NodeRef x);
  Canonical canonical(NodeRef x);
  /// The canonical form of x as the argument of a logsumexp, from which every uniform addend is
  /// moved out.
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
  /// 'stops': a value of which there is a logsumexp is treated as an atom.
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
  llvm::DenseMap<NodeRef, Canonical> exponents; // by logsumexp; one may lack a mean that is known only after its sweep
  // Results of earlier calls, because an operand may be used by many nodes.
  std::map<std::pair<NodeRef, bool>, std::pair<Affine, NodeRef>> affines;
  llvm::DenseMap<NodeRef, Written> written;
  std::map<std::pair<NodeRef, unsigned>, std::optional<std::pair<NodeRef, NodeRef>>> stripped;
  std::map<std::tuple<NodeRef, unsigned, bool>, std::optional<Terms>> decomposed;
  llvm::DenseSet<NodeRef> exponentsOfProducts; // and of powers of a softmax
  llvm::SmallVector<std::unique_ptr<Accumulator>> accumulators;
  llvm::SmallVector<mlir::Location, 4> placed; // locations of the reduction that is being placed, and of the part that is being decomposed
};
} // namespace logitile
