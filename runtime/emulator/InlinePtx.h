// InlinePtx.h - the closed list of inline PTX that kernels may hold, by its text. Operands are the inputs of the asm in
// order, results its outputs.
#pragma once
#include "runtime/emulator/Instruction.h"

namespace logitile::emulator {
/// The text with single spaces, and none at its ends.
std::string normalisePtx(std::string_view text);
/// The instruction behind a normalised text; none where the list does not have it.
std::optional<Instruction> findPtx(std::string_view text);
} // namespace logitile::emulator
