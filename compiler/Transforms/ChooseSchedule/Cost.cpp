// Cost.cpp - predicted time of a schedule: contractions at the target's rate, memory traffic at its
// bandwidth.
#include "compiler/Transforms/ChooseSchedule/Problem.h"
using namespace mlir;
using namespace logitile;

/// How much longer logits of 'vocabSplits' vocabulary splits take because there are too few tasks
/// for the units.
double ScheduleBuilder::idleFactor(int64_t vocabSplits, int64_t tokens) const {
  int64_t units = problem.machine.units, chunk = choice.chunk == 0 ? tokens : chunkTokens(tokens, choice.chunk, problem.panelWidth);
  int64_t tasks = vocabSplits * std::max<int64_t>(1, llvm::divideCeil(chunk, problem.tiles.TM));
  return static_cast<double>(llvm::divideCeil(tasks, units) * units) / tasks;
}

/// How often all logits are read, by functions of the loss.
int64_t ScheduleBuilder::sweeps() const {
  return problem.forwardSweeps.size() + problem.backwardSweeps.size() + (problem.gradient ? 1 : 0);
}

/// How often the logits of a projection are made, on the average of the vocabulary.
double ScheduleBuilder::timesProjected(const ProjectionProblem &projection) const {
  const int64_t sweeps = this->sweeps();
  double stored = static_cast<double>(choice.storedVocabSplits) / problem.vocabSplits;
  return sweeps == 0 ? 0 : 1 + (1 - stored) * (projection.isReadAgain ? sweeps - 1 : 0);
}

/// Bytes for each entry of a head: it is read once for each chunk and pass, of two passes. The
/// second of them is that of products.
double ScheduleBuilder::headBytes(int64_t chunks) const {
  constexpr double kEntry = 2;
  return kEntry * static_cast<double>(chunks + (choice.keepsGradients ? 1 : chunks));
}

double ScheduleBuilder::seconds(int64_t tokens, const Machine &machine) const {
  double stored = static_cast<double>(choice.storedVocabSplits) / problem.vocabSplits;
  double contraction = 2.0 * tokens * problem.columns; // flops for each hidden entry
  double tile = 4.0 * tokens * problem.columns;        // bytes of one pass over f32 logits
  const int64_t sweeps = this->sweeps();
  double flops = 0, bytes = 0;
  for (const ProjectionProblem &projection : problem.projections) {
    double rate = projection.operand.isF32() ? 1.0 : machine.speedOf16Bit;
    double made = timesProjected(projection), first = std::min(made, 1.0), again = (made - first) * problem.slowdownOfLogits;
    first *= problem.tilesApart ? stored + (1 - stored) * problem.slowdownOfLogits : problem.slowdownOfLogits;
    if (problem.tilesApart) // the first sweep reads them
      bytes += tile * stored;
    if (!choice.inPlace())
      again *= idleFactor(choice.group, tokens);
    if (choice.keepsGradients) // chunks may be small
      first *= idleFactor(problem.vocabSplits, tokens);
    double contractions = (projection.wantsHidden ? 1 : 0) + (projection.wantsWeight ? 1 : 0);
    double waits = 0;
    if (projection.wantsHidden)
      waits = problem.hiddenWaits(projection, tokensOfProduct(tokens), hiddenParts(projection)) - 1;
    flops += contraction * projection.hidden * (first + again + contractions + waits) / rate;
    // Stored logits are written once and read by every later pass; gradients are written, and read
    // by each contraction.
    if (projection.isReadAgain && sweeps > 1)
      bytes += tile * (stored * sweeps * projection.storedElement.getIntOrFloatBitWidth() / 32 + 1 + contractions);
    if (problem.isFactored()) // the first sweep writes gradients
      bytes += tile * (1 + contractions);
    int64_t chunks = choice.chunk == 0 ? 1 : choice.chunk < 0 ? -choice.chunk : llvm::divideCeil(std::max<int64_t>(tokens, 1), choice.chunk);
    if (projection.wantsWeight && sumsChunks()) // read and written by every chunk but the first
      bytes += 8.0 * problem.columns * projection.hidden * (chunks - 1) +
               (sumsWeight(projection) ? 6.0 * problem.columns * projection.hidden : 0);
    bytes += headBytes(chunks) * problem.columns * projection.hidden;
    if (hiddenParts(projection) > 1) // written and read
      bytes += 8.0 * tokens * hiddenSumColumns(projection);
    if (!choice.inPlace() && projection.wantsHidden) // sums of hidden gradients, for each group of vocabulary splits
      bytes += 8.0 * tokens * projection.hidden * problem.vocabSplits / choice.group;
  }
  return flops / machine.flops + bytes / machine.memoryRate;
}
