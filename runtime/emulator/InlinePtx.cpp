// InlinePtx.cpp - inline PTX means the same handlers as intrinsics do. A text that differs in anything but spaces is
// another instruction, and unknown.
#include "runtime/emulator/InlinePtx.h"
#include "runtime/emulator/Families.h"

namespace logitile::emulator {
namespace {
struct Entry {
  std::string_view text;
  std::string_view intrinsic; // without "llvm.nvvm."
};
constexpr Entry kEntries[] = {
    {"ex2.approx.ftz.f32 $0, $1;", "ex2.approx.ftz.f32"},
    {"lg2.approx.ftz.f32 $0, $1;", "lg2.approx.ftz.f"},
    {"rcp.approx.ftz.f32 $0, $1;", "rcp.approx.ftz.f"},
    {"tanh.approx.f32 $0, $1;", "tanh.approx.f32"},
    {"cp.async.cg.shared.global [$0], [$1], 16;", "cp.async.cg.shared.global.16"},
    {"cp.async.cg.shared.global [$0], [$1], 16, $2;", "cp.async.cg.shared.global.16.s"},
    {"cp.async.cg.shared.global.L2::128B [$0], [$1], 16;", "cp.async.cg.shared.global.16"},
    {"cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;", "cp.async.cg.shared.global.16.s"},
    {"cp.async.commit_group;", "cp.async.commit.group"},
    {"cp.async.wait_all;", "cp.async.wait.all"},
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
