// InlinePtx.h - reads inline PTX of kernels as the PTX ISA defines it. It shares no code with the
// code generator. So a mistake about an instruction in one of them is not repeated in the other.
#pragma once
#include "emulator/core/Instruction.h"
#include <optional>
#include <string_view>
#include <vector>

namespace logitile::emulator {
/// The operands of a text of inline PTX. Its outputs are "$0", "$1" and so on. The numbers of its
/// inputs follow.
struct PtxOperands {
  static constexpr uint32_t kNone = ~0u;
  PtxOperands(uint32_t inputs, std::vector<uint32_t> ties = {}) : inputs(inputs), ties(std::move(ties)) {}
  uint32_t inputs;
  std::vector<uint32_t> ties; // for each output: the input that has the same register, or kNone
};

/// The instruction that a text of inline PTX runs. The operands of the text are in the frame, in
/// order. None if the emulator does not know the text.
std::optional<Instruction> readPtx(std::string_view text, const PtxOperands &operands);
/// The part of readPtx that knows wgmma.
std::optional<Instruction> readWgmma(std::string_view text, const PtxOperands &operands);
} // namespace logitile::emulator
