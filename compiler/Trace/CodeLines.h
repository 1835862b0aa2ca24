// CodeLines.h - the lines of LLVM IR and of assembly.
#pragma once
#include "compiler/Trace/StageTrace.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
}

namespace logitile {
/// Prints 'module' as the stage `llvm`, without debug information. The origins of a line are the
/// places of its instruction, which lie in the file 'before'. Afterwards that line is the place of
/// the instruction.
TracedStage traceInstructions(llvm::Module &module, const std::string &before);

/// The assembly of a module that traceInstructions has seen, as the stage 'name'.
TracedStage traceAssembly(const llvm::Module &module, llvm::StringRef assembly, const std::string &name);
} // namespace logitile
