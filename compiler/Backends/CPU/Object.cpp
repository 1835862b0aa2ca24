// Object.cpp - LLVM IR to machine code for x86-64. Loading it is the runtime's ObjectLoader.
#include "compiler/Backends/CPU/Object.h"
#include "compiler/Codegen/SplitCode.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ArchiveWriter.h"
using namespace logitile;

llvm::FailureOr<std::string> cpu::writeObjects(llvm::Module &module, const MachineSpec &spec, std::string &error, Cancellation *cancellation) {
  auto objects = writeParts(module, spec, llvm::CodeGenFileType::ObjectFile, error, cancellation);
  if (failed(objects))
    return llvm::failure();
  if (objects->size() == 1)
    return std::move(objects->front());
  std::vector<llvm::NewArchiveMember> members;
  for (const std::string &object : *objects)
    members.emplace_back(llvm::MemoryBufferRef(object, "kernels.o"));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU,
                                            /*Deterministic=*/true, /*Thin=*/false);
  if (archive)
    return (*archive)->getBuffer().str();
  error = llvm::toString(archive.takeError());
  return llvm::failure();
}
