// History.h - what the runtime did lately, as plain data: one record for each phase of a call that ran.
// Tests and users read it; nothing in the runtime depends on it.
#pragma once
#include "compiler/Stages.h"
#include "runtime/Call.h"
#include "runtime/ForkGuard.h"
#include <deque>

namespace logitile {
/// Where the plan of a call came from.
enum class PlanEvent : uint8_t {
  Hit,     // from memory
  Compile, // made now
  Load,    // from bytes of the caller
  Disk,    // from the disk cache
};

struct StageMilliseconds {
  Stage stage;
  double milliseconds;
};

struct LaunchRecord {
  struct KernelRecord {
    std::string name;
    KernelUse use;
  };
  uint64_t number = 0; // counts up from 1
  KernelKey key;
  std::string program;
  PlanEvent event = PlanEvent::Hit;
  bool isAdjoint = false;
  int64_t tokens = 0, counted = 0, chunks = 0;
  int64_t predictedBytes = 0, measuredBytes = 0;
  std::vector<StageMilliseconds> stages; // of a compilation
  double loadMilliseconds = 0;           // of code that was brought in
  double runMilliseconds = 0;
  std::vector<KernelRecord> kernels; // where kernels are timed or their work is counted
};

/// The last records, thread-safe.
class History {
public:
  explicit History(size_t most) : most(most) {}
  void add(LaunchRecord record) {
    std::lock_guard lock(mutex);
    record.number = ++count;
    records.push_back(std::move(record));
    if (records.size() > most)
      records.pop_front();
  }
  /// Oldest first.
  std::vector<LaunchRecord> snapshot() {
    std::lock_guard lock(mutex);
    return {records.begin(), records.end()};
  }
  void clear() {
    std::lock_guard lock(mutex);
    records.clear();
  }

private:
  const size_t most;
  ForkSafeMutex mutex;
  std::deque<LaunchRecord> records;
  uint64_t count = 0;
};
} // namespace logitile
