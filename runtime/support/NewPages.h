// NewPages.h - provides the pages of large new memory sooner than with one page fault at a time.
#pragma once
#include <cstdint>

namespace logitile {
/// The size of a huge page on systems whose pages have 4 KiB.
inline constexpr int64_t kHugePage = 2 * 1024 * 1024;

/// Asks the system for huge pages for the parts of 'data' that have no pages yet. Does nothing if
/// 'data' is smaller than a huge page or the system has none.
void adviseHugePages(char *data, int64_t bytes);

/// Allocates all pages inside 'data' that do not exist yet, and keeps the contents of the others.
/// Before Linux 5.14 it does nothing: there, each page is allocated when it is first written.
void takePages(char *data, int64_t bytes);
} // namespace logitile
