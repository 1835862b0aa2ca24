// Platform.cpp - the registry of platforms.
#include "runtime/device/Platform.h"
#include "compiler/Target/PrefixRegistry.h"
#include "runtime/support/ForkGuard.h"
#include <algorithm>
using namespace logitile;

/// A child of a process that forked finds the registry unlocked.
static PrefixRegistry<Platform, ForkSafeMutex> &registry() {
  static PrefixRegistry<Platform, ForkSafeMutex> all(makeBuiltInPlatforms());
  return all;
}

bool logitile::registerPlatform(std::unique_ptr<Platform> platform) { return registry().add(std::move(platform)); }
std::vector<const Platform *> logitile::listPlatforms() { return registry().list(); }

const Platform &logitile::hostPlatform() {
  std::vector<const Platform *> all = listPlatforms();
  return **std::ranges::find_if(all, [](const Platform *platform) { return platform->facts().runsOnHostThreads; });
}

Result<const Platform *> logitile::findPlatform(std::string_view target) {
  if (const Platform *platform = registry().find(target.substr(0, target.find(':'))))
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
