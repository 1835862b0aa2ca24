// MatchValues.h - finds values of one block that another block computes as well.
#pragma once
#include "mlir/IR/IRMapping.h"

namespace logitile {
/// Adds to 'matches' the values of 'from' that 'to' makes in the same way, from values that match.
/// What blocks are given, as their arguments, matches only if it is there before. Canonical, CSEd
/// blocks show every such value.
mlir::IRMapping matchValues(mlir::Block &from, mlir::Block &to, mlir::IRMapping matches = {});
} // namespace logitile
