// PrefixRegistry.h - a registry of what is found by the prefix of a target's name: backends of the
// compiler, platforms of the runtime. No MLIR or LLVM here: the runtime includes it.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace logitile {
/// Entries have `prefix()`. They are only ever added, at any time and from any thread, and none is
/// removed or replaced: a pointer to one stays valid until the process ends.
template <typename Entry, typename Mutex>
class PrefixRegistry {
public:
  explicit PrefixRegistry(std::vector<std::unique_ptr<Entry>> builtIn) : entries(std::move(builtIn)) {}

  /// False, and nothing is changed, where the prefix is taken.
  [[nodiscard]] bool add(std::unique_ptr<Entry> entry) {
    std::lock_guard lock(mutex);
    if (findLocked(entry->prefix()))
      return false;
    entries.push_back(std::move(entry));
    return true;
  }
  /// Null where no entry has this prefix.
  const Entry *find(std::string_view prefix) const {
    std::lock_guard lock(mutex);
    return findLocked(prefix);
  }
  /// All entries, in the order of their registration.
  std::vector<const Entry *> list() const {
    std::lock_guard lock(mutex);
    std::vector<const Entry *> all;
    for (const std::unique_ptr<Entry> &entry : entries)
      all.push_back(entry.get());
    return all;
  }

private:
  const Entry *findLocked(std::string_view prefix) const {
    auto found = std::ranges::find(entries, prefix, [](const auto &entry) { return entry->prefix(); });
    return found == entries.end() ? nullptr : found->get();
  }

  mutable Mutex mutex;
  std::vector<std::unique_ptr<Entry>> entries;
};
} // namespace logitile
