// Integers.h - gives the integers that a loss computes 32 bits. A result that does not fit
// saturates: it becomes the nearest number that fits. So no result wraps around to a small number,
// which might be an entry of the vocabulary.
#pragma once
#include "compiler/Transforms/CanonicaliseLoss/Writer.h"
#include "llvm/ADT/DenseMap.h"

namespace logitile {
/// Machines compute modulo 2^32. If the operands may be so large that a result does not fit, this
/// class adds comparisons that detect it and select the saturated result. Otherwise it adds
/// nothing.
class Integers {
public:
  explicit Integers(Writer &writer) : w(writer) {}

  enum class Kind { Add, Sub, Mul };
  /// A sum, difference or product that saturates.
  mlir::Value saturated(Kind kind, mlir::Value a, mlir::Value b);
  /// The index of a pick. If its exact value does not fit in 32 bits, the result is the largest or
  /// the smallest number of 32 bits, which is outside the vocabulary.
  ///
  /// It is not enough that each step saturates, because a later difference may move a saturated
  /// number back into the vocabulary. So the whole expression is computed modulo 2^32, in which no
  /// step loses anything. The result is wrong only if the exact index differs from it by a multiple
  /// of 2^32. The same expression in floats shows whether that is so.
  mlir::Value index(mlir::Value x);

private:
  struct Bounds {
    double least, most;
  };
  struct Step {
    Kind kind;
    mlir::Value a, b;
  };
  /// +1 for results that are too large, -1 for those that are too small.
  using Side = int;
  template <typename T> using Known = llvm::DenseMap<mlir::Value, T>;

  mlir::Value write(Kind kind, mlir::Value a, mlir::Value b);
  Bounds limitsOf(mlir::Value x, unsigned reach);
  static Bounds resultOf(Kind kind, Bounds a, Bounds b);
  Bounds boundsOf(mlir::Value x, Known<Bounds> &known);
  mlir::Value modular(mlir::Value x, Known<mlir::Value> &known);
  mlir::Value inFloats(mlir::Value x, Known<mlir::Value> &known);

  // Whether the exact result lies beyond what 32 bits hold, on one side.
  mlir::Value isBeyond(Kind kind, mlir::Value wrapped, mlir::Value a, mlir::Value b, Side side);
  mlir::Value movedBack(mlir::Value wrapped, mlir::Value start, mlir::Value by, Side side, Side sideOfBy);
  mlir::Value productBeyond(mlir::Value wrapped, mlir::Value a, mlir::Value b, Side side);
  mlir::Value estimateBeyond(mlir::Value wrapped, mlir::Value a, mlir::Value b, Side side);
  /// Whether x is never on the other side of 0.
  bool isOn(Side side, mlir::Value x);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);

  Writer &w;
  Known<Bounds> limits;
  Known<Step> steps;        // the operation that a saturated value is the result of
  Known<Step> modularSteps; // by the value of modular()
};
} // namespace logitile
