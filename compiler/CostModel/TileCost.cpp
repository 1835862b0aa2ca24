// TileCost.cpp - what tile sizes cost: traffic between caches, register tiles that are too small to
// keep the arithmetic units busy, and units without a task. The predictions are for ranking tile
// sizes. They are not exact times: those have to be measured.
#include "compiler/CostModel/TileCost.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
using namespace logitile;

static double rateAt(double bytes, const Machine &machine) {
  return bytes <= machine.nearBytes ? machine.nearRate : bytes <= machine.farBytes ? machine.farRate : machine.memoryRate;
}

double logitile::idealSeconds(const TiledContraction &c, const Machine &machine) {
  return 2.0 * c.rows * c.lanes * c.depth / (machine.flops * (c.operandBytes < 4 ? machine.speedOf16Bit : 1));
}

double logitile::tiledSeconds(const TiledContraction &c, const Machine &machine) {
  int64_t rows = llvm::divideCeil(c.rows, c.tileRows), lanes = llvm::divideCeil(c.lanes, c.tileLanes);
  int64_t blocks = llvm::divideCeil(c.depth, c.tileDepth);
  double tileRows = static_cast<double>(c.rows) / rows, tileLanes = static_cast<double>(c.lanes) / lanes;
  double tileDepth = static_cast<double>(c.depth) / blocks;

  // A register tile with few rows has few independent sums, so its additions wait for each other.
  double registerTiles = 1, idleRegisters = 1;
  if (machine.registerRows > 0) {
    constexpr double kRowsInFlight = 4;
    double cuts = llvm::divideCeil(std::min(c.tileRows, c.rows), machine.registerRows);
    idleRegisters = std::max(1.0, std::min<double>(kRowsInFlight, machine.registerRows) * cuts / tileRows);
    registerTiles = cuts * llvm::divideCeil(static_cast<int64_t>(tileLanes), machine.panelWidth);
  }

  // An operand is fetched once more for each further tile along the other operand's axis. Sums are
  // read and written once for each block of the shared axis. A block of the left operand that does
  // not fit the near cache is read once more for each panel of the right operand.
  double leftBytes = 1.0 * c.rows * c.depth * c.operandBytes, rightBytes = 1.0 * c.lanes * c.depth * c.operandBytes;
  double leftFetches = std::max(1.0, 1.0 * lanes / c.lanesTogether), rightFetches = std::max(1.0, 1.0 * rows / c.rowsTogether);
  double traffic = leftBytes * (leftFetches - 1) / rateAt(leftBytes, machine) + rightBytes * (rightFetches - 1) / rateAt(rightBytes, machine);
  double leftBlock = tileRows * tileDepth * c.operandBytes, sums = tileRows * tileLanes * 4;
  if (machine.registerRows > 0) {
    traffic += 8.0 * c.rows * c.lanes * blocks / rateAt(leftBlock + sums, machine);
    double panels = std::max(1.0, tileLanes / machine.panelWidth);
    if (leftBlock > machine.nearBytes)
      traffic += leftBytes * lanes * panels / machine.farRate;
  }
  constexpr double kExposed = 0.5; // of the traffic: the rest overlaps with arithmetic
  double tiles = static_cast<double>(rows) * lanes, tasks = c.tasks > 0 ? c.tasks : tiles;
  double busy = idealSeconds(c, machine) * idleRegisters + kExposed * traffic +
                tiles * blocks * registerTiles * machine.blockSeconds / machine.units;
  double waits = std::ceil(tasks / machine.units) * machine.units / tasks;
  return busy * waits + machine.launchSeconds;
}
