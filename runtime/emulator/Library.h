// Library.h - the emulator's library, opened when a call first needs it. Interface.h declares its
// functions.
#pragma once
#include "runtime/support/Status.h"
#include "runtime/emulator/HostCode.h"
#include <memory>

namespace logitile::emulator {
/// The library's functions. An error if the library is missing or has another version; the next
/// call tries again.
Result<const abi::Functions *> openLibrary();

/// Releases objects of the library.
struct Releaser {
  const abi::Functions *library;
  void operator()(abi::Program *program) const { library->release(program); }
  void operator()(abi::Memory *memory) const { library->releaseMemory(memory); }
};
using ProgramHandle = std::unique_ptr<abi::Program, Releaser>;
using MemoryHandle = std::unique_ptr<abi::Memory, Releaser>;

/// Copies a text and releases it; "" for null.
std::string takeText(abi::Text text);
/// The status of a function of the library. Throws if it had no memory. If it failed, an error that
/// begins with 'what'.
Status statusOf(abi::Ending ending, abi::Text why, const std::string &what);

/// A module for NVPTX, ready to run. 'what' is its name in messages.
Result<ProgramHandle> loadProgram(std::string_view ir, const std::string &what);
Result<MemoryHandle> createMemory();
} // namespace logitile::emulator
