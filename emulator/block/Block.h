// Block.h - one block of emulated threads: its state, the running thread, and the reports of
// faults. Instructions use it from the files of their families.
#pragma once
#include "emulator/block/AsyncCopies.h"
#include "emulator/block/Barriers.h"
#include "emulator/block/BulkCopies.h"
#include "emulator/core/Fiber.h"
#include "emulator/block/GlobalMemory.h"
#include "emulator/block/Order.h"
#include "emulator/block/Products.h"
#include "emulator/core/Scheduler.h"
#include "emulator/block/Traffic.h"
#include "runtime/support/Interrupt.h"

namespace logitile::emulator {
/// What a blocked thread waits for.
struct Waiting {
  const Op *op = nullptr;
  std::string_view what; // a literal
};

/// One emulated thread. Generated code reads the first fields at these offsets.
struct Thread {
  static constexpr uint32_t kTurns = 4096;
  std::array<uint32_t, 3> tid, ntid, ctaid, nctaid;
  uint32_t lane, warpIndex;
  uint8_t *shared;

  Block *block = nullptr;
  uint32_t linear = 0, fiber = 0;
  bool hasArrived = false; // at the barrier of its cluster, for which it has not waited
  uint32_t arrivedIn = 0;  // the phase of that barrier
  bool hasEnded = false;
  uint32_t turns = kTurns; // of loops until others run
  uint32_t votes = 0, voters = 0; // of the last barrier
  void *stackPointer = nullptr;
  Waiting waiting;
  Knowledge knowledge;
  AsyncCopies copies;
  BulkStores bulk;
  ByScope fenced; // what its strong writes hand on: all before its last fence
  ByScope seen;   // what its strong reads have read, for its next fence
};

/// Lanes on their way to one instruction of their warp.
struct Gathered {
  const Meet *place = nullptr;
  uint32_t mask = 0, arrived = 0;
  std::array<Slot *, 32> frames;
};

struct Warp {
  Block *block = nullptr;
  uint32_t index = 0, live = 0;
  uint32_t registers = 0; // for each thread; 0 where nobody knows
  std::vector<Gathered> meetings; // their masks do not overlap
  Products products;
};

/// Four warps that run wgmma together: what each has issued.
struct Warpgroup {
  struct Issued {
    const Op *op;
    uint64_t a, b;
  };
  std::deque<Issued> products; // from number 'first' on, which not all warps have come to
  uint64_t first = 0;
  std::array<uint64_t, 4> issued = {0, 0, 0, 0};
};

/// The memory that an access touches: for a report.
struct Touched {
  Space space;
  uint64_t address;
  std::string_view object;
};

/// The earlier access of a race.
struct Earlier {
  uint32_t actor, op, time;
  AccessKind kind;
  uint32_t block = 0; // 0: this one
};

/// What a launch gives each of its blocks.
struct LaunchContext {
  void (*kernel)(const void *const *arguments);
  const void *const *arguments;
  const std::deque<Op> &ops;
  std::array<uint32_t, 3> grid, threads;
  uint32_t cluster, sharedBytes, registers; // blocks of a cluster are neighbours along x
  uint64_t seed, turns;
  const Interrupt &interrupt;
  GlobalMemory &global;
  Findings &findings;
  Counters &counters;
};

class Cluster;

class Block {
public:
  /// Number 'rank' of its cluster, whose threads have these stacks.
  Block(const LaunchContext &launch, Cluster &cluster, uint32_t rank, FiberStacks &stacks);
  /// Whether there was memory for its stacks and its shared memory.
  bool isValid() const { return stacks.isValid() && shared.isValid(); }
  bool isInterrupted() const { return wasInterrupted; }
  bool hasFailed() const { return wasFaulty; }
  /// Makes it the block with this index, of which nothing has run.
  void reset(std::array<uint32_t, 3> blockIndex);
  /// Runs its first thread. Returns once somebody goes back to 'hostStack'.
  void start(void *&hostStack);

  /// The block that runs on this thread of the host.
  static Block &running();
  /// While it lives, other blocks may run on this thread of the host than before.
  class RunningOnly {
  public:
    RunningOnly();
    ~RunningOnly();

  private:
    Block *before;
  };
  Thread &currentThread() { return threads[current]; }
  Warp &warpOf(const Thread &thread) { return warps[thread.warpIndex]; }
  /// The lanes that a warp has from the start: of the last warp perhaps not all.
  uint32_t presentIn(uint32_t warp) const { return warp * 32 + 32 <= actors.threads ? ~0u : (1u << actors.threads % 32) - 1; }

  // ---- waiting
  /// Returns when somebody has made the running thread ready again.
  void wait(Thread &thread, const Op &op, std::string_view what);
  /// Runs on once nobody else can; a block in which everybody only does that is stuck.
  void yieldTurn(Thread &thread, const Op &op, std::string_view what);
  void wake(uint32_t thread);
  /// Something has happened that others may wait for.
  void noteProgress();
  void startIdling() { idleTurns = loopTurns = 0; }
  /// After many turns of a loop: others run, as it may wait for what they write. Too many without
  /// any progress are a fault.
  void restInLoop(Thread &thread, const Op &op);

