// Integers.h - gives the integers that a loss computes 32 bits. A result that does not fit
// saturates: it becomes the nearest number that fits. So no result wraps around to a small number,
// which might be an entry of the vocabulary.
#pragma once
#include "compiler/Transforms/CanonicaliseLoss/Writer.h"
#include "llvm/ADT/DenseMap.h"

namespace logitile {
/// Machines compute modulo 2^32. Where the operands may be large enough for that to matter,
/// comparisons find out and choose; elsewhere nothing is added.
class Integers {
public:
  explicit Integers(Writer &writer) : w(writer) {}

  enum class Kind { Add, Sub, Mul };
  /// A sum, difference or product that saturates.
  mlir::Value saturated(Kind kind, mlir::Value a, mlir::Value b);
  /// The index of a pick, limited to what 32 bits hold where its exact value might be more.
  ///
  /// A step that saturates does not help: a difference may bring it back among the entries. So the
  /// whole expression is computed modulo 2^32, where no step loses anything. That is right unless a
  /// multiple of 2^32 may lie between the exact index and an entry, which the same expression in
  /// floats tells.
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
  /// Whether x never lies on the other side of 0.
  bool isOn(Side side, mlir::Value x);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);

  Writer &w;
  Known<Bounds> limits;
  Known<Step> steps;        // by the value that saturates: what it is of
  Known<Step> modularSteps; // by the value of modular()
};
} // namespace logitile
