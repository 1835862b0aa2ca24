// Library.h - the emulator's library, opened when a call first needs it. Interface.h declares its
// functions.
#pragma once
#include "runtime/support/Status.h"
#include "runtime/emulator/HostCode.h"
#include <memory>

namespace logitile::emulator {
/// Its functions. An error where the library is missing or of another version; the next call looks
/// again.
Result<const abi::Functions *> openLibrary();

/// What goes back to the library when it is no longer needed.
struct Releaser {
  const abi::Functions *library;
  void operator()(abi::Program *program) const { library->release(program); }
  void operator()(abi::Memory *memory) const { library->releaseMemory(memory); }
};
using ProgramHandle = std::unique_ptr<abi::Program, Releaser>;
using MemoryHandle = std::unique_ptr<abi::Memory, Releaser>;

/// "" for a null text, which it releases otherwise.
std::string takeText(abi::Text text);
/// Throws where the library had no memory. An error, which starts with 'what', where it failed.
Status statusOf(abi::Ending ending, abi::Text why, const std::string &what);

/// A module for NVPTX, ready to run; 'what' is what messages call it.
Result<ProgramHandle> loadProgram(std::string_view ir, const std::string &what);
Result<MemoryHandle> createMemory();
} // namespace logitile::emulator
