// Clock.h - vector clocks: one time per actor, joined when threads synchronise. An actor is a
// thread, or an engine that works for a thread. The memories decide which accesses must be ordered.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace logitile::emulator {
/// Who accesses memory. Engines copy while their thread goes on, so each has a time of its own. So
/// do a thread's strong writes: who acquires one may know it without what the thread did just
/// before.
/// A bulk copy from shared memory reads first and writes later. Products of wgmma are those of a
/// warp; a landing is all copies that an mbarrier counts.
enum class Engine { thread, copy, strongWrites, bulkReads, bulkWrites, products, landing };

/// Numbers of the actors of one block.
struct Actors {
  uint32_t threads = 0;
  static constexpr uint32_t kOfThread = 5;  // those before Engine::products
  static constexpr uint32_t kLandings = 32; // mbarriers share them where there are more
  uint32_t warps() const { return (threads + 31) / 32; }
  uint32_t count() const { return kOfThread * threads + warps() + kLandings; }
  uint32_t copyEngineOf(uint32_t thread) const { return threads + thread; }
  uint32_t strongWritesOf(uint32_t thread) const { return 2 * threads + thread; }
  uint32_t bulkReadsOf(uint32_t thread) const { return 3 * threads + thread; }
  uint32_t bulkWritesOf(uint32_t thread) const { return 4 * threads + thread; }
  uint32_t productEngineOf(uint32_t warp) const { return kOfThread * threads + warp; }
  uint32_t landingOf(uint32_t number) const { return kOfThread * threads + warps() + number % kLandings; }
  Engine engineOf(uint32_t actor) const;
  /// The thread that an actor works for: of a warp's the first; of a landing thread 0.
  uint32_t threadOf(uint32_t actor) const;
  std::string nameOf(uint32_t actor) const;
};

/// For each actor of a block, the latest time with which a thread has synchronised.
using Times = std::vector<uint32_t>;
/// The times of the actors of one block.
struct Known {
  Times times;
  Times fenced = {}; // the part of the times that fences have shown to the asynchronous proxy; shorter: 0
  bool isFenced(uint32_t actor, uint32_t time) const { return actor < fenced.size() && time <= fenced[actor]; }
};
/// The times of the owner's block, and those of other blocks of the launch, by number. A clock is
/// never changed after it has been shared.
struct Clock : Known {
  std::map<uint32_t, std::shared_ptr<const Known>> blocks = {};
};
using ClockRef = std::shared_ptr<const Clock>;
/// A clock of 'block' as a thread of another block sees it; null for null.
ClockRef asOfOther(const ClockRef &clock, uint32_t block);

/// What a thread knows: a shared clock, and possibly later times of its own engines.
struct Knowledge {
  ClockRef clock;
  uint32_t copies = 0; // its own copies are done up to this time
  uint32_t bulkReads = 0, bulkWrites = 0; // the same of its bulk copies from shared memory
  uint32_t products = 0;                  // the same of its warp's
  uint32_t fenced = 0; // fences have shown its own writes to the asynchronous proxy up to this time
};

/// The joined knowledge of the threads that have arrived at a barrier.
class Gathering {
public:
  /// Adds the knowledge of 'thread', and everything that 'thread' itself has done up to 'now'.
  void add(const Actors &actors, uint32_t thread, const Knowledge &knowledge, uint32_t now);
  /// Adds that an engine has done everything up to 'time'.
  void addEngine(const Actors &actors, uint32_t engine, uint32_t time);
  /// Adds the clock of a thread of another block.
  void addOther(const ClockRef &other);
  /// Returns the joined clock for the threads that leave. The next round starts empty.
  ClockRef take();

private:
  std::shared_ptr<Clock> clock;
  ClockRef last; // the clock joined last: most threads share one
};

/// Both clocks together; keeps the last results, as the lanes of a warp ask for the same ones, in
/// random schedules with others between.
class ClockJoin {
public:
  ClockRef join(const ClockRef &one, const ClockRef &other);

private:
  struct Joined {
    ClockRef left, right, result;
  };
  static constexpr size_t kKept = 16;
  std::vector<Joined> kept;
  size_t next = 0;
};
} // namespace logitile::emulator
