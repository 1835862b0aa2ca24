// Order.h - the order that fences and strong accesses create: a release comes before the acquire
// that reads its value, as in the memory consistency model of the PTX ISA. Barriers are in
// Barriers.h; the memories decide what is a race.
#pragma once
#include "emulator/core/Clock.h"
#include "emulator/core/Instruction.h"
#include <unordered_map>

namespace logitile::emulator {
/// Volatile and atomic accesses are strong: for the threads of their block, or for all threads of
/// the device. Two accesses do not race if each is strong for the thread of the other.
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

/// Clocks by scope: what a thread knew at its last fence, or what it may know after its next fence.
using ByScope = std::array<ClockRef, kScopes>;

/// For each word, the clocks that a thread acquires when it reads the value of a strong write.
class Releases {
public:
  void clear() { words.clear(); }
  /// Records a write to a word by a thread of 'block'. 'isUpdate': an atomic update, which keeps
  /// the clocks of earlier writes.
  void write(uintptr_t word, uint32_t block, ByScope given, bool isUpdate);
  /// The clock that a thread of 'block' can acquire by reading the word; null if there is none.
  /// Sets 'scope' to the scope in which it has to acquire.
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
/// Does the synchronisation of a strong access: a write releases, a read acquires.
void synchronise(const Access &access, Releases &releases, const void *address);
/// An instruction that is only a fence.
void fence(Thread &thread, const Op &op, Slot *frame);
} // namespace logitile::emulator
