// MachineCode.h - LLVM's code generators. The folders of compiler/Backends choose and configure
// one.
#pragma once
#include "compiler/Support/Cancellation.h"
#include "llvm/ADT/ArrayRef.h"
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
/// How LLVM makes code for a target.
struct MachineSpec {
  std::string triple, cpu, features;
  bool fusesProducts = true;                   // fuses products and sums into one instruction, if the module allows it
  llvm::StringRef passes;                      // a pass pipeline that runs on the module before code is generated
  llvm::ArrayRef<llvm::StringLiteral> leftOut; // passes of the code generator that are skipped, by their names in LLVM
};

/// The code generator; null, with the reason in 'error', where this build has none.
std::unique_ptr<llvm::TargetMachine> createMachine(const MachineSpec &spec, std::string &error);

/// LLVM's passes over a module for 'machine', as 'writeCode' runs them.
void optimiseFor(llvm::Module &module, llvm::TargetMachine &machine, const MachineSpec &spec);

/// Optimises 'module' and writes its code. Fails with 'error'; throws Cancelled.
llvm::FailureOr<std::string> writeCode(llvm::Module &module, const MachineSpec &spec, llvm::CodeGenFileType file, std::string &error,
                                       Cancellation *cancellation = nullptr);
} // namespace logitile
