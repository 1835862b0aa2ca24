// CodeLines.h - the lines of LLVM IR and of assembly.
#pragma once
#include "compiler/Trace/StageTrace.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
}

namespace logitile {
/// Prints 'module' as the stage `llvm`, without debug information. The origins of a line are the
/// debug locations of its instruction, which are lines of the stage called 'before'. Afterwards,
/// the debug location of each instruction is its own line of this text.
TracedStage traceInstructions(llvm::Module &module, const std::string &before);

/// The assembly of a module that traceInstructions has seen, as the stage 'name'.
TracedStage traceAssembly(const llvm::Module &module, llvm::StringRef assembly, const std::string &name);
} // namespace logitile
