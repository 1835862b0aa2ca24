// Graph.h - a loss as interned nodes whose constructors simplify. Passes import a region into a
// graph, transform nodes, and write them back as ops. Equal expressions are one node, so there is
// no separate CSE.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Allocator.h"
#include <cmath>

// A switch over nodes that has no default names every operation: a new one is an error of the build
// until it has its case.
#pragma GCC diagnostic error "-Wswitch"

namespace logitile {
enum class NodeOp : uint8_t {
  // leaves
  Constant,
  Input,
  Column,
  // elementwise
  Add,
  Sub,
  Neg,
  Mul,
  MultiplyNoNan,
  Div,
  Pow,
  Abs,
  Maximum,
  Minimum,
  Clamp,
  Select,
  And,
  Or,
  Not,
  Compare,
  ToFloat,
  IsFinite,
  IsNan,
  Uniform,
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows) Node,
#include "compiler/Expression/ScalarOps.def"
  SumList, // a list to one value per token
  // varying to uniform
  Sum,
  Mean,
  LogSumExp,
  ArgMax,
  ArgMin,
  Count,
  Top, // a list that is an output: it differs along its places, as varying values do along the vocabulary
  ArgTop, // a list that is read, too
  Gather,
  // made by form-sweeps: a slot of row state, and a value in two parts
  Accumulator,
  Pair,
};
enum class NodeType : uint8_t { Float, Int, Bool };
/// Comparisons of both floats (ordered, Ne unordered) and signed integers.
enum class Predicate : uint8_t { Lt, Le, Gt, Ge, Eq, Ne };

/// One value. Ids grow from operands to users; pointers are equal exactly where the expressions
/// are.
struct Node : llvm::FoldingSetNode {
  NodeOp op;
  NodeType type;
  bool varying;
  int64_t places = 0; // of a list that is read, of indices of largest entries, or of what is computed of such lists; else 0
  unsigned id;
  llvm::SmallVector<const Node *, 2> operands;
  double number = 0;                    // Constant
  InputKind kind = InputKind::Logits;   // Input
  llvm::StringRef name;                 // Input, interned in the context
  int64_t index = -1;                   // Input: entry of a token; Entry: its number; Sum: 1 if verbatim; Top, ArgTop: places
  Predicate predicate = Predicate::Lt;  // Compare
  mlir::Location loc;

  // Facts, worked out once when the node is made: expressions share, so a walk for each question
  // could take for ever.
  bool isWeight = false;         // zero of it makes a product zero: exponentials, sigmoids, products, powers, roots of these
  bool isPositive = false;       // proved greater than zero
  bool isNonNegative = false;    // proved not less than zero
  bool isLinearInLogits = false; // a sum of it needs a pivot
  bool isUnbounded = false;      // may be as large as logits: no legal weight beside a pulled addend
  bool dependsOnLogits = false;  // made of logits, along the vocabulary
  bool isScaledMean = false;     // a mean times what is one per token: a difference from it is centred
  bool isCentred = false;        // a difference from a mean, perhaps with further addends
  bool isEntry = false;          // per token, made of entries or means of logits: logits less it may be far smaller than both
  bool staysFinite = false;      // finite wherever the logits are
  bool isMasked = false;         // finite or -inf wherever the logits are finite
  bool isDifferentiated = false; // made of an input whose gradient is wanted

  explicit Node(mlir::Location loc) : loc(loc) {}
  const Node *operand(unsigned i) const { return operands[i]; }
  bool is(NodeOp other) const { return op == other; }
  bool isConstant() const { return op == NodeOp::Constant; }
  /// A varying value times one per token; the first factor of a product without NaN is its weight.
  bool isScaled() const {
    if (op == NodeOp::MultiplyNoNan)
      return !operands[0]->varying && operands[1]->varying;
    return op == NodeOp::Mul && operands[0]->varying != operands[1]->varying;
  }
  bool isConstant(double value) const { return isConstant() && number == value; }
  /// What a constant loses as a float32, such as a product or quotient of numbers; 0 of what is not
  /// finite there.
  double rounding() const {
    double lost = number - static_cast<float>(number);
    return isConstant() && type == NodeType::Float && std::isfinite(lost) ? lost : 0;
  }
  bool isInput(InputKind wanted) const { return op == NodeOp::Input && kind == wanted; }
  /// Logits, Vocab or Dense: a leaf that differs along the vocabulary.
  bool isVaryingInput() const { return op == NodeOp::Input && varying; }
  /// A sum that is subtracted again from what it sums.
  bool isVerbatim() const { return op == NodeOp::Sum && index == 1; }
  /// A list as a sweep leaves it: it has places where other varying values have entries.
  bool isListed() const { return op == NodeOp::Top || op == NodeOp::ArgTop || (op == NodeOp::Accumulator && varying); }
  /// One place of a list.
  bool isPlaceOfList() const { return op == NodeOp::Gather && operand(0)->isListed(); }
  bool isReduction() const { return op >= NodeOp::Sum && op <= NodeOp::Gather; }
  void Profile(llvm::FoldingSetNodeID &id) const;
};
using NodeRef = const Node *;

