// MatchValues.h - finds values of one block that another block computes as well.
#pragma once
#include "mlir/IR/IRMapping.h"

namespace logitile {
/// Adds to 'matches' each value of 'from' that 'to' computes with the same op from matching
/// operands. Block arguments match only if 'matches' has them before. If both blocks are canonical
/// and without common subexpressions, every equal value is found.
mlir::IRMapping matchValues(mlir::Block &from, mlir::Block &to, mlir::IRMapping matches = {});
} // namespace logitile
