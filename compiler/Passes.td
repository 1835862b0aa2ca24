//===- Passes.td - the passes, each with its contract -----------------------------------------------------------===//
// What is here: what every pass takes, gives and refuses. A file of the same name in Transforms/ or Conversion/ does it.
#ifndef LOGITILE_PASSES_TD
#define LOGITILE_PASSES_TD
include "mlir/Pass/PassBase.td"

def PrintVaryingPass : Pass<"logitile-print-varying", "logitile::LossOp"> {
  let summary = "marks every value of a loss as varying or uniform";
  let description = [{
    Before: a loss. After: the same, with `logitile.varying` on every op whose results differ along the vocabulary.
    Refuses: nothing. For reading and for tests of the analysis.
  }];
}
#endif
