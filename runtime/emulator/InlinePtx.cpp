// InlinePtx.cpp - the inline PTX of kernels, by the table that they are made from: it means the same handlers as intrinsics
// do. A text that differs in anything but spaces is another instruction, and unknown.
#include "runtime/emulator/InlinePtx.h"
#include "runtime/emulator/Families.h"

namespace logitile::emulator {
namespace {
struct Entry {
  std::string_view text;
  std::string_view intrinsic; // without "llvm.nvvm."
};
constexpr Entry kEntries[] = {
#define INLINE_PTX(name, text, constraints, intrinsic) {text, intrinsic},
#include "compiler/Conversion/TilesToCUDA/InlinePtx.def"
};
} // namespace

std::string normalisePtx(std::string_view text) {
  std::string normal;
  for (char c : text) {
    const bool isSpace = c == ' ' || c == '\t' || c == '\n';
    if (!isSpace)
      normal += c;
    else if (!normal.empty() && normal.back() != ' ')
      normal += ' ';
  }
  while (!normal.empty() && normal.back() == ' ')
    normal.pop_back();
  return normal;
}

std::optional<Instruction> findPtx(std::string_view text) {
  for (const Entry &entry : kEntries)
    if (entry.text == text)
      return findInstruction(entry.intrinsic);
  return std::nullopt;
}
} // namespace logitile::emulator
