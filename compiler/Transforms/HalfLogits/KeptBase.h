// KeptBase.h - the value through which a gradient reads logits, which is what 16 bits are kept of.
#pragma once
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace logitile {
/// The base of a sweep's only exponential: the exponent before uniform values are added to it or multiply it. If the exponent is a
/// softcap, the base is the argument of the hyperbolic tangent. The base is found in the region that yields the candidates for the
/// running maximum, and in any other block that computes the same value.
class KeptBase {
public:
  /// A tangent is 1 or -1 in f32 beyond it.
  static constexpr float kCap = 10;

  /// Of a region that makes candidates; null where they are no softcap's.
  static mlir::math::TanhOp tangentOf(mlir::Block &bound);

  /// 'inputs' maps arguments of 'bound' to values of 'reader', where they have some.
  KeptBase(mlir::Block &bound, mlir::Block &reader, mlir::IRMapping inputs = {});

  bool isCapped() const { return bool(tangent); }
  /// In 'reader', or null.
  mlir::Value inReader() const { return matches.lookupOrNull(base); }
  /// Whether 'value', of 'reader', is the tangent.
  bool isTangent(mlir::Value value) const { return tangent && value && matches.lookupOrNull(candidate) == value; }

private:
  mlir::math::TanhOp tangent; // null where there is none
  mlir::Value candidate, base;
  mlir::IRMapping matches;
};
} // namespace logitile
