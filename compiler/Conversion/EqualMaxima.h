// EqualMaxima.h - what the merge region of a row state becomes if both states have the same maxima.
#pragma once
#include "compiler/Conversion/ScalarRegions.h"
#include "dialect/Logitile.h"

namespace logitile {
/// Maps values of the merge region of 'op' that are known if the maxima of both states are equal:
/// the larger one is either, and factors that relate a state to the larger maximum are 1. The
/// arguments of the region are mapped before. The difference of two infinite maxima is taken as 0:
/// what is relative to them is NaN already.
void mapEqualMaxima(CodeBuilder &builder, Widener &values, UpdateStateOp op);
} // namespace logitile
