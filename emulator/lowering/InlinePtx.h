// InlinePtx.h - reads inline PTX of kernels as the PTX ISA defines it. It shares nothing with the
// code generator, so that a mistake about an instruction is not made on both sides.
#pragma once
#include "emulator/core/Instruction.h"
#include <optional>
#include <string_view>
#include <vector>

namespace logitile::emulator {
/// The operands of a text: its outputs are "$0", "$1", ..., and its inputs follow.
struct PtxOperands {
  static constexpr uint32_t kNone = ~0u;
  PtxOperands(uint32_t inputs, std::vector<uint32_t> ties = {}) : inputs(inputs), ties(std::move(ties)) {}
  uint32_t inputs;
  std::vector<uint32_t> ties; // for each output the input in whose register it is, or kNone
};

/// The instruction that a text of inline PTX runs, whose operands are in the frame in order. None
/// where the emulator does not know the text.
std::optional<Instruction> readPtx(std::string_view text, const PtxOperands &operands);
/// The part of it that knows wgmma.
std::optional<Instruction> readWgmma(std::string_view text, const PtxOperands &operands);
} // namespace logitile::emulator
