// FinishExtender.h - appends results to a finish.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/Builders.h"

namespace logitile {
class FinishExtender {
public:
  /// Operations that 'b' creates stand before the terminator of 'finish'.
  explicit FinishExtender(FinishOp finish);

  /// Adds 'value' as the last result. If another result has this name, a number is appended to the
  /// name.
  ResultAttr add(llvm::StringRef name, mlir::Value value);
  /// The value of 'result' inside this finish. A result of another finish is read with
  /// logitile.known.
  mlir::Value known(ResultAttr result);
  mlir::Value number(float value);

  FinishOp finish;
  mlir::OpBuilder b;

private:
  llvm::SmallVector<mlir::Attribute> names, types;
  llvm::SmallVector<mlir::Value> values;
};
} // namespace logitile
