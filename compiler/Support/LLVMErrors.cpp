// LLVMErrors.cpp - replaces LLVM's handlers of fatal errors, which end the process.
#include "compiler/Support/LLVMErrors.h"
#include "llvm/Support/ErrorHandling.h"
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

void logitile::letLLVMThrow() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { throw std::bad_alloc(); });
    llvm::install_fatal_error_handler([](void *, const char *reason, bool) { throw std::runtime_error(std::string("LLVM: ") + reason); });
  });
}
