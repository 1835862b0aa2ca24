// Tiles.cpp - algorithms of products, and tile sizes that follow from the sizes of a call; those of
// the table are limits. No tile size changes the order of a sum.
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

/// The most of the hidden axis in a tile with so many rows. Few tokens leave the time to memory,
/// which is fastest where whole rows are read and written: then their tiles are as long as those of
/// the table are large.
int64_t ScheduleBuilder::widest(int64_t rows) const {
  if (!problem.hasFewTokens())
    return problem.tiles.TD;
  return std::max<int64_t>(problem.tiles.TN * problem.tiles.TD / rows / problem.panelWidth * problem.panelWidth, problem.panelWidth);
}

/// Tiles of a gradient of the head. For few tokens, they get whole rows by having fewer.
ScheduleBuilder::WeightTile ScheduleBuilder::weightTile(const ProjectionProblem &projection) const {
  WeightTile tile{problem.weightRows(), problem.gradientColumns(projection)};
  if (!problem.hasFewTokens())
    return tile;
  int64_t least = problem.facts.registerRows, whole = llvm::alignTo(projection.hidden, problem.panelWidth);
  while (widest(tile.columns) < whole && tile.columns % 2 == 0 && tile.columns / 2 >= least) // vocabulary splits are multiples of it
    tile.columns /= 2;
  return {tile.columns, std::min(widest(tile.columns), whole)};
}

/// Tiles of a gradient of hidden states. Each operand is read again for every tile along the other
/// axis, so they are as large as the table allows; but as many as the threads share evenly, for the
/// vocabulary is not cut here.
ScheduleBuilder::HiddenTile ScheduleBuilder::hiddenTile(const ProjectionProblem &projection) const {
  if (problem.facts.hasFixedTiles)
    return {problem.tiles.TM, problem.gradientColumns(projection)};
  int64_t tokens = std::max<int64_t>(problem.request.getTokens(), 1), threads = problem.request.getThreads(), width = problem.panelWidth;
  tokens = std::min(tokens, tokensOfProduct(tokens));
  int64_t highest = std::min<int64_t>(llvm::alignTo(tokens, width), problem.tiles.TM);
  int64_t rows = llvm::divideCeil(tokens, problem.tiles.TM), columns = llvm::divideCeil(projection.hidden, widest(highest));
  auto tile = [&] {
    return HiddenTile{static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(tokens, rows), width)),
                      static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(projection.hidden, columns), width))};
  };
  constexpr int64_t kEnough = 8; // tasks for each thread, whose rest does not matter
  for (HiddenTile now = tile(); std::max(now.tokens, now.hidden) > width; now = tile()) {
    if (rows * columns % threads == 0 || rows * columns >= kEnough * threads)
      break;
    ++(now.tokens > now.hidden ? rows : columns);
  }
  return tile();
}

/// A list takes fewer entries the more columns it has seen, so few long lists are cheaper than
/// many. But there are tasks enough for the units, and vocabulary splits that are stored share none
/// with those that are not.
int64_t ScheduleBuilder::listGroup() const {
  constexpr int64_t kLong = 256, kTasks = 2; // for each unit; long lists take more time than units that wait
  int64_t longest = 0;
  for (SweepOp sweep : problem.forwardSweeps)
    for (int64_t places : sweep.getPlaces())
      longest = std::max(longest, places);
  if (!problem.facts.isFilledByOneVocabSplit || longest == 0)
    return 1;
  int64_t tokens = std::max<int64_t>(problem.request.getTokens(), 1);
  if (choice.chunk != 0)
    tokens = std::min(tokens, chunkTokens(tokens, choice.chunk, problem.panelWidth));
  int64_t tasks = problem.vocabSplits * llvm::divideCeil(tokens, problem.tiles.TM);
  int64_t wanted = (longest > kLong ? 1 : kTasks) * problem.machine.units;
  int64_t group = std::clamp<int64_t>(tasks / wanted, 1, problem.vocabSplits);
  group = llvm::divideCeil(problem.vocabSplits, llvm::divideCeil(problem.vocabSplits, group)); // as even as can be
  while (choice.storedVocabSplits < problem.vocabSplits && choice.storedVocabSplits % group != 0)
    --group;
  return group;
}

