// Tiles.cpp - tile sizes that follow from the sizes of a call; those of the table are limits. None of them changes the
// order of a sum.
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

/// Tiles of a gradient of hidden states. Each operand is read again for every tile along the other axis, so they are as
/// large as the table allows; but as many as the threads share evenly, for the vocabulary is not cut here.
ScheduleBuilder::HiddenTile ScheduleBuilder::hiddenTile(const PairProblem &pair) const {
  if (problem.target.kind != DeviceKind::Cpu) // tensor cores cut tiles of these sizes only
    return {problem.tiles.TM, problem.tiles.TD};
  int64_t tokens = std::max<int64_t>(problem.request.getTokens(), 1), threads = problem.request.getThreads(), width = problem.panelWidth;
  if (choice.chunk != 0)
    tokens = std::min(tokens, chunkTokens(tokens, choice.chunk, width));
  int64_t rows = llvm::divideCeil(tokens, problem.tiles.TM), columns = llvm::divideCeil(pair.hidden, problem.tiles.TD);
  auto tile = [&] {
    return HiddenTile{static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(tokens, rows), width)),
                      static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(pair.hidden, columns), width))};
  };
  constexpr int64_t kEnough = 8; // tasks for each thread, whose rest does not matter
  for (HiddenTile now = tile(); std::max(now.tokens, now.hidden) > width; now = tile()) {
    if (rows * columns % threads == 0 || rows * columns >= kEnough * threads)
      break;
    ++(now.tokens > now.hidden ? rows : columns);
  }
  return tile();
}

/// Blocks of a shared axis have a number of bytes: operands of 16 bits go twice as far.
int64_t ScheduleBuilder::depthOf(int64_t steps, Type operand) { return steps * 32 / operand.getIntOrFloatBitWidth(); }

int64_t ScheduleBuilder::projectDepth() const {
  int64_t depth = INT64_MAX;
  for (const PairProblem &pair : problem.pairs)
    depth = std::min(depth, depthOf(problem.tiles.TKproject, pair.operand));
  return depth;
}
