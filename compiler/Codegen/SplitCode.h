// SplitCode.h - code of a large module, made by several threads.
#pragma once
#include "compiler/Cancellation.h"
#include "compiler/Target.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/LogicalResult.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace logitile {
/// The code of 'module' for 'target', in one part, or where there is much of it in several that belong together: object files
/// or texts, as 'file' says. Which functions are in which depends on the module alone. Fails with 'error'; throws Cancelled.
llvm::FailureOr<std::vector<std::string>> writeParts(llvm::Module &module, const Target &target, llvm::CodeGenFileType file,
                                                     std::string &error, Cancellation *cancellation);
} // namespace logitile