/// Owns nodes and builds them. Every constructor simplifies first (rules 1 to 8 of
/// docs/design/plan.md), whoever calls it.
class Graph {
public:
  Graph(mlir::MLIRContext *context, int64_t vocab) : context(context), vocab(vocab), loc(mlir::UnknownLoc::get(context)) {}

  mlir::MLIRContext *const context;
  const int64_t vocab;
  /// The whole vocabulary is one entry: a sum is that entry, with the bits of all its other uses.
  bool hasOneEntry = false;
  /// Names of the inputs whose gradients are wanted, where the graph is to be differentiated.
  llvm::StringSet<> differentiated;
  /// The place that nodes made from now on come from.
  void setLoc(mlir::Location next) { loc = next; }
  mlir::Location getLoc() const { return loc; }

  // ---- leaves
  NodeRef constant(double value) { return constant(value, NodeType::Float); }
  NodeRef integer(int64_t value) { return constant(static_cast<double>(value), NodeType::Int); }
  NodeRef boolean(bool value) { return constant(value, NodeType::Bool); }
  /// A float is kept as the sum of two float32 numbers.
  NodeRef constant(double value, NodeType type);
  NodeRef input(InputKind kind, llvm::StringRef name, int64_t index, NodeType type, int64_t places = 0);
  NodeRef column();

  // ---- arithmetic; integers fold and nothing else
  NodeRef add(NodeRef a, NodeRef b);
  NodeRef sub(NodeRef a, NodeRef b);
  NodeRef neg(NodeRef a);
  NodeRef mul(NodeRef a, NodeRef b);
  NodeRef div(NodeRef a, NodeRef b);
  /// A product in which a 'weight' of 0 wins, whatever the weight is made of.
  NodeRef multiplyNoNan(NodeRef weight, NodeRef value);
  NodeRef pow(NodeRef a, NodeRef b);
  NodeRef exp(NodeRef a);
  NodeRef log(NodeRef a);
  NodeRef sqrt(NodeRef a);
  /// Any function of ScalarOps.def, and Abs, ToFloat, IsFinite, IsNan.
  NodeRef unary(NodeOp op, NodeRef a);
  NodeRef maximum(NodeRef a, NodeRef b);
  NodeRef minimum(NodeRef a, NodeRef b);
  NodeRef clamp(NodeRef a, NodeRef low, NodeRef high);
  NodeRef select(NodeRef condition, NodeRef a, NodeRef b);
  NodeRef compare(Predicate predicate, NodeRef a, NodeRef b);
  NodeRef logicalAnd(NodeRef a, NodeRef b);
  NodeRef logicalOr(NodeRef a, NodeRef b);
  NodeRef logicalNot(NodeRef a);
  /// A random number, of seed, stream, token and column.
  NodeRef uniform(llvm::ArrayRef<NodeRef> words);

  /// The sum over 'places' places of a list, or of so many equal values.
  NodeRef sumList(NodeRef list, int64_t places);

