// FormSweeps.cpp - the pass from a differentiated loss to a program. Levels, placement and printing
// have files of their own.
#include "compiler/Passes.h"
#include "compiler/Transforms/FormSweeps/EmitProgram.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_FORMSWEEPSPASS
#include "compiler/Passes.h.inc"

namespace {
struct FormSweepsPass : impl::FormSweepsPassBase<FormSweepsPass> {
  void runOnOperation() override {
    for (LossOp loss : llvm::to_vector(getOperation().getOps<LossOp>()))
      if (failed(form(loss)))
        return signalPassFailure();
  }

  LogicalResult form(LossOp loss) {
    Block &body = loss.getBody().front();
    auto gradientOps = body.getOps<GradientOp>();
    if (loss.getWrt() && gradientOps.empty())
      return loss.emitOpError() << "wants gradients but has none; run logitile-differentiate first";
    RequestAttr request = getRequest(getOperation());
    SliceAttr slice = request ? request.getSlice() : SliceAttr();
    Graph graph(&getContext(), loss.getVocab());
    graph.hasOneEntry = graph.vocab == 1 && !slice;
    Importer importer(graph);
    if (failed(importer.importBlock(body)))
      return failure();
    SmallVector<std::pair<StringRef, NodeRef>> outputs;
    for (auto [name, value] : llvm::zip_equal(loss.getOutputs().getAsValueRange<StringAttr>(), cast<YieldOp>(body.getTerminator()).getValues()))
      outputs.push_back({name, importer.lookup(value)});
    llvm::StringMap<int64_t> places;
    Varying varying(loss.getBody());
    for (auto [output, value] : llvm::zip_equal(outputs, cast<YieldOp>(body.getTerminator()).getValues()))
      if (int64_t count = varying.placesOf(value))
        places[output.first] = count;
    SmallVector<GradientNodes> gradients;
    for (GradientOp gradient : gradientOps)
      for (AdjointOp adjoint : gradient.getBody().getOps<AdjointOp>())
        gradients.push_back(readAdjoint(adjoint, importer));

    Planner planner(graph, /*isSliced=*/bool(slice));
    for (auto [name, output] : outputs) // forward first: gradients find its accumulators
      planner.level(output);
    for (GradientNodes &gradient : gradients)
      if (gradient.dense && !gradient.isPerToken())
        gradient.dense = planner.factored(gradient.dense);
    llvm::erase_if(gradients, [](const GradientNodes &gradient) { return gradient.isOfInputThatNothingReaches(); });
    Placement placement = placeAccumulators(planner, outputs, gradients);
    ProgramEmitter emitter(planner, placement, outputs, places, gradients);
    ProgramOp program = emitter.emit(loss);
    if (!emitter.hasAllValues())
      return failure();
    if (slice)
      program.setColumns(slice.getColumns());
    loss.erase();
    return success();
  }

  static GradientNodes readAdjoint(AdjointOp adjoint, Importer &importer) {
    GradientNodes gradient{adjoint.getKind(), adjoint.getName(), static_cast<int64_t>(adjoint.getIndex().value_or(-1)),
                           static_cast<int64_t>(adjoint.getPlaces().value_or(0)), nullptr, {}, adjoint.getLoc()};
    if (adjoint.getDense())
      gradient.dense = importer.lookup(adjoint.getDense());
    for (auto [column, coefficient] : llvm::zip_equal(adjoint.getColumns(), adjoint.getCoefficients()))
      gradient.rows.push_back({importer.lookup(column), importer.lookup(coefficient)});
    return gradient;
  }
};
} // namespace
} // namespace logitile
