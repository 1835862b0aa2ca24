// Workspace.h - the allocator of host memory that calls need for themselves: large blocks that are kept for later calls.
// What lies where in a block is the layout of the launch plan.
#pragma once
#include "runtime/ForkGuard.h"
#include "runtime/Status.h"
#include <vector>

namespace logitile {
class WorkspaceBlock;

/// Where blocks go back to.
class BlockOwner {
public:
  virtual void giveBack(const WorkspaceBlock &block) = 0;

protected:
  ~BlockOwner() = default;
};

/// Memory of one call, given back when destroyed. The owner must outlive it.
class WorkspaceBlock {
public:
  WorkspaceBlock() = default;
  /// 'capacity' and 'note' are for the owner alone.
  WorkspaceBlock(BlockOwner &owner, char *memory, int64_t bytes, int64_t capacity, void *note = nullptr)
      : owner(&owner), memory(memory), bytes(bytes), held(capacity), remark(note) {}
  WorkspaceBlock(WorkspaceBlock &&other) noexcept { *this = std::move(other); }
  WorkspaceBlock &operator=(WorkspaceBlock &&other) noexcept;
  ~WorkspaceBlock() { release(); }

  char *data() const { return memory; }
  /// Bytes that were asked for.
  int64_t size() const { return bytes; }
  int64_t capacity() const { return held; }
  void *note() const { return remark; }

private:
  void release();
  BlockOwner *owner = nullptr;
  char *memory = nullptr;
  int64_t bytes = 0;
  int64_t held = 0;
  void *remark = nullptr;
};

/// Thread-safe. Blocks of 2 MiB and more are aligned to huge pages. Contents of a new block are whatever they are.
class Workspace final : public BlockOwner {
public:
  /// 'keepBytes': free blocks beyond it go back to the system.
  explicit Workspace(int64_t keepBytes) : keepBytes(keepBytes) {}
  ~Workspace();

  /// An error where the system has no memory left.
  Result<WorkspaceBlock> take(int64_t bytes);
  /// Gives all free blocks back to the system.
  void clear();
  void giveBack(const WorkspaceBlock &block) override;

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

  const int64_t keepBytes;
  ForkSafeMutex mutex;
  std::vector<FreeBlock> free; // oldest first
  Usage counts;
};
} // namespace logitile
