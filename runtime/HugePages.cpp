// HugePages.cpp - a hint to the system; an error only means small pages.
#include "runtime/HugePages.h"
#include <sys/mman.h>

void logitile::adviseHugePages(char *data, int64_t bytes) {
  if (bytes < kHugePage)
    return;
  constexpr uintptr_t kPage = 4096;
  auto first = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  auto behind = reinterpret_cast<uintptr_t>(data + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void *>(first), behind - first, MADV_HUGEPAGE);
}
