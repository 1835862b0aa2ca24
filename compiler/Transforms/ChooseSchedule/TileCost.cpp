// TileCost.cpp - predicted time of a schedule with its tile sizes. The tuner uses it to rank tile sizes. Schedules of one program
// are compared without it, because all of them have the same sizes.
#include "compiler/CostModel/TileCost.h"
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

double ScheduleBuilder::tiledSeconds(int64_t tokens) const {
  Machine machine = problem.target->machine(problem.request.getThreads());
  const TileSizes &tiles = problem.tiles;
  tokens = std::max<int64_t>(tokens, 1);
  int64_t chunk = choice.chunk == 0 ? tokens : chunkTokens(tokens, choice.chunk, problem.panelWidth);
  int64_t chunks = llvm::divideCeil(tokens, chunk), groups = choice.inPlace() ? 1 : llvm::divideCeil(problem.vocabSplits, choice.group);
  int64_t columns = llvm::divideCeil(problem.columns, groups);
  double seconds = this->seconds(tokens);
  auto add = [&](const TiledContraction &contraction, double times) {
    seconds += times * (logitile::tiledSeconds(contraction, machine) - idealSeconds(contraction, machine));
  };
  for (const PairProblem &pair : problem.pairs) {
    int64_t bytes = pair.operand.getIntOrFloatBitWidth() / 8;
    TiledContraction project{problem.columns, chunk, pair.hidden, tiles.TN, tiles.TM, projectDepth(), bytes};
    project.tasks = problem.vocabSplits * llvm::divideCeil(chunk, tiles.TM);
    add(project, chunks * projections(pair));
    if (pair.wantsHidden) {
      HiddenTile tile = hiddenTile(pair);
      TiledContraction hidden{chunk, pair.hidden, columns, tile.tokens, tile.hidden, depthOf(tiles.TKhidden, pair.operand), bytes};
      add(hidden, static_cast<double>(chunks) * groups);
    }
    if (pair.wantsWeight) {
      WeightTile tile = weightTile(pair);
      TiledContraction weight{columns, pair.hidden, chunk, tile.columns, tile.hidden, depthOf(tiles.TKweight, pair.operand), bytes};
      add(weight, static_cast<double>(chunks) * groups);
    }
  }
  return seconds;
}
