// Platform.cpp - the registry of platforms.
#include "runtime/device/Platform.h"
#include "runtime/support/ForkGuard.h"
#include <algorithm>
using namespace logitile;

namespace {
class Registry {
public:
  static Registry &get() {
    static Registry registry;
    return registry;
  }

  bool add(std::unique_ptr<Platform> platform) {
    std::lock_guard lock(mutex);
    if (findLocked(platform->prefix()))
      return false;
    platforms.push_back(std::move(platform));
    return true;
  }
  const Platform *find(std::string_view prefix) {
    std::lock_guard lock(mutex);
    return findLocked(prefix);
  }
  std::vector<const Platform *> list() {
    std::lock_guard lock(mutex);
    std::vector<const Platform *> all;
    for (const std::unique_ptr<Platform> &platform : platforms)
      all.push_back(platform.get());
    return all;
  }

private:
  Registry() : platforms(makeBuiltInPlatforms()) {}
  const Platform *findLocked(std::string_view prefix) const {
    auto found = std::ranges::find(platforms, prefix, [](const auto &platform) { return platform->prefix(); });
    return found == platforms.end() ? nullptr : found->get();
  }

  ForkSafeMutex mutex;
  std::vector<std::unique_ptr<Platform>> platforms;
};
} // namespace

bool logitile::registerPlatform(std::unique_ptr<Platform> platform) { return Registry::get().add(std::move(platform)); }
std::vector<const Platform *> logitile::listPlatforms() { return Registry::get().list(); }

const Platform &logitile::hostPlatform() {
  std::vector<const Platform *> all = listPlatforms();
  return **std::ranges::find_if(all, [](const Platform *platform) { return platform->facts().runsOnHostThreads; });
}

Result<const Platform *> logitile::findPlatform(std::string_view target) {
  if (const Platform *platform = Registry::get().find(target.substr(0, target.find(':'))))
    return platform;
  std::string names;
  for (const Platform *platform : listPlatforms())
    names += (names.empty() ? "'" : ", '") + std::string(platform->prefix()) + "'";
  return Status(ErrorCode::Target, "no device runs '" + std::string(target) + "'; there are " + names);
}

std::string_view logitile::featuresOf(std::string_view target) {
  const size_t colon = target.find(':');
  return colon == target.npos ? std::string_view() : target.substr(colon + 1);
}
