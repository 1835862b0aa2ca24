// Graph.h - a loss as a graph of interned nodes, whose constructors simplify. Passes import a
// region into a graph, transform nodes, and write the nodes back as ops. Equal expressions are one
// node, so no separate CSE is needed.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Allocator.h"
#include <cmath>

// A switch over NodeOp that has no default must have a case for every operation. If the case of a
// new operation is missing, the build fails.
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
  Top, // list of the largest entries, an output; 'varying', because it differs along its places
  ArgTop, // list of their indices, an output that nodes may also read
  Gather,
  // made by form-sweeps: a slot of row state, and a value in two parts
  Accumulator,
  Pair,
};
enum class NodeType : uint8_t { Float, Int, Bool };
/// Comparisons of floats and of signed integers. With a NaN, only Ne is true.
enum class Predicate : uint8_t { Lt, Le, Gt, Ge, Eq, Ne };

/// One value. The id of a node is larger than those of its operands. Two pointers are equal if and
/// only if their expressions are equal.
struct Node : llvm::FoldingSetNode {
  NodeOp op;
  NodeType type;
  bool varying;
  int64_t places = 0; // of an input list, of the indices of the largest entries, or of a list computed from these; otherwise 0
  unsigned id;
  llvm::SmallVector<const Node *, 2> operands;
  double number = 0;                    // Constant
  InputKind kind = InputKind::Logits;   // Input
  llvm::StringRef name;                 // Input, interned in the context
  int64_t index = -1;                   // Input: entry of a token; Accumulator: its number; Sum: 1 if verbatim; Top, ArgTop: places
  Predicate predicate = Predicate::Lt;  // Compare
  mlir::Location loc;

  // Facts. They are found once, when the node is made. Expressions share operands, so walking
  // through an expression for each question could take exponential time.
  bool isWeight = false;         // a weight of 0 makes a product 0: exponentials, sigmoids, products, powers, roots of these
  bool isPositive = false;       // known to be greater than zero
  bool isNonNegative = false;    // known not to be less than zero
  bool isLinearInLogits = false; // a sum of it needs a pivot
  bool isUnbounded = false;      // may be as large as logits: then other factors of a product are not split into addends
  bool dependsOnLogits = false;  // varies along the vocabulary, and is computed from logits
  bool isScaledMean = false;     // a mean times a uniform value: a difference from it is centred
  bool isCentred = false;        // a difference from a scaled mean, possibly with further addends
  bool isEntry = false;          // uniform, computed from entries or means of logits: logits minus such a value may be far smaller than both
  bool staysFinite = false;      // finite wherever the logits are
  bool isMasked = false;         // finite or -inf wherever the logits are finite
  bool isDifferentiated = false; // computed from an input whose gradient is wanted

  explicit Node(mlir::Location loc) : loc(loc) {}
  const Node *operand(unsigned i) const { return operands[i]; }
  bool is(NodeOp other) const { return op == other; }
  bool isConstant() const { return op == NodeOp::Constant; }
  /// Whether the node is a varying value times a uniform one. In MultiplyNoNan, the first factor is
  /// the weight; there the weight must be the uniform one.
  bool isScaled() const {
    if (op == NodeOp::MultiplyNoNan)
      return !operands[0]->varying && operands[1]->varying;
    return op == NodeOp::Mul && operands[0]->varying != operands[1]->varying;
  }
  bool isConstant(double value) const { return isConstant() && number == value; }
  /// The part of a constant that is lost when it is rounded to float32, as for a product or
  /// quotient of numbers. 0 if that part is not finite, and for nodes that are no float constants.
  double rounding() const {
    double lost = number - static_cast<float>(number);
    return isConstant() && type == NodeType::Float && std::isfinite(lost) ? lost : 0;
  }
  bool isInput(InputKind wanted) const { return op == NodeOp::Input && kind == wanted; }
  /// Whether the node is an input that varies along the vocabulary: Logits, Vocab or Dense.
  bool isVaryingInput() const { return op == NodeOp::Input && varying; }
  /// Whether the node is a sum of exactly the values from which it is then subtracted.
  bool isVerbatim() const { return op == NodeOp::Sum && index == 1; }
  /// Whether the node is a list as a sweep computes it. Such a list has places, where other varying
  /// values have vocabulary entries.
  bool isListed() const { return op == NodeOp::Top || op == NodeOp::ArgTop || (op == NodeOp::Accumulator && varying); }
  /// Whether the node is one place of a list.
  bool isPlaceOfList() const { return op == NodeOp::Gather && operand(0)->isListed(); }
  bool isReduction() const { return op >= NodeOp::Sum && op <= NodeOp::Gather; }
  void Profile(llvm::FoldingSetNodeID &id) const;
};
using NodeRef = const Node *;

/// Owns nodes and makes them. Every constructor of a node simplifies first, by rules 1 to 8 of
/// docs/design/plan.md.
class Graph {
public:
  Graph(mlir::MLIRContext *context, int64_t vocab) : context(context), vocab(vocab), loc(mlir::UnknownLoc::get(context)) {}

  mlir::MLIRContext *const context;
  const int64_t vocab;
  /// Whether the whole vocabulary is one entry. A sum is then that entry, with the same bits as in
  /// all other uses of the entry.
  bool hasOneEntry = false;
  /// If the graph is to be differentiated: the names of the inputs whose gradients are wanted.
  llvm::StringSet<> differentiated;
  /// Sets the location of nodes that are made from now on.
  void setLoc(mlir::Location next) { loc = next; }
  mlir::Location getLoc() const { return loc; }

