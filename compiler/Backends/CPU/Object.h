// Object.h - LLVM IR as object files for x86-64.
#pragma once
#include "compiler/Support/Cancellation.h"
#include "compiler/Codegen/MachineCode.h"

namespace logitile::cpu {
/// The bytes of an object file. For a module with much code, the bytes of an archive of several
/// object files that are linked together. Fails with 'error'; throws Cancelled.
llvm::FailureOr<std::string> writeObjects(llvm::Module &module, const MachineSpec &spec, std::string &error, Cancellation *cancellation);
} // namespace logitile::cpu
