// InstructionTable.h - finds the handler of an instruction by its name.
#pragma once
#include "emulator/core/Instruction.h"
#include <optional>
#include <string_view>

namespace logitile::emulator {
/// The instruction of an intrinsic "llvm.nvvm.<name>"; none where the emulator has no such
/// instruction.
std::optional<Instruction> findInstruction(std::string_view name);
} // namespace logitile::emulator
