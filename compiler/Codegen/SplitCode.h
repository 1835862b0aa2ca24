// SplitCode.h - compiles a large module on several threads.
#pragma once
#include "compiler/Codegen/MachineCode.h"
#include <vector>

namespace logitile {
/// The code of 'module', in one part, or where there is much of it in several that belong together:
/// object files or texts, as 'file' says. Which functions are in which depends on the module alone.
/// Fails with 'error'; throws Cancelled.
llvm::FailureOr<std::vector<std::string>> writeParts(llvm::Module &module, const MachineSpec &spec, llvm::CodeGenFileType file,
                                                     std::string &error, Cancellation *cancellation);
} // namespace logitile
