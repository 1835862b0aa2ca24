// Cost.cpp - predicted time of a schedule: contractions at the target's rate, memory traffic at its bandwidth.
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

/// How much longer logits of a group of vocabulary splits take because there are too few tasks for the units.
double ScheduleBuilder::idleFactor(int64_t tokens) const {
  if (choice.inPlace())
    return 1;
  int64_t units = problem.machine.units, chunk = choice.chunk == 0 ? tokens : chunkTokens(tokens, choice.chunk, problem.panelWidth);
  int64_t tasks = choice.group * std::max<int64_t>(1, llvm::divideCeil(chunk, problem.tiles.TM));
  return static_cast<double>(llvm::divideCeil(tasks, units) * units) / tasks;
}

/// How often the logits of a pair are made, on the average of the vocabulary.
double ScheduleBuilder::projections(const PairProblem &pair) const {
  int64_t sweeps = problem.forwardSweeps.size() + problem.adjointSweeps.size() + (problem.gradient ? 1 : 0);
  double kept = static_cast<double>(choice.keptVocabSplits) / problem.vocabSplits;
  return sweeps == 0 ? 0 : 1 + (1 - kept) * (pair.isReadAgain ? sweeps - 1 : 0);
}

double ScheduleBuilder::seconds(int64_t tokens, const Machine &machine) const {
  double kept = static_cast<double>(choice.keptVocabSplits) / problem.vocabSplits;
  double contraction = 2.0 * tokens * problem.columns; // flops for each hidden entry
  double tile = 4.0 * tokens * problem.columns;        // bytes of one pass over f32 logits
  int64_t sweeps = problem.forwardSweeps.size() + problem.adjointSweeps.size() + (problem.gradient ? 1 : 0);
  double flops = 0, bytes = 0;
  for (const PairProblem &pair : problem.pairs) {
    double rate = pair.operand.isF32() ? 1.0 : machine.speedOf16Bit;
    double made = projections(pair), first = std::min(made, 1.0), again = (made - first) * idleFactor(tokens);
    double contractions = (pair.wantsHidden ? 1 : 0) + (pair.wantsWeight ? 1 : 0);
    flops += contraction * pair.hidden * (first + again + contractions) / rate;
    // Kept logits are written once and read by every later pass; gradients are written, and read by each contraction.
    if (pair.isReadAgain && sweeps > 1)
      bytes += tile * (kept * sweeps * pair.keptElement.getIntOrFloatBitWidth() / 32 + 1 + contractions);
    int64_t chunks = choice.chunk == 0 ? 1 : choice.chunk < 0 ? -choice.chunk : llvm::divideCeil(std::max<int64_t>(tokens, 1), choice.chunk);
    if (pair.wantsWeight) // read and written by every chunk but the first
      bytes += 8.0 * problem.columns * pair.hidden * (chunks - 1) + (sumsWeight(pair) ? 6.0 * problem.columns * pair.hidden : 0);
    bytes += static_cast<double>(chunks) * problem.columns * pair.hidden * 4; // the head, once for each chunk and pass
    if (!choice.inPlace() && pair.wantsHidden) // sums of hidden gradients, for each group of vocabulary splits
      bytes += 8.0 * tokens * pair.hidden * problem.vocabSplits / choice.group;
  }
  return flops / machine.flops + bytes / machine.memoryRate;
}
