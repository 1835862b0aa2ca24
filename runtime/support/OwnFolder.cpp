// OwnFolder.cpp - asks the dynamic linker where this code was loaded from.
#include "runtime/support/OwnFolder.h"
#include <dlfcn.h>

std::string logitile::besideLibrary(const std::string &name) {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void *>(&besideLibrary), &info) || !info.dli_fname)
    return name;
  const std::string library = info.dli_fname;
  const size_t slash = library.rfind('/');
  return (slash == std::string::npos ? "./" : library.substr(0, slash + 1)) + name;
}
