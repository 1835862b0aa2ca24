// Workspace.h - the allocator of host memory for calls. Its large blocks are kept for later calls.
// The launch plan says where the buffers are in a block.
#pragma once
#include "runtime/support/ForkGuard.h"
#include "runtime/support/Status.h"
#include <vector>

namespace logitile {
/// Memory of one call. Destroying the block gives the memory back, through the deleter of 'memory'.
class WorkspaceBlock {
public:
  WorkspaceBlock() = default;
  WorkspaceBlock(std::shared_ptr<char> memory, int64_t bytes) : memory(std::move(memory)), bytes(bytes) {}

  char *data() const { return memory.get(); }
  /// The number of bytes that were asked for.
  int64_t size() const { return bytes; }

private:
  std::shared_ptr<char> memory;
  int64_t bytes = 0;
};

/// Thread-safe. It must outlive its blocks. Blocks of 2 MiB and more are aligned to huge pages. The
/// contents of a new block are unspecified.
class Workspace {
public:
  /// 'keepBytes': the most bytes of free blocks that are kept. If there are more, the oldest free
  /// blocks are returned to the system.
  explicit Workspace(int64_t keepBytes) : keepBytes(keepBytes) {}
  ~Workspace();

  /// Fails if the system has no memory left.
  Result<WorkspaceBlock> take(int64_t bytes);
  /// Returns all free blocks to the system.
  void clear();

  struct Usage {
    int64_t takenBytes = 0; // that calls have asked for, in blocks that are not free again
    int64_t freeBytes = 0;  // in free blocks
    int64_t peakBytes = 0;  // the most that 'takenBytes' ever was
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
