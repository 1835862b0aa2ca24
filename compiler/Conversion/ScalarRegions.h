// ScalarRegions.h - the scalar regions of a kernel as code for scalars or vectors. Targets decide
// which elements a region reads.
#pragma once
#include "compiler/Conversion/CodeBuilder.h"
#include "dialect/Logitile.h"
#include "mlir/IR/IRMapping.h"
#include <functional>

namespace logitile {
/// Clones values of scalar regions for 'lanes' lanes (0: scalars). A value is cloned when it is
/// first needed. A copy of a Widener knows all values that were cloned before it was copied. So
/// values that are emitted before a loop are not emitted once more inside, if the loop's body uses
/// a copy.
class Widener {
public:
  Widener(CodeBuilder &e, int64_t lanes) : e(e), lanes(lanes) {}

  void map(mlir::Value scalar, mlir::Value wide) { mapping.map(scalar, wide); }
  void map(mlir::ValueRange scalars, mlir::ValueRange wide) { mapping.map(scalars, wide); }
  /// Sets the number of the vocabulary entry for which 'region' is evaluated.
  void setColumn(mlir::Region &region, Int column);
  /// Sets how random numbers are drawn in lanes. 'draw' returns null for those that it leaves.
  using Draw = std::function<mlir::Value(UniformOp, mlir::ValueRange operands)>;
  void setDraw(Draw draw) { this->draw = std::move(draw); }
  /// Emits all ops of 'region' whose operands are known by now.
  void emitReady(mlir::Region &region);
  /// The clone of 'scalar'. Clones the operands of its op first if needed.
  mlir::Value get(mlir::Value scalar);
  CodeBuilder::Values get(mlir::ValueRange scalars);
  CodeBuilder::Values getYielded(mlir::Region &region);

private:
  mlir::Value expand(mlir::Operation *op, mlir::ValueRange operands);

  CodeBuilder &e;
  int64_t lanes;
  Draw draw;
  mlir::IRMapping mapping;
};
} // namespace logitile
