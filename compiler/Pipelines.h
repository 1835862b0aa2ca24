// Pipelines.h - the passes of the stages that are the same for every target, in order. A target
// defines the passes of stage `device` (compiler/Target/Target.h).
#pragma once
#include "mlir/Pass/PassManager.h"

namespace logitile {
/// spec -> plan: gradients, sweeps, schedule.
void buildPlanStage(mlir::PassManager &pm);
/// plan -> tiles: one kernel per launch.
void buildTilesStage(mlir::PassManager &pm);
} // namespace logitile
