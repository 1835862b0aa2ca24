// Workspace.h - the allocator of host memory for calls: large blocks that are kept for later calls.
// The launch plan has the layout of a block.
#pragma once
#include "runtime/support/ForkGuard.h"
#include "runtime/support/Status.h"
#include <vector>

namespace logitile {
/// Memory of one call, given back when destroyed: by what deletes 'memory'.
class WorkspaceBlock {
public:
  WorkspaceBlock() = default;
  WorkspaceBlock(std::shared_ptr<char> memory, int64_t bytes) : memory(std::move(memory)), bytes(bytes) {}

  char *data() const { return memory.get(); }
  /// Bytes that were asked for.
  int64_t size() const { return bytes; }

private:
  std::shared_ptr<char> memory;
  int64_t bytes = 0;
};

/// Thread-safe; outlives its blocks. Those of 2 MiB and more are aligned to huge pages. Contents of
/// a new block are whatever they are.
class Workspace {
public:
  /// 'keepBytes': free blocks beyond it go back to the system.
  explicit Workspace(int64_t keepBytes) : keepBytes(keepBytes) {}
  ~Workspace();

  /// An error where the system has no memory left.
  Result<WorkspaceBlock> take(int64_t bytes);
  /// Gives all free blocks back to the system.
  void clear();

  struct Usage {
    int64_t takenBytes = 0; // in blocks that calls hold, as they asked for
    int64_t freeBytes = 0;  // in blocks that wait for calls
    int64_t peakBytes = 0;  // the most that was ever taken
  };
  Usage usage();

private:
  struct FreeBlock {
    char *memory;
    int64_t capacity;
  };
  std::optional<FreeBlock> takeFree(int64_t bytes);
  void giveBack(const FreeBlock &block, int64_t bytes);

  const int64_t keepBytes;
  ForkSafeMutex mutex;
  std::vector<FreeBlock> free; // oldest first
  Usage counts;
};
} // namespace logitile
