// Workspace.h - finds the buffers of a module that are in the workspace, whose rows have guaranteed
// alignment.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Names of buffers.
using Buffers = llvm::SmallDenseSet<mlir::StringAttr>;
/// Those of all schedules of 'module' that are not the caller's memory.
Buffers findWorkspace(mlir::ModuleOp module);
} // namespace logitile
