// NewPages.cpp - hints to the system; an error only means pages as they come.
#include "runtime/support/NewPages.h"
#include "llvm/Support/MathExtras.h"
#include <sys/mman.h>
using namespace logitile;

namespace {
/// In pages that lie wholly in 'data'.
void advise(char *data, int64_t bytes, int advice) {
  constexpr uintptr_t kPage = 4096;
  auto first = llvm::alignTo(reinterpret_cast<uintptr_t>(data), kPage);
  auto end = reinterpret_cast<uintptr_t>(data + bytes) / kPage * kPage;
  if (first < end)
    madvise(reinterpret_cast<void *>(first), end - first, advice);
}
} // namespace

void logitile::adviseHugePages(char *data, int64_t bytes) {
  if (bytes >= kHugePage)
    advise(data, bytes, MADV_HUGEPAGE);
}

void logitile::takePages(char *data, int64_t bytes) {
  constexpr int kPopulateWrite = 23; // MADV_POPULATE_WRITE, of headers since glibc 2.35
  advise(data, bytes, kPopulateWrite);
}
