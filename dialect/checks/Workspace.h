// Workspace.h - which buffers of a module lie in the workspace, where rows have places that code
// may count on.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// Names of buffers.
using Buffers = llvm::SmallDenseSet<mlir::StringAttr>;
/// Those of all schedules of 'module' that are not the caller's memory.
Buffers findWorkspace(mlir::ModuleOp module);
} // namespace logitile
