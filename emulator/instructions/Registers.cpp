// Registers.cpp - setmaxnreg: warps return registers to their block and take them from it. Only
// ptxas knows how many a kernel really uses.
#include "emulator/block/Block.h"
#include "emulator/core/Families.h"

namespace logitile::emulator {
namespace {
constexpr uint32_t kFewest = 24, kMost = 256, kStep = 8; // PTX ISA, "setmaxnreg"

[[noreturn]] void fail(Thread &thread, const Op &op, std::string detail) {
  thread.block->fail(thread.block->describe(Fault::misuse, thread, op, "runs", std::move(detail)));
}

void check(Thread &thread, const Op &op, uint32_t has, uint32_t wanted, bool takes) {
  if (!has)
    fail(thread, op, "the kernel says neither how many threads it has (reqntid, maxntid) nor how many registers (maxnreg), so ptxas "
                     "ignores the instruction");
  if (wanted < kFewest || wanted > kMost || wanted % kStep)
    fail(thread, op, std::to_string(wanted) + " registers are no multiple of 8 from 24 to 256");
  if (takes ? wanted < has : wanted > has)
    fail(thread, op, std::string(takes ? ".inc to " : ".dec to ") + std::to_string(wanted) + " registers, but the warp has " +
                         std::to_string(has) + " for each thread");
}
} // namespace

void setMostRegisters(Warp &warp, const Op &op, Slot *const *frames, uint32_t mask) {
  Block &block = *warp.block;
  Thread &thread = block.currentThread();
  const auto wanted = get<uint32_t>(frames[std::countr_zero(mask)], 0);
  const bool takes = op.instruction.modifiers[0];
  check(thread, op, warp.registers, wanted, takes);
  while (takes && block.freeRegisters < wanted - warp.registers)
    block.yieldTurn(thread, op, "registers of other warps");
  block.freeRegisters += warp.registers - wanted; // unsigned numbers wrap around
  if (!takes)
    block.noteProgress();
  warp.registers = wanted;
}
} // namespace logitile::emulator
