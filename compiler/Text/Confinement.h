// Confinement.h - reads an unchecked text in a process with limits on memory and time, which always
// reports how it ended. This is needed because some texts make LLVM and MLIR end the process: they
// read a null pointer, or allocate as much memory as a number says.
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
