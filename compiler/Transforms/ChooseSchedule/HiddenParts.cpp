// HiddenParts.cpp - gradients of hidden states in parts of the vocabulary, if tokens are so few
// that their tiles leave units idle. The number of parts is the same for all chunks of a call,
// because it changes the order of sums.
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

int64_t Problem::mostTokensAlike() const {
  int64_t count = llvm::divideCeil(std::max<int64_t>(request.getTokens(), 1), tiles.TM);
  return tiles.TM * llvm::PowerOf2Ceil(count);
}

/// Two tasks share a unit at a time; one alone may take longer than half of their time.
double Problem::hiddenWaits(const ProjectionProblem &projection, int64_t tokens, int64_t parts) const {
  if (!facts.hasFixedTiles)
    return 1;
  int64_t tasks = parts * llvm::divideCeil(std::max<int64_t>(tokens, 1), tiles.TM) * llvm::divideCeil(projection.hidden, gradientColumns(projection));
  int64_t most = llvm::divideCeil(tasks, machine.units), alone = most % 2;
  return (most - alone + alone / machine.loneTaskShare) * machine.units / tasks;
}

/// As few as come close to the best number: each of them takes memory. None where they save little.
int64_t Problem::hiddenParts(const ProjectionProblem &projection, int64_t tokens) const {
  constexpr int64_t kMost = 64, kLeastEntries = 1024;
  constexpr double kLittle = 0.1, kClose = 1.05;
  if (!facts.hasFixedTiles || !projection.wantsHidden)
    return 1;
  double rate = machine.flops * (projection.operand.isF32() ? 1 : machine.speedOf16Bit);
  auto seconds = [&](int64_t parts) {
    double product = 2.0 * tokens * columns * projection.hidden / rate * hiddenWaits(projection, tokens, parts);
    return parts == 1 ? product : product + 8.0 * tokens * projection.hidden * parts / machine.memoryRate + machine.launchSeconds;
  };
  double best = seconds(1);
  for (int64_t parts = 2; parts <= std::min(kMost, columns / kLeastEntries); ++parts)
    best = std::min(best, seconds(parts));
  if (best > (1 - kLittle) * seconds(1))
    return 1;
  int64_t parts = 2;
  while (seconds(parts) > kClose * best)
    ++parts;
  return llvm::divideCeil(columns, entriesOfPart(parts)); // none of them is empty
}

/// A multiple of the blocks that kernels take of the vocabulary at a time.
int64_t Problem::entriesOfPart(int64_t parts) const {
  constexpr int64_t kUnit = 128;
  return llvm::alignTo(llvm::divideCeil(columns, parts), kUnit);
}

std::pair<int64_t, int64_t> Problem::tokensAlike() const {
  constexpr int64_t kMost = int64_t(1) << 40;
  if (!facts.hasFixedTiles)
    return {0, INT64_MAX};
  int64_t least = mostTokensAlike(), most = least;
  if (!hasHiddenParts(most)) {
    while (least > tiles.TM && !hasHiddenParts(least / 2))
      least /= 2;
    while (most < kMost && !hasHiddenParts(2 * most))
      most *= 2;
  }
  return {least > tiles.TM ? least / 2 + 1 : 0, most < kMost ? most + 1 : INT64_MAX};
}

/// Columns from one part to the next: those of whole tiles.
int64_t ScheduleBuilder::partWidth(const ProjectionProblem &projection) const {
  return llvm::alignTo(projection.hidden, problem.gradientColumns(projection));
}

int64_t ScheduleBuilder::hiddenSumColumns(const ProjectionProblem &projection) const {
  int64_t parts = hiddenParts(projection);
  return parts == 1 ? projection.hidden : parts * partWidth(projection);
}