  // ---- leaves
  NodeRef constant(double value) { return constant(value, NodeType::Float); }
  NodeRef integer(int64_t value) { return constant(static_cast<double>(value), NodeType::Int); }
  NodeRef boolean(bool value) { return constant(value, NodeType::Bool); }
  /// A float is rounded to the sum of two float32 numbers.
  NodeRef constant(double value, NodeType type);
  NodeRef input(InputKind kind, llvm::StringRef name, int64_t index, NodeType type, int64_t places = 0);
  NodeRef column();

  // ---- arithmetic; operations on integers are folded, and not simplified otherwise
  NodeRef add(NodeRef a, NodeRef b);
  NodeRef sub(NodeRef a, NodeRef b);
  NodeRef neg(NodeRef a);
  NodeRef mul(NodeRef a, NodeRef b);
  NodeRef div(NodeRef a, NodeRef b);
  /// A product that is 0 where 'weight' is 0, even if 'value' is infinite or NaN there. 'weight'
  /// may be any value; isWeight need not hold.
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
  /// A random number. 'words' are its seed, stream, token and column.
  NodeRef uniform(llvm::ArrayRef<NodeRef> words);

  /// The sum over the 'places' places of a list. If 'list' is a single value, 'places' times that
  /// value.
  NodeRef sumList(NodeRef list, int64_t places);

  // ---- varying to uniform
  NodeRef sum(NodeRef x, bool verbatim = false);
  NodeRef mean(NodeRef x);
  NodeRef logsumexp(NodeRef x);
  /// 'isExact': the index must be right even if entries are NaN. A maximum does not need that: it
  /// is NaN then, whichever of these indices it picks.
  NodeRef arg(NodeOp op, NodeRef x, bool isExact = false);
  NodeRef count(NodeRef condition);
  /// The 'places' largest entries, or their indices. A uniform addend of 'x' is added to the list
  /// of entries instead (rule 6).
  NodeRef top(NodeOp op, NodeRef x, int64_t places);
  using Split = std::pair<NodeRef, NodeRef>;
  /// Splits x into rest + u, where u is uniform. The logsumexp of x is then the logsumexp of rest,
  /// plus u (rule 8).
  Split bare(NodeRef x);
  /// Whether the uniform addends u and v of a = rest + u and b = other + v may be moved out of a
  /// sum of a and b. If u or v is an entry, this is allowed only if at most one of rest and other
  /// varies. Otherwise rest + other would be rounded at the size of rest and other, while rest + u
  /// may be small and exact.
  static bool mayLeaveSum(Split a, Split b) { return !(a.first->varying && b.first->varying && (a.second->isEntry || b.second->isEntry)); }
  /// The parts of x - lse, if it equals (rest + addend) - (logsumexp(rest) + addend); null for any
  /// other difference (rule 8).
  struct LogSoftmax {
    NodeRef rest = nullptr, logsumexp = nullptr, addend = nullptr;
  };
  LogSoftmax splitLogSoftmax(NodeRef x, NodeRef lse);
  bool isSoftmax(NodeRef x);
  /// Whether there is a logsumexp of 'x'.
  bool isUnderLogSumExp(NodeRef x) const { return underLogSumExp.contains(x); }
  /// Whether there is a list of the largest entries of 'x', or of their indices.
  bool hasList(NodeRef x) const { return underLists.contains(x); }
  /// The value of 'x' at 'index'. The pick is moved through elementwise operations to inputs
  /// (rule 5).
  NodeRef gather(NodeRef x, NodeRef index);
  /// The origin of a uniform expression, which is the value of a varying expression at 'index'.
  struct Origin {
    NodeRef value = nullptr, index = nullptr;
    explicit operator bool() const { return value; }
  };
  /// The expression and the index from which 'node' was picked; none if it was not picked, or if
  /// the pick is of an input.
  Origin originOf(NodeRef node) const { return origins.lookup(node); }
  /// Multiplies an addend that is moved out of a product by the factor, with 'times'. An entry in
  /// the addend becomes the entry of the product. Both are then rounded alike, so that
  /// (x - max(x)) * n is 0 at the maximum.
  NodeRef timesAddend(NodeRef addend, llvm::function_ref<NodeRef(NodeRef)> times);
  /// The branch that 'select' takes at 'index', if that is known; otherwise null.
  NodeRef branchAt(NodeRef select, NodeRef index);
  /// The entry of 'x' at 'index', if it is the same number for all inputs; otherwise null. For
  /// example, a product with column() is 0 at index 0.
  NodeRef constantAt(NodeRef x, NodeRef index);

  // ---- form-sweeps
  NodeRef accumulator(unsigned number, NodeType type, bool isList = false, int64_t places = 0);
  NodeRef pair(NodeRef large, NodeRef small);

  /// The operation of 'node' on other operands, made by its constructor.
  NodeRef rebuild(NodeRef node, llvm::ArrayRef<NodeRef> operands);
  /// The exponent e if 'node' is exp(e), or a product of exponentials that equals exp(e); otherwise
  /// null.
  NodeRef exponentOf(NodeRef node);
  /// The nodes that can be reached from 'roots', operands first.
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
  llvm::DenseMap<NodeRef, llvm::DenseMap<NodeRef, NodeRef>> entries; // of constantAt, by index
};
} // namespace logitile
