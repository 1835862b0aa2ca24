// Factors.h - splits the dense gradient of logits. FactorGradient.cpp changes the program.
#pragma once
#include "compiler/Transforms/FactorGradient/SliceCloner.h"
#include "dialect/Logitile.h"

namespace logitile {
/// A factor that is the same for all entries of a token.
struct UniformFactor {
  enum class Kind {
    Times,
    Weight, // if it is 0, the product is 0, whatever the other factors are
    Divisor,
    Kept,    // a condition: if it is false, the product is 0, whatever the other factors are
    Dropped, // a condition: if it is true, the product is 0
  };
  mlir::Value value;
  Kind kind = Kind::Times;
};

/// scale * candidate + the sum of the addends, which are the same for all entries of a token.
struct Exponent {
  struct Addend {
    mlir::Value value;
    float times;
  };
  float scale = 0;
  llvm::SmallVector<Addend> addends;
};

/// Splits a gradient into factors while its early part is written to another block. The early part
/// is what is known while a sweep computes the logits.
class Factors {
public:
  /// \param candidate the value in the gradient's block that equals the candidate of the sweep's
  /// running maximum; may be null.
  Factors(mlir::Block &gradient, mlir::Value candidate) : candidate(candidate) { classify(gradient); }

  /// The early part of 'dense', written after what 'cloner' has cloned; failure where there is
  /// none.
  mlir::FailureOr<mlir::Value> split(mlir::Value dense, SliceCloner &cloner, llvm::function_ref<mlir::Value()> reference);

  /// Whether 'value' is known while a sweep computes the logits.
  bool isEarly(mlir::Value value) const { return !late.contains(value); }

  llvm::SmallVector<UniformFactor> uniform;
  std::optional<Exponent> exponent; // of the exponential that is stored relative to a reference
  bool isNegative = false;

private:
  void classify(mlir::Block &gradient);
  bool isUniform(mlir::Value value) const { return !varying.contains(value); }
  std::optional<Exponent> exponentOf(mlir::Value value) const;
  /// The early part of 'value'; null if 'value' consists only of uniform factors.
  mlir::FailureOr<mlir::Value> early(mlir::Value value);
  mlir::FailureOr<mlir::Value> product(mlir::Operation *op);
  mlir::FailureOr<mlir::Value> exponential(mlir::Operation *op);
  mlir::FailureOr<mlir::Value> selection(mlir::Operation *op);

  mlir::Value candidate;
  llvm::DenseSet<mlir::Value> varying, late;
  SliceCloner *cloner = nullptr;
  llvm::function_ref<mlir::Value()> reference = nullptr;
};
} // namespace logitile
