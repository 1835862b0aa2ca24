// Exponentials.h - rewrites exponentials, so that masked entries (logits of -inf) have a weight of
// exactly 0, and known exponents are kept. docs/design/spec.md has the rules, and defines the terms
// of the comments here.
#pragma once
#include "compiler/Transforms/CanonicaliseLoss/Writer.h"
#include "llvm/ADT/DenseMap.h"

namespace logitile {
/// Writes operations on f32 by the rules. The operands must have been written by the rules before.
class Exponentials {
public:
  explicit Exponentials(Writer &writer) : w(writer) {}

  /// a * b. Weights become the first factors, so that the product is 0 if a weight is 0, whatever
  /// the other factors are.
  mlir::Value product(mlir::Value a, mlir::Value b);
  /// a / b. A quotient by an exponential becomes a product with the exponential of the negated
  /// exponent.
  mlir::Value quotient(mlir::Value a, mlir::Value b);
  mlir::Value power(mlir::Value a, mlir::Value b);

  enum class Base { E, Two };
  // The next five functions return null if no rule applies.
  /// The logarithm of an exponential, or of a sum of exponentials over the vocabulary.
  mlir::Value logarithm(mlir::Value x, Base base);
  /// x to the power of a constant.
  mlir::Value root(mlir::Value x, double power);
  /// The entry of an exponential. It is computed by the same ops as the exponential itself, so that
  /// it has the same bits. 'of' returns the entry of an exponent.
  mlir::Value entry(mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> of);
  /// A selection between an exponential and NaN: an exponential whose exponent is a selection
  /// between the exponent and NaN.
  mlir::Value selectedOrNaN(mlir::arith::SelectOp select);
  /// The minimum or maximum of an exponential, as the exponential of the minimum or maximum of its
  /// exponent. Null for a product of exponentials: once rounded, another entry of the product may
  /// be the largest.
  mlir::Value leastOrLargest(mlir::Value x, Combiner combiner);
  /// A value whose minimum and maximum are at the same entries as those of x. Positive constant
  /// factors of x are dropped, and an exponential is replaced by its exponent.
  mlir::Value orderedLike(mlir::Value x);

  /// Finds out whether x is a weight, while the answers for its operands are known. So later
  /// questions about x need no deep recursion.
  void note(mlir::Value x) { isWeight(x); }

private:
  /// A value that is known to be base ** exponent.
  struct Exponential {
    Base base = Base::E;
    mlir::Value exponent; // null: the value is not known to be an exponential
    explicit operator bool() const { return bool(exponent); }
  };
  using Known = llvm::DenseMap<mlir::Value, mlir::Value>;
  struct Split {
    mlir::Value weight, rest; // null stands for 1
  };

  bool isWeight(mlir::Value x);
  bool findWeight(mlir::Value x);
  Exponential exponential(mlir::Value x);
  Exponential findExponential(mlir::Value x);
  mlir::Value logarithmOf(Exponential x, Base base);
  mlir::Value withExponent(Base base, mlir::Value exponent);
  /// 'onVarying': whether a value that does not vary is its own entry.
  mlir::Value entry(mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> of, bool onVarying, Known &known);
  mlir::Value findEntry(mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> of, bool onVarying, Known &known);
  Split split(mlir::Value x);
  mlir::Value multiplyNoNan(mlir::Value weight, mlir::Value x) { return w.write<MultiplyNoNanOp>(weight, x); }
  mlir::Value times(mlir::Value a, mlir::Value b) { return w.write<mlir::arith::MulFOp>(a, b); }
  mlir::Value plus(mlir::Value a, mlir::Value b) { return w.write<mlir::arith::AddFOp>(a, b); }
  mlir::Value negated(mlir::Value x) { return w.write<mlir::arith::NegFOp>(x); }

  Writer &w;
  llvm::DenseMap<mlir::Value, bool> weights;
  llvm::DenseMap<mlir::Value, Exponential> exponentials;
};
} // namespace logitile
