// JoinFinishes.h - one finish in the place of two that follow each other.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Makes backward finishes of no sweep part of the forward finishes right before them. The program
/// has to be one whose cotangents are known from the start.
void joinFinishes(ProgramOp program);
} // namespace logitile
