// PTX.h - LLVM IR as PTX text.
#pragma once
#include "compiler/Codegen/MachineCode.h"
#include "compiler/Support/Cancellation.h"

namespace logitile::cuda {
/// The text of all kernels. Fails with 'error'. It also fails if the code calls functions of a
/// library, which drivers do not have. Throws Cancelled.
llvm::FailureOr<std::string> writePTX(llvm::Module &module, const MachineSpec &spec, std::string &error, Cancellation *cancellation);
} // namespace logitile::cuda
