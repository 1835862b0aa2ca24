// InlinePtx.h - inline PTX of kernels, read as the PTX ISA defines it. This reading is the emulator's own and shares nothing
// with the code generator, so a wrong belief about an instruction cannot stand on both sides.
#pragma once
#include "emulator/Instruction.h"

namespace logitile::emulator {
/// The instruction that a text of inline PTX runs, whose operands are the inputs of the asm in order: "$0", "$1", ... None where
/// the emulator does not know the text.
std::optional<Instruction> readPtx(std::string_view text, uint32_t inputs);
} // namespace logitile::emulator
