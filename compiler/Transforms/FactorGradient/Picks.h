// Picks.h - logits at given columns in the row state of a sweep.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// The slot of the row state that has the logit at 'column'; none if no slot has it. 'column' is an
/// input or a known value, in any region. The logit must be of the projection 'logits': a sweep may
/// pick logits of other projections at the same column.
std::optional<unsigned> findPickSlot(SweepOp sweep, mlir::Value column, llvm::StringRef logits);

/// Adds a slot for the logit at 'column', after the other slots, also as an argument of the sweep's
/// finishes. Returns its number. The slot is 0 if the vocabulary has no such column.
unsigned addPickSlot(ProgramOp program, SweepOp sweep, mlir::Value column, llvm::StringRef logits);
} // namespace logitile
