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

def SpecialisePass : Pass<"logitile-specialise", "mlir::ModuleOp"> {
  let summary = "instantiates the template of every launch";
  let description = [{
    Before: programs with a schedule. After: one `logitile.kernel` per launch beside the program, with every symbol and
    bundle of its template replaced and the program's regions in its holes.
    Refuses: a launch that names a template, part or buffer that does not exist, leaves a parameter unbound, or binds
    one that the template does not have (a note shows the template).
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::math::MathDialect"];
}
#endif
