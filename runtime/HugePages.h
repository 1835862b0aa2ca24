// HugePages.h - large memory that is new to the process comes sooner in large pages.
#pragma once
#include <cstdint>

namespace logitile {
/// The size of a huge page where pages have 4 KiB.
inline constexpr int64_t kHugePage = 2 * 1024 * 1024;

/// Asks the system for huge pages where 'data' has none yet. Smaller memory, and systems that have none, stay as they
/// are.
void adviseHugePages(char *data, int64_t bytes);
} // namespace logitile
