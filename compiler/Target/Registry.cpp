// Registry.cpp - finds backends by the prefix of a target's name.
#include "compiler/Target/Backend.h"
#include "compiler/Target/PrefixRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
using namespace logitile;

std::string Target::name() const { return std::string(backend.prefix()) + ":" + features(); }

static PrefixRegistry<Backend, std::mutex> &registry() {
  static PrefixRegistry<Backend, std::mutex> all(makeBuiltInBackends());
  return all;
}

bool logitile::registerBackend(std::unique_ptr<Backend> backend) { return registry().add(std::move(backend)); }
std::vector<const Backend *> logitile::listBackends() { return registry().list(); }

std::shared_ptr<const Target> logitile::findTarget(std::string_view name, std::string &error) {
  auto [prefix, features] = llvm::StringRef(name).split(':');
  const Backend *backend = registry().find(prefix);
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
