// ObjectLoader.cpp - links an object file, or an archive of them, through ORC. Nothing is compiled here.
#include "runtime/cpu/ObjectLoader.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/Archive.h"
#include "llvm/Support/TargetSelect.h"
#include <cstring>
#include <mutex>
using namespace llvm;
using namespace llvm::orc;

namespace logitile {
struct ObjectLoader::Jit {
  std::string reports; // what the linker says beside its results; it is born first, for the linker writes to it
  std::unique_ptr<LLJIT> linker;
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

/// All object files of 'code'.
Error addObjects(LLJIT &jit, StringRef code) {
  auto add = [&](StringRef object) { return jit.addObjectFile(MemoryBuffer::getMemBufferCopy(object, "kernels")); };
  if (identify_magic(code) != file_magic::archive)
    return add(code);
  Expected<std::unique_ptr<object::Archive>> archive = object::Archive::create({code, "kernels"});
  if (!archive)
    return archive.takeError();
  Error broken = Error::success();
  for (const object::Archive::Child &child : (*archive)->children(broken)) {
    Expected<StringRef> object = child.getBuffer();
    if (!object)
      return joinErrors(std::move(broken), object.takeError());
    if (Error error = add(*object))
      return joinErrors(std::move(broken), std::move(error));
  }
  return broken;
}

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
    symbols[(*jit)->mangleAndIntern(symbol.name)] = {ExecutorAddr::fromPtr(symbol.address),
                                                     JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  if (Error error = (*jit)->getMainJITDylib().define(absoluteSymbols(std::move(symbols))))
    return error;
  if (Error error = addObjects(**jit, StringRef(object.data(), object.size())))
    return error;
  return jit;
}
} // namespace

ObjectLoader::ObjectLoader(std::unique_ptr<Jit> jit) : jit(std::move(jit)) {}
ObjectLoader::~ObjectLoader() = default;

std::unique_ptr<ObjectLoader> ObjectLoader::load(std::string_view object, std::string &error) {
  Expected<std::unique_ptr<LLJIT>> linker = link(object);
  if (!linker) {
    error = toString(linker.takeError());
    return nullptr;
  }
  auto jit = std::make_unique<Jit>();
  jit->linker = std::move(*linker);
  jit->linker->getExecutionSession().setErrorReporter(
      [reports = &jit->reports](Error report) { *reports += "; " + toString(std::move(report)); });
  return std::unique_ptr<ObjectLoader>(new ObjectLoader(std::move(jit)));
}

CpuKernel ObjectLoader::find(const std::string &name, std::string &error) const {
  Expected<ExecutorAddr> address = jit->linker->lookup(name);
  if (address)
    return address->toPtr<CpuKernel>();
  error = toString(address.takeError()) + jit->reports;
  return nullptr;
}
} // namespace logitile
