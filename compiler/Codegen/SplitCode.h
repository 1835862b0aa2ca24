// SplitCode.h - compiles a large module on several threads.
#pragma once
#include "compiler/Codegen/MachineCode.h"
#include <vector>

namespace logitile {
/// The code of 'module', as object files or texts ('file'). A large module gives several parts,
/// which have to be linked together. The module alone determines which functions are in which part.
/// Fails with 'error'; throws Cancelled.
llvm::FailureOr<std::vector<std::string>> writeParts(llvm::Module &module, const MachineSpec &spec, llvm::CodeGenFileType file,
                                                     std::string &error, Cancellation *cancellation);
} // namespace logitile
