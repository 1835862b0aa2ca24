// ObjectLoader.cpp - links an object file, or an archive of them, with JITLink. Nothing is compiled
// here. LLVM's LLJIT would do the same, but brings code generation with it, which the library that
// only runs plans is without.
#include "runtime/cpu/ObjectLoader.h"
#include "runtime/cpu/EmulatedTiles.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/ExecutionEngine/JITLink/ELF_x86_64.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/Object/Archive.h"
#include <cstring>
#include <unordered_map>
using namespace llvm;
using namespace llvm::jitlink;
using llvm::orc::ExecutorAddr;

namespace logitile {
/// What is in memory. All objects of it see each other's symbols.
struct ObjectLoader::Image {
  ~Image() {
    if (memory)
      consumeError(memory->deallocate(std::move(blocks)));
  }

  std::unique_ptr<InProcessMemoryManager> memory;
  std::vector<JITLinkMemoryManager::FinalizedAlloc> blocks;
  std::unordered_map<std::string, ExecutorAddr> symbols;
};

namespace {
/// All that generated code may call: how LLVM spells copies and fills of memory, and in tests what
/// stands for the instructions on tiles. Kernels call no mathematics library.
struct AllowedSymbol {
  const char *name;
  void *address;
};
const AllowedSymbol kAllowed[] = {
    {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
    {"memmove", reinterpret_cast<void *>(&std::memmove)},
    {"memset", reinterpret_cast<void *>(&std::memset)},
    {"logitile_ldtilecfg", reinterpret_cast<void *>(&logitile_ldtilecfg)},
    {"logitile_tilerelease", reinterpret_cast<void *>(&logitile_tilerelease)},
    {"logitile_tilezero", reinterpret_cast<void *>(&logitile_tilezero)},
    {"logitile_tileloadd64", reinterpret_cast<void *>(&logitile_tileloadd64)},
    {"logitile_tilestored64", reinterpret_cast<void *>(&logitile_tilestored64)},
    {"logitile_tdpbf16ps", reinterpret_cast<void *>(&logitile_tdpbf16ps)},
};

/// Links the objects of one image: each is brought to its place, then all of them learn where the
/// others are.
class Linker {
public:
  Linker(ObjectLoader::Image &image) : image(image) {
    for (const AllowedSymbol &symbol : kAllowed)
      allowed[symbol.name] = ExecutorAddr::fromPtr(symbol.address);
  }
  /// 'object' outlives the linker.
  Error add(MemoryBufferRef object);
  Error finish();

private:
  class Context;
  struct Question {
    JITLinkContext::LookupMap names;
    std::unique_ptr<JITLinkAsyncLookupContinuation> answer;
  };
  Expected<AsyncLookupResult> find(const JITLinkContext::LookupMap &names) const;

  ObjectLoader::Image &image;
  const std::shared_ptr<orc::SymbolStringPool> names = std::make_shared<orc::SymbolStringPool>(); // outlives questions
  std::unordered_map<std::string, ExecutorAddr> allowed;
  std::vector<Question> questions;
  Error failure = Error::success();
};

/// What JITLink tells and asks while it links one object.
class Linker::Context : public JITLinkContext {
public:
  explicit Context(Linker &linker) : JITLinkContext(nullptr), linker(linker) {}
  JITLinkMemoryManager &getMemoryManager() override { return *linker.image.memory; }
  void notifyFailed(Error error) override { linker.failure = joinErrors(std::move(linker.failure), std::move(error)); }
  void lookup(const LookupMap &names, std::unique_ptr<JITLinkAsyncLookupContinuation> answer) override {
    linker.questions.push_back({names, std::move(answer)});
  }
  Error notifyResolved(LinkGraph &graph) override {
    for (Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getScope() != Scope::Local)
        linker.image.symbols.emplace((*symbol->getName()).str(), symbol->getAddress());
    return Error::success();
  }
  void notifyFinalized(JITLinkMemoryManager::FinalizedAlloc block) override { linker.image.blocks.push_back(std::move(block)); }

private:
  Linker &linker;
};
} // namespace

Error Linker::add(MemoryBufferRef object) {
  if (identify_magic(object.getBuffer()) != file_magic::elf_relocatable)
    return createStringError("the code is no object file");
  Expected<std::unique_ptr<LinkGraph>> graph = createLinkGraphFromELFObject_x86_64(object, names);
  if (!graph)
    return graph.takeError();
  link_ELF_x86_64(std::move(*graph), std::make_unique<Context>(*this));
  return Error::success();
}

Error Linker::finish() {
  for (Question &question : questions)
    question.answer->run(find(question.names));
  return std::move(failure);
}

Expected<AsyncLookupResult> Linker::find(const JITLinkContext::LookupMap &names) const {
  AsyncLookupResult found;
  for (const auto &[name, flags] : names) {
    auto own = image.symbols.find((*name).str());
    auto given = allowed.find((*name).str());
    if (own == image.symbols.end() && given == allowed.end())
      return createStringError("the code needs a symbol that it may not have: " + *name);
    found[name] = {own != image.symbols.end() ? own->second : given->second, JITSymbolFlags::Exported};
  }
  return found;
}

/// Links all object files of 'code' into 'image'.
static Error link(ObjectLoader::Image &image, StringRef code) {
  Expected<std::unique_ptr<InProcessMemoryManager>> memory = InProcessMemoryManager::Create();
  if (!memory)
    return memory.takeError();
  image.memory = std::move(*memory);
  Linker linker(image);
  if (identify_magic(code) != file_magic::archive) {
    Error error = linker.add({code, "kernels"});
    return joinErrors(std::move(error), linker.finish());
  }
  Expected<std::unique_ptr<object::Archive>> archive = object::Archive::create({code, "kernels"});
  if (!archive)
    return joinErrors(archive.takeError(), linker.finish());
  Error error = Error::success();
  for (const object::Archive::Child &child : (*archive)->children(error)) {
    Expected<StringRef> object = child.getBuffer();
    if (Error wrong = object ? linker.add({*object, "kernels"}) : object.takeError()) {
      error = joinErrors(std::move(error), std::move(wrong));
      break;
    }
  }
  return joinErrors(std::move(error), linker.finish());
}

ObjectLoader::ObjectLoader(std::unique_ptr<Image> image) : image(std::move(image)) {}
ObjectLoader::~ObjectLoader() = default;

std::unique_ptr<ObjectLoader> ObjectLoader::load(std::string_view object, std::string &error) {
  auto image = std::make_unique<Image>();
  if (Error failed = link(*image, StringRef(object.data(), object.size()))) {
    error = toString(std::move(failed));
    return nullptr;
  }
  return std::unique_ptr<ObjectLoader>(new ObjectLoader(std::move(image)));
}

CpuKernel ObjectLoader::find(const std::string &name, std::string &error) const {
  auto symbol = image->symbols.find(name);
  if (symbol != image->symbols.end())
    return symbol->second.toPtr<CpuKernel>();
  error = "the code has no function '" + name + "'";
  return nullptr;
}
} // namespace logitile
