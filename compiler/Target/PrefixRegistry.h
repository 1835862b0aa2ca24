// PrefixRegistry.h - a registry that finds objects by the prefix of a target's name: backends of
// the compiler, platforms of the runtime. No MLIR or LLVM here, because the runtime includes this
// file.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace logitile {
/// Members have `prefix()`. They are only ever added, at any time and from any thread, and none is
/// removed or replaced: a pointer to one stays valid until the process ends.
template <typename Member, typename Mutex>
class PrefixRegistry {
public:
  explicit PrefixRegistry(std::vector<std::unique_ptr<Member>> builtIn) : members(std::move(builtIn)) {}

  /// False, and nothing is changed, where the prefix is taken.
  [[nodiscard]] bool add(std::unique_ptr<Member> member) {
    std::lock_guard lock(mutex);
    if (findLocked(member->prefix()))
      return false;
    members.push_back(std::move(member));
    return true;
  }
  /// Null where no member has this prefix.
  const Member *find(std::string_view prefix) const {
    std::lock_guard lock(mutex);
    return findLocked(prefix);
  }
  /// All members, in the order of their registration.
  std::vector<const Member *> list() const {
    std::lock_guard lock(mutex);
    std::vector<const Member *> all;
    for (const std::unique_ptr<Member> &member : members)
      all.push_back(member.get());
    return all;
  }

private:
  const Member *findLocked(std::string_view prefix) const {
    auto found = std::ranges::find(members, prefix, [](const auto &member) { return member->prefix(); });
    return found == members.end() ? nullptr : found->get();
  }

  mutable Mutex mutex;
  std::vector<std::unique_ptr<Member>> members;
};
} // namespace logitile
