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
/// The limits of a confined process. They are many times what the largest program takes. Lower
/// limits of the shell stay in force.
inline constexpr int64_t kConfinedBytes = int64_t(8) << 30;
inline constexpr int64_t kConfinedSeconds = 600; // of processor time

/// Confines this process, which must only turn texts into texts. It must be called first. From then
/// on, a crash, a request for too much memory or an endless loop ends the process with exit status
/// 1 and an error that says what was being done.
void confineProcess();
/// Sets the stage that errors of a confined process name: the stage of the text that it reads.
void noteStage(Stage stage);
/// In a confined process, errors then name the pass that is running in this context, and its op.
/// Does nothing in other processes.
void notePasses(mlir::MLIRContext &context);
/// The same for contexts that are created from this registry.
void notePasses(mlir::DialectRegistry &registry);
} // namespace logitile
