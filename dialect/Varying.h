// Varying.h - which values of a scalar region differ along the vocabulary, and which are one per token.
#pragma once
#include "dialect/Logitile.h"
#include "llvm/ADT/DenseMap.h"

namespace logitile {
/// Varying: logits, Vocab and Dense inputs, the column, and elementwise maths on any of these. Everything else is
/// uniform: reductions, picks, constants, the other inputs. Arguments of the region's block are uniform.
class Varying {
public:
  /// Analyses all ops of 'region', nested gradients included.
  explicit Varying(mlir::Region &region);
  bool isVarying(mlir::Value value) const { return varying.contains(value); }
  bool isUniform(mlir::Value value) const { return !isVarying(value); }
  /// Whether it has one value for each place of a list.
  static bool isList(mlir::Value value) {
    auto reduce = value.getDefiningOp<ReduceOp>();
    return reduce && reduce.getPlaces();
  }

private:
  void visit(mlir::Operation &op);
  llvm::DenseSet<mlir::Value> varying;
};
} // namespace logitile
