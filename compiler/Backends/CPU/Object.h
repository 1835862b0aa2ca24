// Object.h - LLVM IR as object files for x86-64.
#pragma once
#include "compiler/Support/Cancellation.h"
#include "compiler/Codegen/MachineCode.h"

namespace logitile::cpu {
/// The bytes of an object file; of a module with much code, of an archive of object files that
/// belong together. Fails with 'error'; throws Cancelled.
llvm::FailureOr<std::string> writeObjects(llvm::Module &module, const MachineSpec &spec, std::string &error, Cancellation *cancellation);
} // namespace logitile::cpu
