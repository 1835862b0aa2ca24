// Block.h - one block of emulated threads: its state, the running thread, and the reports of
// faults. The files of the instructions use it.
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
  std::string_view what; // a string literal
};

/// One emulated thread. Generated code reads the first fields, by their offsets.
struct Thread {
  static constexpr uint32_t kTurns = 4096;
  std::array<uint32_t, 3> tid, ntid, ctaid, nctaid;
  uint32_t lane, warpIndex;
  uint8_t *shared;

  Block *block = nullptr;
  uint32_t linear = 0, fiber = 0;
  bool hasArrived = false; // at the barrier of its cluster, and has not waited for it yet
  uint32_t arrivedIn = 0;  // the phase of that barrier
  bool hasEnded = false;
  uint32_t turns = kTurns; // iterations of loops until other threads run
  uint32_t votes = 0, voters = 0; // at the last barrier: true predicates, threads
  void *stackPointer = nullptr;
  Waiting waiting;
  Knowledge knowledge;
  AsyncCopies copies;
  BulkStores bulk;
  ByScope fenced; // what its strong writes release: everything before its last fence
  ByScope seen;   // what its strong reads have read, and its next fence acquires
};

/// A meeting of lanes of a warp: 'mask' has the lanes that must come, 'arrived' those that have.
struct Gathered {
  const Meet *place = nullptr;
  uint32_t mask = 0, arrived = 0;
  std::array<Slot *, 32> frames;
};

struct Warp {
  Block *block = nullptr;
  uint32_t index = 0, live = 0;
  uint32_t registers = 0; // of each thread; 0: unknown
  std::vector<Gathered> meetings; // their masks do not overlap
  Products products;
};

/// Four warps that run wgmma together, and what each of them has issued.
struct Warpgroup {
  struct Issued {
    const Op *op;
    uint64_t a, b;
  };
  std::deque<Issued> products; // those that not all four warps have issued yet, from number 'first' on
  uint64_t first = 0;
  std::array<uint64_t, 4> issued = {0, 0, 0, 0};
};

/// The memory that an access touches, for a report.
struct Touched {
  Space space;
  uint64_t address;
  std::string_view object;
};

/// The earlier access of a race.
struct Earlier {
  uint32_t actor, op, time;
  AccessKind kind;
  uint32_t block = 0; // 0: the block that reports it
};

/// What all blocks of a launch share.
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
  /// The block with the number 'rank' of 'cluster'. 'stacks' are those of the cluster's threads.
  Block(const LaunchContext &launch, Cluster &cluster, uint32_t rank, FiberStacks &stacks);
  /// Whether the system had memory for the stacks and the shared memory.
  bool isValid() const { return stacks.isValid() && shared.isValid(); }
  bool isInterrupted() const { return wasInterrupted; }
  bool hasFailed() const { return wasFaulty; }
  /// Sets the state to the start of the block with this index.
  void reset(std::array<uint32_t, 3> blockIndex);
  /// Runs the first thread of the block. Returns when an emulated thread switches back to
  /// 'hostStack'.
  void start(void *&hostStack);

  /// The block that runs on this thread of the host.
  static Block &running();
  /// While an object of this class lives, other blocks may run on this thread of the host. Its
  /// destructor makes the earlier block the running one again.
  class RunningOnly {
  public:
    RunningOnly();
    ~RunningOnly();

  private:
    Block *before;
  };
  Thread &currentThread() { return threads[current]; }
  Warp &warpOf(const Thread &thread) { return warps[thread.warpIndex]; }
  /// The mask of the lanes that a warp has at the start. The last warp may have fewer than 32.
  uint32_t presentIn(uint32_t warp) const { return warp * 32 + 32 <= actors.threads ? ~0u : (1u << actors.threads % 32) - 1; }

  // ---- waiting
  /// Runs other threads. Returns after something has woken 'thread', the running thread.
  void wait(Thread &thread, const Op &op, std::string_view what);
  /// Runs other threads, and returns after that. If threads only do this, and nothing else happens
  /// for many turns, that is a deadlock.
  void yieldTurn(Thread &thread, const Op &op, std::string_view what);
  void wake(uint32_t thread);
  /// Records that something has happened for which other threads may wait.
  void noteProgress();
  void startIdling() { idleTurns = loopTurns = 0; }
  /// Called after many iterations of loops. Runs other threads, because the loop may wait for what
  /// they write. Too many iterations without any other progress are a fault.
  void restInLoop(Thread &thread, const Op &op);

  // ---- order
  /// Whether everything that 'actor' of this block did up to 'time' is ordered before what 'thread'
  /// does now. 'thread' may belong to another block of the cluster.
  bool knows(const Thread &thread, uint32_t actor, uint32_t time) const;
  /// Whether fences of proxies have also made everything that 'actor' did up to 'time' visible to
  /// the asynchronous proxy, for accesses of 'thread'.
  bool isFenced(const Thread &thread, uint32_t actor, uint32_t time) const;
  /// The clock that a thread with the clock 'clock' has after a fence of proxies.
  ClockRef fencedClock(const ClockRef &clock);

  // ---- faults
  void reportRace(const Access &access, const Touched &touched, const Earlier &earlier);
  void reportProxyFence(const Access &access, const Touched &touched, const Earlier &earlier);
  void reportUninitialised(const Access &access, const Touched &touched);
  /// Reports a fault after which results would be meaningless, and stops the cluster. Does not
  /// return.
  [[noreturn]] void fail(Report report);
  /// A report about one thread at one instruction.
  Report describe(Fault fault, const Thread &thread, const Op &op, std::string action, std::string detail) const;
  Party party(uint32_t actor, uint32_t op, std::string action) const;

  // ---- for the cluster
  /// Takes the thread that runs next; none if all threads that have not ended wait.
  std::optional<uint32_t> takeNext();
  bool progressEngines();
  void reportDeadlock();

  const LaunchContext &launch;
  Cluster &cluster;
  const uint32_t rank; // in the cluster
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
  std::vector<BulkLoad> loads; // copies under way
  uint32_t promises = 0;       // promised arrivals at mbarriers; they come when copies of threads have landed
  Releases releases;           // in shared memory
  ClockJoin join;
  uint32_t now = 1, live = 0, id = 0;
  uint32_t freeRegisters = 0; // that a warp can still take, for each of its threads
  std::array<uint32_t, 3> index = {0, 0, 0};

