// SplitCode.h - machine code of a large module, made by several threads.
#pragma once
#include "compiler/Target.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace llvm {
class Module;
}

namespace logitile {
/// The bytes of an object file; of a module with much code, of an archive of object files that belong together. Which
/// functions are in which depends on the module alone. Fails with 'error'.
llvm::FailureOr<std::string> writeObjects(llvm::Module &module, const Target &target, std::string &error);
} // namespace logitile
