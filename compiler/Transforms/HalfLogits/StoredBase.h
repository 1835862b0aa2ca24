// StoredBase.h - finds the value through which a gradient reads logits; this value is stored in 16
// bits.
#pragma once
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace logitile {
/// The base of a sweep's only exponential: the exponent before uniform values are added to it or
/// multiply it. If the exponent is a softcap, the base is the argument of tanh. The base is found
/// in the region that yields the candidates for the running maximum, and in any other block that
/// computes the same value.
class StoredBase {
public:
  /// tanh is 1 or -1 in f32 beyond it.
  static constexpr float kCap = 10;

  /// The tanh of a region that computes candidates; null if the candidates are no softcap.
  static mlir::math::TanhOp tanhOf(mlir::Block &candidates);

  /// The base in a region that computes candidates.
  static mlir::Value of(mlir::Block &candidates);

  StoredBase(mlir::Block &candidates, mlir::Block &reader);

  bool isCapped() const { return bool(tanh); }
  /// The base in 'reader'; null if 'reader' does not compute it.
  mlir::Value inReader() const { return matches.lookupOrNull(base); }
  /// Whether 'value', in 'reader', is that tanh.
  bool isTanh(mlir::Value value) const { return tanh && value && matches.lookupOrNull(candidate) == value; }

private:
  mlir::math::TanhOp tanh; // null where there is none
  mlir::Value candidate, base;
  mlir::IRMapping matches;
};
} // namespace logitile
