// Registry.cpp - finds backends by the prefix of a target's name.
#include "compiler/Plan/LaunchPlan.h"
#include "compiler/Target/Backend.h"
#include "dialect/Logitile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <mutex>
using namespace logitile;

KernelWork Target::predictWork(KernelOp) const { return {}; }
std::string Target::name() const { return std::string(backend.prefix()) + ":" + features(); }

namespace {
class Registry {
public:
  static Registry &get() {
    static Registry registry;
    return registry;
  }

  bool add(std::unique_ptr<Backend> backend) {
    std::lock_guard lock(mutex);
    if (findLocked(backend->prefix()))
      return false;
    backends.push_back(std::move(backend));
    return true;
  }
  const Backend *find(std::string_view prefix) const {
    std::lock_guard lock(mutex);
    return findLocked(prefix);
  }
  std::vector<const Backend *> list() const {
    std::lock_guard lock(mutex);
    std::vector<const Backend *> all;
    for (const std::unique_ptr<Backend> &backend : backends)
      all.push_back(backend.get());
    return all;
  }

private:
  Registry() : backends(makeBuiltInBackends()) {}
  const Backend *findLocked(std::string_view prefix) const {
    auto found = llvm::find_if(backends, [&](const auto &backend) { return backend->prefix() == prefix; });
    return found == backends.end() ? nullptr : found->get();
  }

  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Backend>> backends;
};
} // namespace

bool logitile::registerBackend(std::unique_ptr<Backend> backend) { return Registry::get().add(std::move(backend)); }
std::vector<const Backend *> logitile::listBackends() { return Registry::get().list(); }

std::shared_ptr<const Target> logitile::findTarget(std::string_view name, std::string &error) {
  auto [prefix, features] = llvm::StringRef(name).split(':');
  const Backend *backend = Registry::get().find(prefix);
  std::shared_ptr<const Target> target = backend ? backend->parse(features) : nullptr;
  if (target)
    return target;
  error = "there is no target '" + std::string(name) + "'; ";
  if (backend) {
    error += "'" + prefix.str() + ":' has " + backend->listFeatures();
    return nullptr;
  }
  std::vector<const Backend *> all = listBackends();
  auto names = llvm::map_range(all, [](const Backend *backend) { return "'" + std::string(backend->prefix()) + ":'"; });
  error += "names begin with " + llvm::join(names, ", ");
  return nullptr;
}
