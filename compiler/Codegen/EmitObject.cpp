// EmitObject.cpp - LLVM IR to machine code for x86-64. Loading it is the runtime's ObjectLoader.
#include "compiler/Codegen/EmitObject.h"
#include "compiler/Codegen/EmitLLVM.h"
#include "compiler/Codegen/SplitCode.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/SourceMgr.h"
using namespace mlir;
using namespace logitile;

/// An object file, or an archive of several.
static FailureOr<std::string> writeObjects(llvm::Module &module, const Target &target, std::string &error, Cancellation *cancellation) {
  FailureOr<std::vector<std::string>> objects = writeParts(module, target, llvm::CodeGenFileType::ObjectFile, error, cancellation);
  if (failed(objects))
    return failure();
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
  return failure();
}

FailureOr<std::string> logitile::emitObject(ModuleOp device, const Target &target, Cancellation *cancellation) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateToLLVM(device, target, context);
  if (!module)
    return failure();
  std::string error;
  FailureOr<std::string> object = writeObjects(*module, target, error, cancellation);
  if (failed(object))
    return device.emitError() << "no code generator for x86-64: " << error;
  return object;
}

FailureOr<std::string> logitile::emitObject(const std::string &llvmText, std::string &error) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly({llvmText, "llvm"}, problem, context);
  llvm::raw_string_ostream stream(error);
  if (!module) {
    problem.print(nullptr, stream, /*ShowColors=*/false);
    return failure();
  }
  if (llvm::verifyModule(*module, &stream))
    return failure();
  if (module->getModuleFlag(kTargetFlag)) {
    error = "the module is for a GPU, which has no stage 'obj'\n";
    return failure();
  }
  return writeObjects(*module, Target(), error, nullptr); // every function says which CPU it is for
}
