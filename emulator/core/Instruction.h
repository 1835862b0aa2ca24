// Instruction.h - how generated code calls an emulated instruction: operands and results in the
// slots of a frame, one descriptor per place in the kernel. The files of the families implement the
// instructions.
#pragma once
#include "emulator/core/Report.h"
#include <bit>
#include <cstring>

namespace logitile::emulator {
struct Thread;
struct Warp;
struct Op;

/// One operand or result; its value stands in the lowest bytes.
using Slot = uint64_t;

template <typename T> T get(const Slot *frame, uint32_t slot) {
  T value;
  std::memcpy(&value, frame + slot, sizeof value);
  return value;
}
template <typename T> void set(Slot *frame, uint32_t slot, T value) { std::memcpy(frame + slot, &value, sizeof value); }

/// Runs an instruction for one thread.
using ThreadHandler = void (*)(Thread &, const Op &, Slot *frame);
/// Runs an instruction for the lanes in 'mask' of a warp, which have all arrived.
using WarpHandler = void (*)(Warp &, const Op &, Slot *const *frames, uint32_t mask);

/// How the lanes of a warp meet for an instruction.
enum class Meeting {
  none,    // each thread for itself
  aligned, // all lanes that have not ended, at this very instruction
  masked,  // the lanes of a mask among the operands
};

/// An instruction with its modifiers.
struct Instruction {
  Meeting meeting = Meeting::none;
  ThreadHandler thread = nullptr;
  WarpHandler warp = nullptr;
  std::array<uint32_t, 4> modifiers = {0, 0, 0, 0}; // the last is a MemoryOrder (Order.h)
  bool hasEffects = true; // on memory or on who waits; without, it may share a meeting with its neighbours
  uint32_t maskSlot = 0;
  std::vector<uint32_t> operands = {}; // slots, where instructions of one kind have theirs at different places
};

/// One instruction at one place of the kernel.
struct Op {
  std::string name;
  Source source;
  uint32_t index = 0;
  Instruction instruction;
};

/// What instruments a load, store or atomic operation.
enum class AccessKind : uint32_t { read, write, atomic };

/// Neighbouring instructions of a warp that share one meeting: the lanes wait once for all of them,
/// because nothing observable happens between them.
struct Meet {
  struct Member {
    const Op *op;
    uint32_t firstSlot;
  };
  std::vector<Member> members;
};
} // namespace logitile::emulator