  // ---- varying to uniform
  NodeRef sum(NodeRef x, bool verbatim = false);
  NodeRef mean(NodeRef x);
  NodeRef logsumexp(NodeRef x);
  /// 'isExact': the index is right where entries are NaN, too. A maximum is NaN then, whichever of
  /// these it picks.
  NodeRef arg(NodeOp op, NodeRef x, bool isExact = false);
  NodeRef count(NodeRef condition);
  /// The 'places' largest entries, or their indices. What is added to all entries is added to the
  /// list (rule 6).
  NodeRef top(NodeOp op, NodeRef x, int64_t places);
  using Split = std::pair<NodeRef, NodeRef>;
  /// x = rest + u: a logsumexp of x is that of rest, plus u (rule 8).
  Split bare(NodeRef x);
  /// Whether uniform addends u and v may leave a sum of rest + u and other + v. Where one is an
  /// entry, only if what varies is in one of the two: the sum of rest and other would be rounded as
  /// they are, while rest + u may be small and exact.
  static bool mayLeaveSum(Split a, Split b) { return !(a.first->varying && b.first->varying && (a.second->isEntry || b.second->isEntry)); }
  /// x - lse, where that is (rest + addend) - (logsumexp(rest) + addend); null for any other
  /// difference (rule 8).
  struct LogSoftmax {
    NodeRef rest = nullptr, logsumexp = nullptr, addend = nullptr;
  };
  LogSoftmax splitLogSoftmax(NodeRef x, NodeRef lse);
  bool isSoftmax(NodeRef x);
  /// Whether there is a logsumexp of 'x'.
  bool isUnderLogSumExp(NodeRef x) const { return underLogSumExp.contains(x); }
  /// Whether there is a list of the largest entries of 'x', or of their indices.
  bool hasList(NodeRef x) const { return underLists.contains(x); }
  /// Pushed through elementwise operations: only inputs are picked.
  NodeRef gather(NodeRef x, NodeRef index);
  /// The varying expression of which a uniform one is the value at 'index'.
  struct Origin {
    NodeRef value = nullptr, index = nullptr;
    explicit operator bool() const { return value; }
  };
  /// Where 'node' was picked; none if it was not, or if the pick is of an input.
  Origin originOf(NodeRef node) const { return origins.lookup(node); }
  /// 'times' of an addend that leaves a product. An entry in it becomes the entry of the product:
  /// both are rounded alike then, so that (x - max(x)) * n is 0 at the maximum.
  NodeRef timesAddend(NodeRef addend, llvm::function_ref<NodeRef(NodeRef)> times);
  /// The branch that a select takes at 'index', where that is known; else null.
  NodeRef branchAt(NodeRef select, NodeRef index);
  /// The entry of 'x' at 'index' where it is the same number for all inputs, as that of a product
  /// with column() is at 0; else null.
  NodeRef constantAt(NodeRef x, NodeRef index);

  // ---- form-sweeps
  NodeRef accumulator(unsigned number, NodeType type, bool isList = false, int64_t places = 0);
  NodeRef pair(NodeRef large, NodeRef small);

  /// The node's operation on other operands, through its constructor.
  NodeRef rebuild(NodeRef node, llvm::ArrayRef<NodeRef> operands);
  /// e with node = exp(e), for products of exponentials too; null otherwise.
  NodeRef exponentOf(NodeRef node);
  /// Reachable nodes, operands first.
  static llvm::SmallVector<NodeRef> topological(llvm::ArrayRef<NodeRef> roots);

private:
  NodeRef make(NodeOp op, llvm::ArrayRef<NodeRef> operands, NodeType type, llvm::function_ref<void(Node &)> fill = nullptr);
  NodeRef scaled(NodeRef constant, NodeRef x);
  Split hoist(NodeRef x);
  Split splitFactors(NodeRef x);
  Split splitAddends(NodeRef x);
  Origin entryOf(NodeRef node) const;
  NodeRef negOfEntry(NodeRef a, NodeRef negated);
  NodeRef argOfLogSoftmax(NodeOp op, const LogSoftmax &parts);
  NodeRef gatherOnce(NodeRef x, NodeRef index, llvm::DenseMap<NodeRef, NodeRef> &done);

  mlir::Location loc;
  llvm::FoldingSet<Node> table;
  llvm::SpecificBumpPtrAllocator<Node> storage;
  unsigned count_ = 0;
  llvm::DenseMap<NodeRef, Split> hoisted, bared;
  llvm::DenseSet<NodeRef> underLogSumExp, underLists;
  llvm::DenseMap<NodeRef, NodeRef> exponents;
  llvm::DenseMap<NodeRef, Origin> origins;
  llvm::DenseMap<NodeRef, llvm::DenseMap<NodeRef, NodeRef>> entries; // by index, of constantAt
};
} // namespace logitile
