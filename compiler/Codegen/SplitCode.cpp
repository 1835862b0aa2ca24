// SplitCode.cpp - deals the functions of a module out to threads, each with a context of its own.
#include "compiler/Codegen/SplitCode.h"
#include "compiler/Codegen/MachineCode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <array>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>
using namespace logitile;

namespace {
constexpr unsigned kParts = 2;
constexpr unsigned kFewInstructions = 1000; // of a module: a second thread would not pay

/// Names of functions, by part.
using Parts = std::array<llvm::StringSet<>, kParts>;

/// Code takes time in proportion to the instructions: the longest function first, always to the part that has least.
Parts deal(const llvm::Module &module) {
  std::vector<const llvm::Function *> functions;
  for (const llvm::Function &function : module)
    if (!function.isDeclaration())
      functions.push_back(&function);
  llvm::sort(functions, [](auto *a, auto *b) {
    return std::pair(b->getInstructionCount(), a->getName()) < std::pair(a->getInstructionCount(), b->getName());
  });
  Parts parts;
  std::array<unsigned, kParts> counts{};
  for (const llvm::Function *function : functions) {
    size_t least = llvm::min_element(counts) - counts.begin();
    counts[least] += function->getInstructionCount();
    parts[least].insert(function->getName());
  }
  return parts;
}

/// What one part defines, another one may call. Users of the code see kernels only, as before.
void share(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.hasLocalLinkage()) {
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
}

void keepOnly(llvm::Module &module, const llvm::StringSet<> &names) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !names.contains(function.getName()))
      function.deleteBody();
}

struct Object {
  std::string code, error;
};

Object write(llvm::Module &module, const Target &target) {
  Object object;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, module, object.error);
  if (!machine)
    return object;
  llvm::FailureOr<std::string> code = writeCode(module, *machine, llvm::CodeGenFileType::ObjectFile, object.error);
  if (llvm::succeeded(code))
    object.code = std::move(*code);
  return object;
}

/// The same for a part of a module that comes as bitcode: contexts are not for several threads.
Object writePart(llvm::StringRef bitcode, const llvm::StringSet<> &names, const Target &target) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module = llvm::parseBitcodeFile({bitcode, "part"}, context);
  if (!module)
    return {"", llvm::toString(module.takeError())};
  keepOnly(**module, names);
  return write(**module, target);
}

std::array<Object, kParts> writeParts(llvm::Module &module, const Target &target) {
  Parts parts = deal(module);
  share(module);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  std::array<Object, kParts> objects;
  std::vector<std::thread> threads;
  for (unsigned part = 1; part < kParts; ++part) {
    auto work = [&, part] { objects[part] = writePart({bitcode.data(), bitcode.size()}, parts[part], target); };
    try {
      threads.emplace_back(work);
    } catch (const std::system_error &) { // there are no more threads
      work();
    }
  }
  keepOnly(module, parts[0]);
  objects[0] = write(module, target);
  for (std::thread &thread : threads)
    thread.join();
  return objects;
}
} // namespace

llvm::FailureOr<std::string> logitile::writeObjects(llvm::Module &module, const Target &target, std::string &error) {
  if (module.getInstructionCount() < kFewInstructions) {
    Object object = write(module, target);
    error = object.error;
    if (!error.empty())
      return llvm::failure();
    return object.code;
  }
  std::array<Object, kParts> objects = writeParts(module, target);
  std::vector<llvm::NewArchiveMember> members;
  for (const Object &object : objects) {
    if (!(error = object.error).empty())
      return llvm::failure();
    members.emplace_back(llvm::MemoryBufferRef(object.code, "kernels.o"));
  }
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU,
                                            /*Deterministic=*/true, /*Thin=*/false);
  if (!archive) {
    error = llvm::toString(archive.takeError());
    return llvm::failure();
  }
  return (*archive)->getBuffer().str();
}
