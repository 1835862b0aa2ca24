// GiveColumns.cpp - the pass that gives columns to sweeps which read nothing along the vocabulary.
#include "compiler/Passes.h"
#include "dialect/Logitile.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_GIVECOLUMNSPASS
#include "compiler/Passes.h.inc"

namespace {
/// A vocabulary input that is only gathered from is read at single entries.
bool readsColumns(SweepOp sweep) {
  WalkResult walk = sweep.walk([](InputOp input) {
    auto isGather = [](Operation *user) { return isa<GatherOp>(user); };
    return input.isVaryingInput() && !llvm::all_of(input->getUsers(), isGather) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// The first projection that 'program' reads, or else the first one of the request; null where
/// there is none.
StringAttr anyProjection(ProgramOp program) {
  StringAttr name;
  program.walk([&](InputOp input) {
    if (input.getKind() != InputKind::Logits)
      return WalkResult::advance();
    name = input.getNameAttr();
    return WalkResult::interrupt();
  });
  RequestAttr request = getRequest(program->getParentOfType<ModuleOp>());
  if (!name && request && !request.getProjections().empty())
    name = StringAttr::get(program.getContext(), request.getProjections().front().getName());
  return name;
}

struct GiveColumnsPass : impl::GiveColumnsPassBase<GiveColumnsPass> {
  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      for (SweepOp sweep : program.getBody().getOps<SweepOp>())
        if (!sweep.getAlong() && !readsColumns(sweep) && failed(give(program, sweep)))
          return signalPassFailure();
  }

  LogicalResult give(ProgramOp program, SweepOp sweep) {
    StringAttr projection = anyProjection(program);
    if (!projection)
      return sweep.emitOpError() << "reads nothing along the vocabulary, and neither the program nor a request has a projection to go along";
    sweep.setAlongAttr(projection);
    return success();
  }
};
} // namespace
} // namespace logitile
