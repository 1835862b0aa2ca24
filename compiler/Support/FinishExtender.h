// FinishExtender.h - appends results to a finish.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/Builders.h"

namespace logitile {
class FinishExtender {
public:
  /// Operations that 'b' creates stand before the terminator of 'finish'.
  explicit FinishExtender(FinishOp finish);

  /// Makes 'value' the last result. The name gets a number where another result has it.
  ResultAttr add(llvm::StringRef name, mlir::Value value);
  /// The value of a result, in this finish: its own results are at hand, those of others are read.
  mlir::Value known(ResultAttr result);
  mlir::Value number(float value);

  FinishOp finish;
  mlir::OpBuilder b;

private:
  llvm::SmallVector<mlir::Attribute> names, types;
  llvm::SmallVector<mlir::Value> values;
};
} // namespace logitile
