// TileCost.cpp - predicted time of a schedule including the cost of its tile sizes and of the pages
// of its results. The tuner ranks tile sizes by it, and people read it. Schedules of one program
// are compared without it, because these costs are the same for all of them.
#include "compiler/CostModel/TileCost.h"
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

/// Gradients of weights, where they are so large that every call gets new pages for them.
double ScheduleBuilder::pageSeconds(const Machine &machine) const {
  double bytes = 0;
  for (const ProjectionProblem &projection : problem.projections) {
    if (!projection.wantsWeight || problem.request.getAccumulate())
      continue;
    int64_t gradient = problem.columns * projection.hidden * projection.weightGradient.getIntOrFloatBitWidth() / 8;
    if (gradient > machine.mostOldBytes)
      bytes += gradient;
  }
  return machine.pageRate > 0 ? bytes / machine.pageRate : 0;
}

/// Traffic of the head and its gradient in all passes, 'products' of them by products with
/// gradients of logits, in place of the bytes that schedules are compared by.
double ScheduleBuilder::headSeconds(int64_t chunks, int64_t products, const Machine &machine) const {
  double bytes = 0;
  for (const ProjectionProblem &projection : problem.projections) {
    double passes = chunks * timesProjected(projection) + (projection.wantsHidden ? products : 0);
    Type element = weightElement(projection);
    if (auto rounded = dyn_cast<RoundedType>(element))
      element = rounded.getMemory();
    double entry = passes * element.getIntOrFloatBitWidth() / 8 - headBytes(chunks);
    if (projection.wantsWeight) // fetched and written by the first chunk
      entry += sumsWeight(projection) ? 8 : projection.weightGradient.getIntOrFloatBitWidth() / 4;
    bytes += entry * problem.columns * projection.hidden;
  }
  return bytes / machine.memoryRate;
}

/// The functions of the loss, in all sweeps.
double ScheduleBuilder::lossSeconds(int64_t tokens, const Machine &machine) const {
  return machine.logitSeconds * sweeps() * tokens * problem.columns * problem.projections.size();
}

double ScheduleBuilder::predictedSeconds(int64_t tokens, const Machine &machine) const {
  const TileSizes &tiles = problem.tiles;
  tokens = std::max<int64_t>(tokens, 1);
  int64_t chunk = choice.chunk == 0 ? tokens : chunkTokens(tokens, choice.chunk, problem.panelWidth);
  int64_t chunks = llvm::divideCeil(tokens, chunk), groups = choice.inPlace() ? 1 : llvm::divideCeil(problem.vocabSplits, choice.group);
  int64_t columns = llvm::divideCeil(problem.columns, groups), rows = tokensOfProduct(tokens), products = llvm::divideCeil(tokens, rows);
  double seconds = this->seconds(tokens, machine) + headSeconds(chunks, products, machine) + lossSeconds(tokens, machine) + pageSeconds(machine);
  const double slower = problem.hasFewTokens() ? 1 / machine.fewTokensShare - 1 : 0;
  auto add = [&](const TiledContraction &contraction, double times) {
    double ideal = idealSeconds(contraction, machine);
    seconds += times * (logitile::tiledSeconds(contraction, machine) - ideal + slower * ideal);
  };
  const TileSizes &made = problem.tilesApart ? *problem.tilesApart : tiles;
  for (const ProjectionProblem &projection : problem.projections) {
    int64_t bytes = projection.operand.getIntOrFloatBitWidth() / 8;
    TiledContraction project{problem.columns, chunk, projection.hidden, made.TN, made.TM, projectDepth(), bytes};
    project.lanesTogether = problem.target->blocksTogether(projectAlgorithm());
    project.tasks = problem.vocabSplits * llvm::divideCeil(chunk, made.TM);
    add(project, chunks * timesProjected(projection));
    if (projection.wantsHidden) {
      HiddenTile tile = hiddenTile(projection);
      TiledContraction hidden{rows, projection.hidden, columns, tile.tokens, tile.hidden, depthOf(tiles.TKhidden, projection.operand),
                              bytes};
      hidden.rowsTogether = problem.target->blocksTogether(hiddenAlgorithm(projection));
      if (problem.facts.hasFixedTiles)
        hidden.tasks = machine.units; // waits are part of what schedules are compared by
      add(hidden, static_cast<double>(products) * groups);
    }
    if (projection.wantsWeight) {
      WeightTile tile = weightTile(projection);
      TiledContraction weight{columns, projection.hidden, rows, tile.columns, tile.hidden, depthOf(tiles.TKweight, projection.operand),
                              bytes};
      weight.rowsTogether = problem.target->blocksTogether(weightAlgorithm(projection));
      add(weight, static_cast<double>(products) * groups);
    }
  }
  return seconds;
}
