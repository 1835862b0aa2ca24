// Workspace.cpp - blocks from the system, and the list of free ones.
#include "runtime/device/Workspace.h"
#include "compiler/Support/SizeText.h"
#include "runtime/support/NewPages.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <sys/mman.h>
using namespace logitile;

namespace {
constexpr int64_t kPage = 4096;

/// Null where there is no memory.
char *map(int64_t capacity) {
  bool isLarge = capacity >= kHugePage;
  int64_t slack = isLarge ? kHugePage : 0;
  void *mapped = mmap(nullptr, capacity + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  if (!isLarge)
    return static_cast<char *>(mapped);
  char *first = static_cast<char *>(mapped);
  char *aligned = reinterpret_cast<char *>(llvm::alignTo(reinterpret_cast<int64_t>(first), kHugePage));
  if (aligned > first)
    munmap(first, aligned - first);
  munmap(aligned + capacity, first + slack - aligned);
  adviseHugePages(aligned, capacity);
  return aligned;
}
} // namespace

Workspace::~Workspace() { clear(); }

Result<WorkspaceBlock> Workspace::take(int64_t bytes) {
  int64_t capacity = llvm::alignTo(std::max<int64_t>(bytes, 1), kPage);
  std::optional<FreeBlock> found = takeFree(capacity);
  if (!found)
    found = FreeBlock{map(capacity), capacity};
  if (!found->memory)
    return Status(ErrorCode::Value, "the system has no memory for a workspace of " + sizeText(bytes) +
                                        "; give lt.jit a smaller 'workspace' or more 'chunks'");
  {
    std::lock_guard lock(mutex);
    counts.takenBytes += bytes;
    counts.peakBytes = std::max(counts.peakBytes, counts.takenBytes);
  }
  return WorkspaceBlock(std::shared_ptr<char>(found->memory, [this, block = *found, bytes](char *) { giveBack(block, bytes); }), bytes);
}

/// The smallest free block that is large enough, but not much larger. Where there is none, the
/// largest of those that are too small goes: sizes that grow from call to call shall not pile up.
std::optional<Workspace::FreeBlock> Workspace::takeFree(int64_t capacity) {
  std::optional<FreeBlock> found, outgrown;
  {
    std::lock_guard lock(mutex);
    auto best = free.end(), largest = free.end();
    for (auto it = free.begin(); it != free.end(); ++it) {
      if (it->capacity >= capacity && it->capacity <= 2 * capacity && (best == free.end() || it->capacity < best->capacity))
        best = it;
      if (it->capacity < capacity && (largest == free.end() || it->capacity > largest->capacity))
        largest = it;
    }
    auto gone = best != free.end() ? best : largest;
    if (gone != free.end()) {
      (best != free.end() ? found : outgrown) = *gone;
      counts.freeBytes -= gone->capacity;
      free.erase(gone);
    }
  }
  if (outgrown)
    munmap(outgrown->memory, outgrown->capacity);
  return found;
}

void Workspace::giveBack(const FreeBlock &block, int64_t bytes) {
  std::vector<FreeBlock> excess;
  {
    std::lock_guard lock(mutex);
    counts.takenBytes -= bytes;
    counts.freeBytes += block.capacity;
    free.push_back(block);
    while (counts.freeBytes > keepBytes) {
      counts.freeBytes -= free.front().capacity;
      excess.push_back(free.front());
      free.erase(free.begin());
    }
  }
  for (const FreeBlock &old : excess)
    munmap(old.memory, old.capacity);
}

void Workspace::clear() {
  std::vector<FreeBlock> all;
  {
    std::lock_guard lock(mutex);
    all.swap(free);
    counts.freeBytes = 0;
  }
  for (const FreeBlock &block : all)
    munmap(block.memory, block.capacity);
}

Workspace::Usage Workspace::usage() {
  std::lock_guard lock(mutex);
  return counts;
}
