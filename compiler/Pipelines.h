// Pipelines.h - the passes of each stage, in order.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace logitile {
/// spec -> plan: gradients, sweeps, schedule.
void buildPlanStage(mlir::PassManager &pm);
/// plan -> tiles: one kernel per launch.
void buildTilesStage(mlir::PassManager &pm);
/// tiles -> device, for CPUs: functions on vectors and pointers.
void buildCPUDeviceStage(mlir::PassManager &pm);
/// tiles -> device, for NVIDIA GPUs: the code of threads.
void buildCUDADeviceStage(mlir::PassManager &pm);
} // namespace logitile
