// NewPages.h - provides the pages of large new memory sooner than with one page fault at a time.
#pragma once
#include <cstdint>

namespace logitile {
/// The size of a huge page where pages have 4 KiB.
inline constexpr int64_t kHugePage = 2 * 1024 * 1024;

/// Asks the system for huge pages where 'data' has none yet. Smaller memory, and systems that have
/// none, stay as they are.
void adviseHugePages(char *data, int64_t bytes);

/// Takes the pages that lie wholly in 'data' and are not there yet, contents kept. Systems that
/// cannot (before Linux
/// 5.14) take them one by one when they are written.
void takePages(char *data, int64_t bytes);
} // namespace logitile