int64_t ScheduleBuilder::leastTokensOfLists() const {
  int64_t group = listGroup(), tasks = llvm::divideCeil(problem.vocabSplits, group);
  return group == 1 ? 0 : (llvm::divideCeil(problem.machine.units, tasks) - 1) * problem.tiles.TM + 1;
}

/// Rows of tiles of logits that are read and not made, and of finishes. Where sizes are fixed they
/// are few: then many blocks share a unit, and some of them compute while others wait for memory.
int64_t ScheduleBuilder::rowsOfStored() const {
  constexpr int64_t kFewest = 32;
  return problem.facts.hasFixedTiles ? std::min(problem.tiles.TM, kFewest) : problem.tiles.TM;
}

/// Columns of the same tiles, whose number divides that of tiles that are made. Each column needs a
/// thread, and blocks of few threads share a unit best.
int64_t ScheduleBuilder::columnsOfStored() const {
  constexpr int64_t kMost = 128, kStep = 32;
  int64_t made = problem.tiles.TN, columns = kMost;
  if (!problem.facts.hasFixedTiles || made <= kMost)
    return made;
  while (made % columns != 0)
    columns -= kStep;
  return columns;
}

/// Sums over the tokens of each tile are kept then: more tiles would need more memory for them.
bool ScheduleBuilder::hasVocabGradients() const {
  auto gradients = ProgramOp(problem.program).getBody().getOps<GradientOp>();
  return llvm::any_of(gradients, [](GradientOp gradient) {
    return llvm::any_of(gradient.getBody().getOps<AdjointOp>(), [](AdjointOp adjoint) { return adjoint.getKind() == InputKind::Vocab; });
  });
}

/// Blocks of a shared axis have a number of bytes: operands of 16 bits go twice as far.
int64_t ScheduleBuilder::depthOf(int64_t steps, Type operand) const {
  return steps * 32 / operand.getIntOrFloatBitWidth();
}

int64_t ScheduleBuilder::hiddenDepth(const ProjectionProblem &projection) const {
  return problem.target->productDepth(hiddenAlgorithm(projection), depthOf(problem.tiles.TKhidden, projection.operand));
}

int64_t ScheduleBuilder::projectDepth() const {
  int64_t depth = INT64_MAX;
  for (const ProjectionProblem &projection : problem.projections)
    depth = std::min(depth, depthOf(problem.tiles.TKproject, projection.operand));
  return depth;
}

// ---- algorithms ---------------------------------------------------------------------------------

Algorithm ScheduleBuilder::algorithmOf(Product product, bool sharesOperands) const {
  product.entries = problem.columns;
  product.hasFewTokens = problem.hasFewTokens();
  product.cluster = sharesOperands ? problem.tiles.cluster : 1;
  return problem.target->productAlgorithm(product);
}

/// One for all projections of a launch.
Algorithm ScheduleBuilder::projectAlgorithm(bool sharesOperands) const {
  auto operands = llvm::map_to_vector<2>(problem.projections, [](const ProjectionProblem &projection) { return projection.operand; });
  return algorithmOf({ProductKind::Logits, operands, problem.tiles.TM, problem.tiles.TN, projectDepth()}, sharesOperands);
}

Algorithm ScheduleBuilder::apartAlgorithm(const ProjectionProblem &projection) const {
  const TileSizes &tiles = *problem.tilesApart;
  return algorithmOf({ProductKind::Logits, {projection.operand}, tiles.TM, tiles.TN, depthOf(tiles.TKproject, projection.operand)});
}

Algorithm ScheduleBuilder::hiddenAlgorithm(const ProjectionProblem &projection) const {
  HiddenTile tile = hiddenTile(projection);
  int64_t depth = depthOf(problem.tiles.TKhidden, projection.operand);
  return algorithmOf({ProductKind::HiddenGradient, {projection.operand}, tile.tokens, tile.hidden, depth});
}

Algorithm ScheduleBuilder::weightAlgorithm(const ProjectionProblem &projection) const {
  WeightTile tile = weightTile(projection);
  int64_t depth = depthOf(problem.tiles.TKweight, projection.operand);
  return algorithmOf({ProductKind::WeightGradient, {projection.operand}, tile.columns, tile.hidden, depth});
}
