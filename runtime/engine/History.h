// History.h - records of the runtime's last calls, as plain data: one record for each phase of a
// call. Tests and users read them; nothing in the runtime depends on them.
#pragma once
#include "runtime/call/Call.h"
#include "runtime/support/ForkGuard.h"
#include <deque>

namespace logitile {
struct LaunchRecord {
  struct KernelRecord {
    std::string name;
    KernelUse use;
  };
  uint64_t number = 0; // counts up from 1
  KernelKey key;
  std::string program;
  PlanOrigin origin; // the plan's origin in its first record, a hit in all others
  bool isBackward = false;
  int64_t tokens = 0, counted = 0, chunks = 1;
  int64_t predictedBytes = 0, measuredBytes = 0;
  double runMilliseconds = 0;
  std::vector<KernelRecord> kernels; // empty unless kernels are timed or their work is counted
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
