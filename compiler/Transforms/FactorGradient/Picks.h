// Picks.h - logits at given columns in the row state of a sweep.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Which slot of the row state has the logit at 'column', an input or a known value of any region;
/// nothing where none has it. A sweep may pick logits of other projections there as well.
std::optional<unsigned> findPickSlot(SweepOp sweep, mlir::Value column, llvm::StringRef logits);

/// A new slot for it, behind the others. Finishes of the sweep take it too. The slot has 0 where
/// the vocabulary has no such column.
unsigned addPickSlot(ProgramOp program, SweepOp sweep, mlir::Value column, llvm::StringRef logits);
} // namespace logitile
