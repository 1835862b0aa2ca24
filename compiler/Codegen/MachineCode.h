// MachineCode.h - LLVM's code generators: what both kinds of target share. What they are asked for is in the files Emit*.
#pragma once
#include "compiler/Cancellation.h"
#include "compiler/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/LogicalResult.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace logitile {
/// The code generator for the functions of 'module' on 'target'; null, with the reason in 'error', where this build has none.
std::unique_ptr<llvm::TargetMachine> createMachine(const Target &target, const llvm::Module &module, std::string &error);

/// LLVM's passes over a module for 'machine', as 'writeCode' runs them.
void optimiseFor(llvm::Module &module, llvm::TargetMachine &machine);

/// Optimises 'module' for 'machine' and writes its code. Fails with 'error'; throws Cancelled.
llvm::FailureOr<std::string> writeCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType file, std::string &error,
                                       Cancellation *cancellation = nullptr);
} // namespace logitile
