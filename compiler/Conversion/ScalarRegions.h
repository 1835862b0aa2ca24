// ScalarRegions.h - the scalar regions of a kernel as code for scalars or vectors. Targets decide
// which elements a region reads.
#pragma once
#include "compiler/Conversion/CodeBuilder.h"
#include "mlir/IR/IRMapping.h"

namespace logitile {
/// Clones values of scalar regions for 'lanes' lanes (0: scalars), each when it is first needed.
/// What a copy of the clone has mapped stays mapped in it: values that are emitted before a loop
/// are not emitted inside.
class Widener {
public:
  Widener(CodeBuilder &e, int64_t lanes) : e(e), lanes(lanes) {}

  void map(mlir::Value scalar, mlir::Value wide) { mapping.map(scalar, wide); }
  void map(mlir::ValueRange scalars, mlir::ValueRange wide) { mapping.map(scalars, wide); }
  /// The number of the vocabulary entry that 'region' is about.
  void setColumn(mlir::Region &region, Int column);
  /// Emits all ops of 'region' whose operands are known by now.
  void emitReady(mlir::Region &region);
  /// The wide form of 'scalar' and of what it is made of.
  mlir::Value get(mlir::Value scalar);
  CodeBuilder::Values getYielded(mlir::Region &region);

private:
  CodeBuilder &e;
  int64_t lanes;
  mlir::IRMapping mapping;
};
} // namespace logitile
