// ObjectLoader.cpp - links an object file through ORC. Nothing is compiled here.
#include "runtime/cpu/ObjectLoader.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include <cstring>
#include <mutex>
using namespace llvm;
using namespace llvm::orc;

namespace logitile {
struct ObjectLoader::Jit {
  std::unique_ptr<LLJIT> jit;
};

namespace {
/// All that generated code may call: how LLVM spells copies and fills of memory. Kernels call no mathematics library.
struct AllowedSymbol {
  const char *name;
  void *address;
};
const AllowedSymbol kAllowed[] = {
    {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
    {"memmove", reinterpret_cast<void *>(&std::memmove)},
    {"memset", reinterpret_cast<void *>(&std::memset)},
};

Expected<std::unique_ptr<LLJIT>> link(std::string_view object) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
  });
  // Kernels have no initialisers, and take symbols from nobody but the table above.
  Expected<std::unique_ptr<LLJIT>> jit = LLJITBuilder()
                                             .setJITTargetMachineBuilder(JITTargetMachineBuilder(Triple("x86_64-unknown-linux-gnu")))
                                             .setLinkProcessSymbolsByDefault(false)
                                             .setPlatformSetUp(setUpInactivePlatform)
                                             .create();
  if (!jit)
    return jit.takeError();
  SymbolMap symbols;
  for (const AllowedSymbol &symbol : kAllowed)
    symbols[(*jit)->mangleAndIntern(symbol.name)] = {ExecutorAddr::fromPtr(symbol.address), JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  if (Error error = (*jit)->getMainJITDylib().define(absoluteSymbols(std::move(symbols))))
    return error;
  if (Error error = (*jit)->addObjectFile(MemoryBuffer::getMemBufferCopy(StringRef(object.data(), object.size()), "kernels")))
    return error;
  return jit;
}
} // namespace

ObjectLoader::ObjectLoader(std::unique_ptr<Jit> jit) : jit(std::move(jit)) {}
ObjectLoader::~ObjectLoader() = default;

std::unique_ptr<ObjectLoader> ObjectLoader::load(std::string_view object, std::string &error) {
  Expected<std::unique_ptr<LLJIT>> jit = link(object);
  if (!jit) {
    error = toString(jit.takeError());
    return nullptr;
  }
  return std::unique_ptr<ObjectLoader>(new ObjectLoader(std::make_unique<Jit>(Jit{std::move(*jit)})));
}

CpuKernel ObjectLoader::find(const std::string &name, std::string &error) const {
  Expected<ExecutorAddr> address = jit->jit->lookup(name);
  if (address)
    return address->toPtr<CpuKernel>();
  error = toString(address.takeError());
  return nullptr;
}
} // namespace logitile
