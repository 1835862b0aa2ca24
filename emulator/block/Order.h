// Order.h - the order that fences and strong accesses create: a release comes before the acquire
// that reads its value, as in the memory consistency model of the PTX ISA. Barriers are in
// Barriers.h; the memories decide what is a race.
#pragma once
#include "emulator/core/Clock.h"
#include "emulator/core/Instruction.h"
#include <unordered_map>

namespace logitile::emulator {
/// Volatile and atomic accesses are strong, for the threads of their block or of the device. Two
/// that are strong for each other's thread do not race.
enum class Strength : uint8_t { weak, block, device };
constexpr uint32_t kScopes = 2; // block and device

/// How an access or a fence orders the accesses of other threads. The last modifier of an
/// instruction holds it, packed into one number.
struct MemoryOrder {
  Strength strength = Strength::weak;
  bool acquires = false, releases = false;

  uint32_t pack() const { return uint32_t(strength) | uint32_t(acquires) << 8 | uint32_t(releases) << 9; }
};
inline Strength strengthOf(const Op &op) { return static_cast<Strength>(op.instruction.modifiers[3] & 0xff); }
inline MemoryOrder orderOf(const Op &op) {
  const uint32_t packed = op.instruction.modifiers[3];
  return {strengthOf(op), (packed >> 8 & 1) != 0, (packed >> 9 & 1) != 0};
}
/// Whether two accesses are strong for each other.
inline bool areStrong(Strength one, Strength other, bool isOneBlock) {
  const Strength weaker = std::min(one, other);
  return weaker == Strength::device || (isOneBlock && weaker == Strength::block);
}

/// By scope: what a thread knew when it came to its last fence, or what it may know once it comes
/// to the next.
using ByScope = std::array<ClockRef, kScopes>;

/// What strong writes hand on to those who read their values.
class Releases {
public:
  void clear() { words.clear(); }
  /// A write to a word by a thread of 'block'. Updates keep what earlier writes have handed on.
  void write(uintptr_t word, uint32_t block, ByScope given, bool isUpdate);
  /// What a thread of 'block' reads with the word, for those who acquire in which scope; null where
  /// there is nothing.
  ClockRef read(uintptr_t word, uint32_t block, Strength &scope) const;

private:
  struct Release {
    uint32_t block;
    ByScope clocks;
  };
  std::unordered_map<uintptr_t, Release> words;
};

/// All that a thread has done and knows, up to now.
ClockRef everythingOf(Thread &thread);

struct Access;
/// Has a strong access hand on or take what it orders.
void synchronise(const Access &access, Releases &releases, const void *address);
/// An instruction that is only a fence.
void fence(Thread &thread, const Op &op, Slot *frame);
} // namespace logitile::emulator
