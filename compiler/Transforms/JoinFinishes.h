// JoinFinishes.h - one finish in the place of two that follow each other.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Joins each backward finish that belongs to no sweep with the forward finish right before it. The
/// program's cotangents must be known from the start.
void joinFinishes(ProgramOp program);
} // namespace logitile
