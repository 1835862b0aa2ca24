// SparseSlots.h - row state that depends on a single vocabulary entry per token, such as the logit
// of a target. A conversion looks for that entry instead of comparing every one.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace logitile {
/// Slot `slot` of the row state changes only at the column `index`, which is one number per token.
/// `comparison` compares the column with `index`, for equality or for inequality.
struct SparseSlot {
  unsigned slot;
  mlir::Value index;
  mlir::arith::CmpIOp comparison;
};

/// The slots of 'op' whose update is select(column == index, value, old), where neither index nor
/// value read the row state. A further condition beside the comparison is allowed.
llvm::SmallVector<SparseSlot> findSparseSlots(UpdateStateOp op);
} // namespace logitile
