// Library.cpp - the emulator as a separate library: the functions for the runtime. Exceptions end
// here, because those of this library mean nothing outside.
#include "emulator/Program.h"
#include "emulator/core/TensorMap.h"
#include "runtime/emulator/Interface.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdlib>
#include <stdexcept>

namespace logitile::emulator {
namespace {
using abi::Ending;

/// A copy for the runtime; null where there is no memory for it.
abi::Text textOf(std::string_view text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

Ending failed(abi::Text *error, std::string_view why) {
  *error = textOf(why);
  return *error ? Ending::failed : Ending::noMemory;
}

/// Runs the body of one of the functions, which returns a reason to fail or "".
template <typename Body> Ending guarded(abi::Text *error, Body body) noexcept {
  try {
    const std::string why = body();
    return why.empty() ? Ending::done : failed(error, why);
  } catch (const std::bad_alloc &) {
    return Ending::noMemory;
  } catch (const std::exception &thrown) {
    return failed(error, thrown.what());
  }
}

// ---- handles ------------------------------------------------------------------------------------

Program *programOf(abi::Program *handle) { return reinterpret_cast<Program *>(handle); }
GlobalMemory *memoryOf(abi::Memory *handle) { return reinterpret_cast<GlobalMemory *>(handle); }

// ---- functions ----------------------------------------------------------------------------------

Ending load(const char *ir, size_t bytes, const abi::HostCompiler *compiler, abi::Program **program, abi::Text *error) {
  return guarded(error, [&] {
    std::string why;
    *program = reinterpret_cast<abi::Program *>(Program::load(std::string_view(ir, bytes), *compiler, why).release());
    return *program ? std::string() : why;
  });
}
void release(abi::Program *program) { delete programOf(program); }

Ending createMemory(abi::Memory **memory) {
  abi::Text none = nullptr;
  return guarded(&none, [&] {
    *memory = reinterpret_cast<abi::Memory *>(new GlobalMemory());
    return std::string();
  });
}
Ending addMemory(abi::Memory *memory, const char *name, void *data, size_t bytes, bool isDefined) {
  abi::Text none = nullptr;
  return guarded(&none, [&] {
    memoryOf(memory)->add(name, data, bytes, isDefined ? Contents::defined : Contents::undefined);
    return std::string();
  });
}
void releaseMemory(abi::Memory *memory) { delete memoryOf(memory); }

Launch launchOf(const abi::Launch &given) {
  Launch launch;
  launch.kernel = given.kernel;
  launch.grid = std::to_array(given.grid);
  launch.threads = std::to_array(given.threads);
  launch.dynamicSharedBytes = given.dynamicSharedBytes;
  launch.arguments.assign(given.arguments, given.arguments + given.argumentCount);
  launch.seed = given.seed;
  launch.interrupt = given.interrupt;
  return launch;
}

Ending run(abi::Program *program, const abi::Launch *launch, abi::Memory *memory, abi::Outcome *outcome, abi::Text *error) {
  return guarded(error, [&] {
    Outcome found;
    std::string why;
    if (!programOf(program)->run(launchOf(*launch), *memoryOf(memory), found, why))
      return why;
    *outcome = {nullptr, nullptr, found.counters, found.isInterrupted};
    if (found.reports.empty())
      return std::string();
    outcome->reports = textOf(found.text());
    outcome->facts = textOf(jsonOf(found.reports));
    if (!outcome->reports || !outcome->facts)
      throw std::bad_alloc();
    return std::string();
  });
}

Ending encodeTensorMap(const abi::TensorMatrix *matrix, void *map, abi::Text *error) {
  static_assert(sizeof(TensorMap) == abi::kTensorMapBytes);
  return guarded(error, [&] {
    TensorMapArguments arguments = {};
    arguments.type = matrix->isF16 ? TensorType::f16 : TensorType::bf16;
    arguments.rank = 2;
    arguments.address = matrix->address;
    arguments.sizes = {matrix->columns, matrix->rows};
    arguments.strides = {matrix->pitch};
    arguments.box = {matrix->boxColumns, matrix->boxRows};
    arguments.elementSteps = {1, 1};
    arguments.swizzle = matrix->swizzle == 128 ? 3 : matrix->swizzle == 64 ? 2 : 1;
    TensorMap made;
    const std::string why = logitile::emulator::encodeTensorMap(arguments, made);
    std::memcpy(map, &made, sizeof made);
    return why;
  });
}

constexpr abi::Functions kFunctions = {abi::kVersion, load, release, createMemory, addMemory, releaseMemory, run, encodeTensorMap};

/// LLVM would end the process.
void letLLVMThrow() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { throw std::bad_alloc(); });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) { throw std::runtime_error(std::string("LLVM: ") + reason); });
}
} // namespace
} // namespace logitile::emulator

/// What abi::kSymbol names. The runtime calls it once.
extern "C" __attribute__((visibility("default"))) const logitile::emulator::abi::Functions *logitile_emulator() {
  logitile::emulator::letLLVMThrow();
  return &logitile::emulator::kFunctions;
}
