// HostCode.cpp - compiles and links a module for this machine through ORC. Code is optimised as
// little as LLVM can.
#include "runtime/emulator/HostCode.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>
using namespace llvm;
using namespace llvm::orc;

namespace logitile {
namespace {
namespace abi = emulator::abi;
using abi::Ending;

Expected<JITTargetMachineBuilder> hostMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  Expected<JITTargetMachineBuilder> machine = JITTargetMachineBuilder::detectHost();
  if (machine) // the blocks are huge, come optimised and run but a few times
    machine->setCodeGenOptLevel(CodeGenOptLevel::None);
  if (machine && machine->getTargetTriple().isX86()) // whose conversions to bf16 lose subnormal numbers
    machine->addFeatures({"-avx512bf16", "-avxneconvert"});
  return machine;
}

Error defineSymbols(LLJIT &jit, ArrayRef<abi::Symbol> given) {
  SymbolMap symbols;
  for (const abi::Symbol &symbol : given)
    symbols[jit.mangleAndIntern(symbol.name)] = {ExecutorAddr::fromPtr(symbol.address),
                                                 JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  return jit.getMainJITDylib().define(absoluteSymbols(std::move(symbols)));
}

Expected<std::unique_ptr<LLJIT>> link(StringRef bitcode, ArrayRef<abi::Symbol> symbols) {
  auto context = std::make_unique<LLVMContext>();
  Expected<std::unique_ptr<Module>> module = parseBitcodeFile(MemoryBufferRef(bitcode, "kernels"), *context);
  if (!module)
    return module.takeError();
  Expected<JITTargetMachineBuilder> machine = hostMachine();
  if (!machine)
    return machine.takeError();
  Expected<std::unique_ptr<LLJIT>> jit = LLJITBuilder()
                                             .setJITTargetMachineBuilder(std::move(*machine))
                                             .setLinkProcessSymbolsByDefault(false)
                                             .setPlatformSetUp(setUpInactivePlatform)
                                             .create();
  if (!jit)
    return jit;
  if (Error error = defineSymbols(**jit, symbols))
    return error;
  if (Error error = (*jit)->addIRModule(ThreadSafeModule(std::move(*module), std::move(context))))
    return error;
  return jit;
}

// ---- functions for the emulator's library: nothing is thrown to it ------------------------------

/// Runs the body of one of them, which returns an LLVM Error.
template <typename Body> Ending guarded(abi::Text *error, Body body) noexcept {
  try {
    Error failed = body();
    if (!failed)
      return Ending::done;
    *error = ::strdup(toString(std::move(failed)).c_str());
  } catch (const std::bad_alloc &) {
    return Ending::noMemory;
  } catch (const std::exception &thrown) {
    *error = ::strdup(thrown.what());
  }
  return *error ? Ending::failed : Ending::noMemory;
}

LLJIT *jitOf(abi::HostCode *code) { return reinterpret_cast<LLJIT *>(code); }

Ending compile(const char *bitcode, size_t bytes, const abi::Symbol *symbols, size_t count, abi::HostCode **code, abi::Text *error) {
  return guarded(error, [&]() -> Error {
    Expected<std::unique_ptr<LLJIT>> jit = link(StringRef(bitcode, bytes), ArrayRef(symbols, count));
    if (!jit)
      return jit.takeError();
    *code = reinterpret_cast<abi::HostCode *>(jit->release());
    return Error::success();
  });
}

Ending find(abi::HostCode *code, const char *name, void **address, abi::Text *error) {
  return guarded(error, [&]() -> Error {
    Expected<ExecutorAddr> found = jitOf(code)->lookup(name); // compiles it
    if (!found)
      return found.takeError();
    *address = found->toPtr<void *>();
    return Error::success();
  });
}

void release(abi::HostCode *code) { delete jitOf(code); }

/// How modules for this machine are laid out.
struct HostModule {
  std::string triple, layout;

  HostModule() {
    Expected<JITTargetMachineBuilder> machine = hostMachine();
    Expected<DataLayout> data = machine ? machine->getDefaultDataLayoutForTarget() : machine.takeError();
    if (!data)
      throw std::runtime_error("LLVM has no code generator for this machine: " + toString(data.takeError()));
    triple = machine->getTargetTriple().str();
    layout = data->getStringRepresentation();
  }
};
} // namespace

const abi::HostCompiler &hostCompiler() {
  static const HostModule module;
  static const abi::HostCompiler compiler = {module.triple.c_str(), module.layout.c_str(), compile, find, release};
  return compiler;
}
} // namespace logitile
