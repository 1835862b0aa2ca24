// DiskEntry.h - an entry of the disk cache as bytes: a plan, the whole key for which it was
// compiled, and native code. CacheFolder.h and DiskCache.h store entries.
#pragma once
#include "runtime/device/Device.h"
#include <string_view>

namespace logitile {
struct DiskEntry {
  std::string key; // as requestBytes writes it: compared as a whole, not by its digest
  LaunchPlan plan;
  NativeCode native;
};

std::string writeEntry(std::string_view key, const LaunchPlan &plan, const NativeCode &native = {});
/// The entry in 'bytes'. An error that says what is wrong if the bytes are cut off or damaged.
Result<DiskEntry> readEntry(std::string_view bytes);
} // namespace logitile
