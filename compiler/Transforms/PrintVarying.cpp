// PrintVarying.cpp - shows what the varying/uniform analysis finds.
#include "compiler/Passes.h"
#include "dialect/checks/Varying.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_PRINTVARYINGPASS
#include "compiler/Passes.h.inc"

namespace {
struct PrintVaryingPass : impl::PrintVaryingPassBase<PrintVaryingPass> {
  void runOnOperation() override {
    Varying varying(getOperation().getBody());
    getOperation().getBody().walk([&](Operation *op) {
      if (op->getNumResults() > 0 && varying.isVarying(op->getResult(0)))
        op->setAttr("logitile.varying", UnitAttr::get(&getContext()));
    });
  }
};
} // namespace
} // namespace logitile
