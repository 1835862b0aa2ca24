// Confinement.h - how a process reads a text that nobody has checked: with limits on memory and
// time, and never without a last word. LLVM and MLIR end the process over some texts: they read a
// null pointer, or ask for as much memory as a number says.
#pragma once
#include "compiler/Stages.h"
#include <cstdint>

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace logitile {
/// Many times what the largest program takes. The limits of the shell hold where they are lower.
inline constexpr int64_t kConfinedBytes = int64_t(8) << 30;
inline constexpr int64_t kConfinedSeconds = 600; // of processor time

/// For a process that only turns texts into texts, before anything else. A crash, a request for too
/// much memory, and a loop without an end become an error that says what was being done, and exit
/// status 1.
void confineProcess();
/// Errors of a confined process name this stage, of the text that it reads.
void noteStage(Stage stage);
/// In a confined process: errors name the pass that runs in this context, and its op. Does nothing
/// elsewhere.
void notePasses(mlir::MLIRContext &context);
/// The same for contexts that others make from this registry.
void notePasses(mlir::DialectRegistry &registry);
} // namespace logitile
