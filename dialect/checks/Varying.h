// Varying.h - finds the values of a scalar region that differ along the vocabulary, those that are
// lists, and those that are one per token.
#pragma once
#include "dialect/Logitile.h"
#include "llvm/ADT/DenseMap.h"

namespace logitile {
/// Varying: logits, Vocab and Dense inputs, the column, and elementwise maths on any of these.
/// Everything else is uniform: reductions, picks, constants, the other inputs. Arguments of the
/// region's block are uniform. Lists do not differ along the vocabulary either: they have a value
/// for each place.
class Varying {
public:
  /// Analyses all ops of 'region', nested gradients included.
  explicit Varying(mlir::Region &region);
  /// Of no ops yet.
  Varying() = default;
  /// Analyses one more op, whose operands are results of ops that have been analysed.
  void add(mlir::Operation &op);
  bool isVarying(mlir::Value value) const { return varying.contains(value); }
  bool isUniform(mlir::Value value) const { return !isVarying(value); }
  /// Whether it is a list of largest entries, or of their indices.
  static bool isTopList(mlir::Value value) {
    auto reduce = value.getDefiningOp<ReduceOp>();
    return reduce && reduce.getPlaces();
  }
  /// How many places a value has that is a list, or computed of lists; 0 for all else.
  int64_t placesOf(mlir::Value value) const { return places.lookup(value); }

private:
  llvm::DenseSet<mlir::Value> varying;
  llvm::DenseMap<mlir::Value, int64_t> places;
};
} // namespace logitile
