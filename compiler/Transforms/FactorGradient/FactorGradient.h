// FactorGradient.h - splits a gradient of logits into a part that the sweep over the logits can
// store, and a factor of the token that is known later.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Whether all reads of logits in 'program' are those of its first sweep and of its gradient, and
/// the gradient is such a product. Then the program becomes one whose first sweep stores the part
/// that is known by then; else it stays as it is.
bool factorGradient(ProgramOp program);
} // namespace logitile
