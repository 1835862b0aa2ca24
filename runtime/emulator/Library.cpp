// Library.cpp - finds the emulator's library beside this one, and turns its answers into those of
// the runtime.
#include "runtime/emulator/Library.h"
#include "runtime/support/ForkGuard.h"
#include "runtime/support/OwnFolder.h"
#include <cstdlib>
#include <dlfcn.h>
#include <new>

namespace logitile::emulator {
static Result<const abi::Functions *> open() {
  const std::string path = besideLibrary(abi::kFile);
  auto failed = [&](const std::string &why, const std::string &advice) {
    return Status(ErrorCode::Target, "the emulator of GPUs cannot be used: " + why + "; " + advice);
  };
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = ::dlerror();
    return failed("its library '" + path + "' cannot be opened (" + (why ? why : "no reason is given") + ")",
                  "put the file there, or choose another backend");
  }
  auto get = reinterpret_cast<abi::GetFunctions>(::dlsym(library, abi::kSymbol));
  const abi::Functions *functions = get ? get() : nullptr;
  if (functions && functions->version == abi::kVersion)
    return functions;
  ::dlclose(library);
  return failed("'" + path + "' is of another version of logitile", "take it from the build that this library is from");
}

Result<const abi::Functions *> openLibrary() {
  static ForkSafeMutex mutex;
  static const abi::Functions *opened = nullptr;
  std::lock_guard lock(mutex);
  if (opened)
    return opened;
  Result<const abi::Functions *> found = open();
  if (found.isOk())
    opened = *found;
  return found;
}

std::string takeText(abi::Text text) {
  const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
  return text ? text : "";
}

Status statusOf(abi::Ending ending, abi::Text why, const std::string &what) {
  const std::string reason = takeText(why);
  if (ending == abi::Ending::noMemory)
    throw std::bad_alloc();
  return ending == abi::Ending::done ? Status() : Status(ErrorCode::Internal, what + ": " + reason);
}

Result<ProgramHandle> loadProgram(std::string_view ir, const std::string &what) {
  Result<const abi::Functions *> library = openLibrary();
  if (!library.isOk())
    return library.status();
  abi::Program *program = nullptr;
  abi::Text why = nullptr;
  const abi::Ending ending = (*library)->load(ir.data(), ir.size(), &hostCompiler(), &program, &why);
  if (Status status = statusOf(ending, why, what); !status.isOk())
    return status;
  return ProgramHandle(program, Releaser{*library});
}

Result<MemoryHandle> createMemory() {
  Result<const abi::Functions *> library = openLibrary();
  if (!library.isOk())
    return library.status();
  abi::Memory *memory = nullptr;
  if (Status status = statusOf((*library)->createMemory(&memory), nullptr, "memory"); !status.isOk())
    return status;
  return MemoryHandle(memory, Releaser{*library});
}
} // namespace logitile::emulator
