// FactorGradient.h - splits a gradient of logits into a part that the sweep over the logits can
// store, and a factor of the token that is known later.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Factors the gradient if two conditions hold: only the first sweep and the gradient of 'program'
/// read logits, and the gradient is such a product. Then the first sweep of the program stores the
/// early part of the gradient, and the result is true. Otherwise the program does not change.
bool factorGradient(ProgramOp program);
} // namespace logitile
