// Factors.h - splits the dense gradient of logits. FactorGradient.cpp changes the program.
#pragma once
#include "compiler/Transforms/FactorGradient/SliceCloner.h"
#include "dialect/Logitile.h"

namespace logitile {
/// What is the same for all entries of a token, and multiplies all of them.
struct UniformFactor {
  enum class Kind {
    Times,
    Weight, // where it is 0, so is the product, whatever else there is
    Divisor,
    Kept,    // a condition: where it does not hold, the product is 0, whatever else there is
    Dropped, // where it holds
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

/// A gradient, taken apart while its early part is written to another block: what is known while
/// the logits are there.
class Factors {
public:
  /// \param candidate in the gradient's block, what the running maximum of the sweep is of; may be
  /// null.
  Factors(mlir::Block &gradient, mlir::Value candidate) : candidate(candidate) { classify(gradient); }

  /// The early part of 'dense', behind 'cloner'; failure where there is none.
  mlir::FailureOr<mlir::Value> split(mlir::Value dense, SliceCloner &cloner, llvm::function_ref<mlir::Value()> reference);

  /// Whether 'value' is known while the logits are there.
  bool isEarly(mlir::Value value) const { return !late.contains(value); }

  llvm::SmallVector<UniformFactor> uniform;
  std::optional<Exponent> exponent; // of the exponential that is stored relative to a reference
  bool isNegative = false;

private:
  void classify(mlir::Block &gradient);
  bool isUniform(mlir::Value value) const { return !varying.contains(value); }
  std::optional<Exponent> exponentOf(mlir::Value value) const;
  /// Null where nothing is left but factors.
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
