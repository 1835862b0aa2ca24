// PTX.cpp - LLVM IR to PTX, which the driver assembles.
#include "compiler/Backends/NVPTX/PTX.h"
#include "compiler/Codegen/SplitCode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
using namespace logitile;

/// Appends the functions of 'more' to 'text'. Both begin with a head of the same lines, and memory
/// that launches size is declared in both. False where 'more' has no such head.
static bool appendFunctions(std::string &text, llvm::StringRef more) {
  constexpr llvm::StringLiteral kLastOfHead = ".address_size 64\n", kDeclaration = ".extern .shared";
  auto [head, functions] = more.split(kLastOfHead);
  auto [before, declaration] = functions.split(kDeclaration);
  text += before;
  text += declaration.split('\n').second;
  return head.size() < more.size();
}

llvm::FailureOr<std::string> cuda::writePTX(llvm::Module &module, const MachineSpec &spec, std::string &error, Cancellation *cancellation) {
  auto parts = writeParts(module, spec, llvm::CodeGenFileType::AssemblyFile, error, cancellation);
  if (failed(parts))
    return llvm::failure();
  std::string text = std::move(parts->front());
  for (llvm::StringRef part : llvm::drop_begin(*parts))
    if (!appendFunctions(text, part)) {
      error = "a part of its PTX does not begin as PTX does";
      return llvm::failure();
    }
  if (size_t at = text.find(".extern .func"); at != std::string::npos) {
    error = "its PTX calls a function that no driver provides: " + llvm::StringRef(text).substr(at).split('\n').first.str();
    return llvm::failure();
  }
  return text;
}
