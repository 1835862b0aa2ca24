// Workspace.cpp - the search for buffers of the workspace.
#include "dialect/checks/Workspace.h"
#include "mlir/IR/BuiltinOps.h"
using namespace mlir;
using namespace logitile;

Buffers logitile::findWorkspace(ModuleOp module) {
  Buffers found;
  for (ProgramOp program : module.getOps<ProgramOp>())
    for (ScheduleOp schedule : program.getBody().getOps<ScheduleOp>())
      for (BufferOp buffer : schedule.getBody().getOps<BufferOp>())
        if (buffer.getScope() != Scope::Input && buffer.getScope() != Scope::Output)
          found.insert(buffer.getSymNameAttr());
  return found;
}