  // ---- order
  /// Whether everything that 'actor' did up to 'time' is ordered before what 'thread' does now. It
  /// may be a thread of another block of the cluster.
  bool knows(const Thread &thread, uint32_t actor, uint32_t time) const;
  /// Whether fences of proxies have shown it to the asynchronous proxy as well.
  bool isFenced(const Thread &thread, uint32_t actor, uint32_t time) const;
  /// The clock after such a fence.
  ClockRef fencedClock(const ClockRef &clock);

  // ---- faults
  void reportRace(const Access &access, const Touched &touched, const Earlier &earlier);
  void reportProxyFence(const Access &access, const Touched &touched, const Earlier &earlier);
  void reportUninitialised(const Access &access, const Touched &touched);
  /// Reports and ends the block: nothing after this fault would mean anything. Does not return.
  [[noreturn]] void fail(Report report);
  /// A report about one thread at one instruction.
  Report describe(Fault fault, const Thread &thread, const Op &op, std::string action, std::string detail) const;
  Party party(uint32_t actor, uint32_t op, std::string action) const;

  // ---- for the cluster
  /// Takes the thread that runs next; none where all that have not ended wait.
  std::optional<uint32_t> takeNext();
  bool progressEngines();
  void reportDeadlock();

  const LaunchContext &launch;
  Cluster &cluster;
  const uint32_t rank; // in it
  Actors actors;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  Scheduler scheduler;
  SharedMemory shared;
  FiberStacks &stacks;
  Traffic traffic;
  std::array<NamedBarrier, 16> barriers;
  std::map<uint32_t, Mbarrier> mbarriers; // by offset
  uint32_t nextLanding = 0;
  std::vector<BulkLoad> loads; // under way
  uint32_t promises = 0;       // of arrivals at mbarriers, once copies of threads have landed
  Releases releases;           // in shared memory
  ClockJoin join;
  uint32_t now = 1, live = 0, id = 0;
  uint32_t freeRegisters = 0; // for each thread of a warp that takes them
  std::array<uint32_t, 3> index = {0, 0, 0};

private:
  static void threadMain();
  void resetThread(uint32_t linear);
  void endThread(Thread &thread);
  void reschedule(bool othersFirst = false);
  /// Switches to a thread; who switches may be gone on with from 'from'.
  void enter(uint32_t thread, void *&from);
  /// Fails where somebody still waits for the thread that has just ended.
  void checkEnd(Thread &thread);
  /// Fails where warps of its warpgroup have ended after another number of wgmma.
  void checkWarpgroup(const Thread &thread);
  /// Fails where the block has ended and nobody has waited for one of its copies.
  void checkLoads();
  /// A barrier of the whole block goes on without the warps that have ended.
  void leaveBarrier(const Thread &thread, NamedBarrier &barrier);
  /// Runs on once nobody else can.
  void rest(Thread &thread, const Op &op, std::string_view what);
  std::string_view pendingText(const Earlier &earlier) const;
  /// What a thread of another block knows of this one; null for threads of this one.
  const Known *knownOfOther(const Thread &thread) const;
  /// Who comes later in a report.
  Party laterParty(const Access &access, std::string action) const;
  void reportEndless();
  /// One party for each warp and instruction at which lanes of it wait.
  std::vector<Party> waitingParties() const;

  static constexpr uint64_t kIdleTurns = 256; // per thread, without any progress
  static constexpr uint64_t kTurnsPerQuestion = 1 << 20;
  uint64_t idleTurns = 0, loopTurns = 0;
  ClockRef lastUnfenced, lastFenced;
  std::vector<uint32_t> resting; // threads that have yielded their turn
  uint32_t current = 0;
  bool wasFaulty = false, wasInterrupted = false;
};

/// Starts the next phase of an mbarrier for which nothing is missing.
void completeIfDone(Block &block, Mbarrier &mbarrier);
/// Ends a round of a barrier whose threads have all come.
void completeBarrier(Block &block, NamedBarrier &barrier);
/// An mbarrier in use, of the block or another one of its cluster; fails where there is none.
const Mbarrier &findMbarrier(Block &block, Thread &thread, const Op &op, uint32_t offset);
/// Has the bytes of a copy that has landed arrive at its mbarrier.
void completeBytes(Block &block, const BulkLoad &load);
/// The block of the cluster whose shared memory an address is in; fails where there is none, or it
/// has ended.
Block &liveBlockAt(Thread &thread, const Op &op, const uint8_t *address);
/// Lands one of the bulk copies to shared memory that are under way.
void landLoad(Block &block, size_t which);
/// Ends the bulk copies of a thread that ends; fails where they still need shared memory.
void endBulkCopies(Thread &thread);
/// Lands the copies that the oldest promise of 'thread' waits for and arrives at its mbarrier.
void landPromise(Block &block, Thread &thread);
/// Called by generated code at each turn of a loop.
void countTurn(Thread *thread, const Op *op);
} // namespace logitile::emulator