private:
  static void threadMain();
  void resetThread(uint32_t linear);
  void endThread(Thread &thread);
  void reschedule(bool othersFirst = false);
  /// Switches to a thread. Stores in 'from' the stack pointer with which the caller can be resumed.
  void enter(uint32_t thread, void *&from);
  /// Makes the checks of a thread that has just ended. Fails if lanes of its warp still wait for
  /// it.
  void checkEnd(Thread &thread);
  /// Fails if ended warps of the thread's warpgroup have issued different numbers of wgmma.
  void checkWarpgroup(const Thread &thread);
  /// Called when the block has ended. Fails if there is a bulk copy for which no thread has waited.
  void checkLoads();
  /// Lets a barrier of the whole block go on without a thread that has ended. Fails if other lanes
  /// of the thread's warp wait at the barrier.
  void leaveBarrier(const Thread &thread, NamedBarrier &barrier);
  /// Runs other threads before 'thread' goes on.
  void rest(Thread &thread, const Op &op, std::string_view what);
  std::string_view pendingText(const Earlier &earlier) const;
  /// What a thread of another block knows of this block; null for threads of this block.
  const Known *knownOfOther(const Thread &thread) const;
  /// The party of a report that makes the later access.
  Party laterParty(const Access &access, std::string action) const;
  void reportEndless();
  /// One party for each warp and each instruction at which lanes of the warp wait.
  std::vector<Party> waitingParties() const;

  static constexpr uint64_t kIdleTurns = 256; // the most per thread without any progress
  static constexpr uint64_t kTurnsPerQuestion = 1 << 20;
  uint64_t idleTurns = 0, loopTurns = 0;
  ClockRef lastUnfenced, lastFenced;
  std::vector<uint32_t> resting; // threads that have yielded their turn
  uint32_t current = 0;
  bool wasFaulty = false, wasInterrupted = false;
};

/// Starts the next phase of an mbarrier if the current phase lacks neither arrivals nor bytes.
void completeIfDone(Block &block, Mbarrier &mbarrier);
/// Ends the round of a barrier at which all its threads have arrived.
void completeBarrier(Block &block, NamedBarrier &barrier);
/// The mbarrier at an offset in the shared memory of 'block', which may be another block of the
/// thread's cluster. Fails if no mbarrier is initialised there.
const Mbarrier &findMbarrier(Block &block, Thread &thread, const Op &op, uint32_t offset);
/// Subtracts the bytes of a copy that has landed from those for which its mbarrier waits.
void completeBytes(Block &block, const BulkLoad &load);
/// The block of the thread's cluster that has an address in its shared memory. Fails if there is
/// none, or if that block has ended.
Block &liveBlockAt(Thread &thread, const Op &op, const uint8_t *address);
/// Finishes number 'which' of the bulk copies to shared memory that are under way.
void landLoad(Block &block, size_t which);
/// Finishes the bulk copies from shared memory of a thread that ends. Fails if one of them has not
/// read its source yet.
void endBulkCopies(Thread &thread);
/// Finishes the copies for which the oldest promise of 'thread' waits, and makes the promised
/// arrival at the mbarrier.
void landPromise(Block &block, Thread &thread);
/// Called by generated code in each iteration of a loop.
void countTurn(Thread *thread, const Op *op);
} // namespace logitile::emulator
