// Products.cpp - selects the products that run on warpgroups, and the tiles that fit registers in
// this case.
#include "compiler/Target/Products.h"
#include "compiler/Backends/NVPTX/GPUTarget.h"
#include "compiler/Backends/NVPTX/Sharing.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
using namespace mlir;
using namespace logitile;
using namespace logitile::cuda;

/// Columns of a tile whose operands are f32: a thread has registers for its sums, those of a block
/// and the numbers of the next block.
constexpr int64_t kMostColumnsOfF32 = 128;

static bool areFloats(ArrayRef<Type> operands) {
  return llvm::all_of(operands, [](Type operand) { return operand.isF32(); });
}

/// Warpgroups multiply operands of 16 bits, or planes of f32: 64 rows of a tile each, in blocks of
/// up to 64 steps that are a power of two; of f32 up to 32, which threads have in registers. The
/// sums of the tiles that a kernel makes at a time have to fit the registers of a thread, and each
/// column of a tile needs a thread.
static bool suitsWarpgroups(const Product &product) {
  constexpr int64_t kRows = 64, kMostRows = 256, kMostColumns = 256, kDeepest = 64;
  bool have16Bits = llvm::all_of(product.operands, [](Type operand) { return operand.getIntOrFloatBitWidth() == 16; });
  bool haveFewFloats = areFloats(product.operands) && product.columns <= kMostColumnsOfF32 && product.depth <= kDeepest / 2;
  int64_t columns = product.columns * static_cast<int64_t>(product.operands.size());
  return (have16Bits || haveFewFloats) && product.rows % kRows == 0 && product.rows <= kMostRows && columns <= kMostColumns &&
         product.columns <= 2 * product.rows && product.depth <= kDeepest && llvm::isPowerOf2_64(product.depth);
}

Algorithm GPUTarget::productAlgorithm(const Product &product) const {
  if (!hasWarpgroups() || !suitsWarpgroups(product))
    return Algorithm::MmaSync;
  bool isOfPair = product.cluster == kBlocksOfPair && !areFloats(product.operands);
  return isOfPair ? Algorithm::WgmmaPairs : Algorithm::Wgmma;
}

int64_t GPUTarget::blocksTogether(Algorithm algorithm) const { return cuda::blocksTogether(algorithm); }

/// Kernels that multiply f32 hold the sums of a block in registers, beside the sums of all tiles.
/// The rounds of random numbers take as many.
ColumnLimit GPUTarget::limitLogitColumns(const LogitTiles &tiles) const {
  if (!hasWarpgroups())
    return {};
  if (llvm::any_of(tiles.operands, [](Type operand) { return operand.isF32(); }))
    return {tiles.count > 1 ? 64 : kMostColumnsOfF32, "float32 is multiplied"};
  return tiles.drawsRandomNumbers ? ColumnLimit{128, "random numbers are drawn"} : ColumnLimit();
}

/// Tensor cores wait for shared memory where a warp, or a warpgroup, multiplies a small block:
/// bench/sass_model.py predicts 0.61 of the peak for blocks of 32 x 32 on an a100, which would take
/// all of the shared memory's rate, and 0.8 for 64 x 128 on an h100. Planes of f32 are read once
/// for two products.
double GPUTarget::rateShareOfLogits(const LogitTiles &tiles) const {
  constexpr double kSharedBytes = 0.61 * 128; // a cycle
  if (areFloats(tiles.operands))
    return 1;
  double rows = kWarpgroupRows, columns = static_cast<double>(tiles.columns);
  if (!hasWarpgroups())
    rows = columns = std::sqrt(static_cast<double>(kWarp * sumsOfThread(tiles.count, tiles.drawsRandomNumbers, gpu.info()) / tiles.count));
  double bytes = 2 * (rows + columns), operations = 2 * rows * columns; // for each step of the hidden axis
  double perCycle = gpu.chip->tensorRate / (gpu.chip->multiprocessors * gpu.chip->hertz);
  return std::min(1.0, operations / perCycle / (bytes / kSharedBytes));
}

/// Warpgroups take fewer columns than the table has where the hidden axis then fills its tiles
/// better: a tile takes as long as its columns, and some time for operands that all columns share.
int64_t GPUTarget::gradientColumns(Type operand, int64_t hidden, int64_t most) const {
  constexpr int64_t kLeast = 128, kStep = 64, kShared = 32; // in columns
  if (!hasWarpgroups() || most <= kLeast)
    return most;
  if (operand.isF32())
    return kMostColumnsOfF32;
  auto cost = [&](int64_t columns) { return llvm::divideCeil(hidden, columns) * (columns + kShared); };
  int64_t best = most;
  for (int64_t columns = llvm::alignDown(most - 1, kStep); columns >= kLeast; columns -= kStep)
    if (cost(columns) < cost(best))
      best = columns;
  return best;
}
