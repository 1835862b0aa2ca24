// Exponentials.h - rewrites exponentials, so that masked entries (logits of -inf) have a weight of
// exactly 0, and known exponents are kept. docs/design/spec.md has the rules; names of rules below
// are those of that page.
#pragma once
#include "compiler/Transforms/CanonicaliseLoss/Writer.h"
#include "llvm/ADT/DenseMap.h"

namespace logitile {
/// Writes operations on f32 by the rules. Operands were written by the rules themselves.
class Exponentials {
public:
  explicit Exponentials(Writer &writer) : w(writer) {}

  /// a * b. Weights come first, so that one of 0 wins over every other factor.
  mlir::Value product(mlir::Value a, mlir::Value b);
  /// a / b. To divide by an exponential is to multiply by another one.
  mlir::Value quotient(mlir::Value a, mlir::Value b);
  mlir::Value power(mlir::Value a, mlir::Value b);

  enum class Base { E, Two };
  // All of these are null where no rule holds.
  /// The logarithm of an exponential, or of a sum of exponentials over the vocabulary.
  mlir::Value logarithm(mlir::Value x, Base base);
  /// x to a power that is a constant.
  mlir::Value root(mlir::Value x, double power);
  /// The entry of an exponential, made by the ops that make the value there, so that it has the
  /// same bits. 'of' gives the entry of an exponent.
  mlir::Value entry(mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> of);
  /// An exponential that is NaN where a condition does not hold: so is its exponent.
  mlir::Value selectedOrNaN(mlir::arith::SelectOp select);
  /// The min or max of an exponential: its entry where the exponent has its own. Not of products,
  /// of which another entry may be the largest once they are rounded.
  mlir::Value leastOrLargest(mlir::Value x, Combiner combiner);
  /// What has its extremes where x has them: the exponent of an exponential, else x.
  mlir::Value orderedLike(mlir::Value x);

  /// Finds out what is asked later, while the answers for operands are known: so no question goes
  /// deep.
  void note(mlir::Value x) { isWeight(x); }

private:
  /// A value that is known to be base ** exponent.
  struct Exponential {
    Base base = Base::E;
    mlir::Value exponent; // null: it is none
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
  /// 'onVarying': what does not vary is its own entry.
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
