// Pipelines.cpp - the passes of each stage. A reason stands where their order matters.
#include "compiler/Pipelines.h"
#include "compiler/Passes.h"
#include "mlir/Transforms/Passes.h"
using namespace mlir;

void logitile::buildPlanStage(PassManager &pm) {
  pm.addNestedPass<LossOp>(createCanonicaliseLossPass()); // first: the others read what a loss means
  pm.addPass(createUnrollListsPass()); // before there are gradients of lists
  pm.addNestedPass<LossOp>(createDifferentiatePass());
  pm.addPass(createFormSweepsPass());
  pm.addPass(createSliceProgramPass());
  pm.addPass(createCanonicalizerPass()); // low parts that nothing reads go away
  pm.addPass(createCSEPass());
  pm.addPass(createGiveColumnsPass()); // once what a sweep reads is all that it needs
  pm.addNestedPass<ProgramOp>(createClassifyGradientPass()); // once equal expressions look equal
  pm.addPass(createChooseSchedulePass()); // buffers follow from what the regions still read
}

void logitile::buildTilesStage(PassManager &pm) {
  pm.addPass(createSpecialisePass()); // after the schedule: it decides which templates exist
  pm.addPass(createFlushSubnormalsPass());
  pm.addPass(createApproximateExponentialsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createFuseEarlyGradientPass()); // once equal values look equal
  pm.addPass(createShareCodePass()); // what is equal looks equal now
}
