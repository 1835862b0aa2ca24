// SparseEntries.h - row state that a single vocabulary entry per token decides, such as the logit
// of a target. A conversion looks for that entry instead of comparing every one.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace logitile {
/// Entry `entry` of the state changes only where the column equals `index`, which is one number per
/// token. `comparison` says so, or says the opposite.
struct SparseEntry {
  unsigned entry;
  mlir::Value index;
  mlir::arith::CmpIOp comparison;
};

/// The entries of 'op' whose update is select(column == index, value, old), where neither index nor
/// value read the row state. A further condition beside the comparison is allowed.
llvm::SmallVector<SparseEntry> findSparseEntries(UpdateStateOp op);
} // namespace logitile
