// Products.cpp - selects the products that run on warpgroups, and the tiles that fit registers in
// this case.
#include "compiler/Target/Products.h"
#include "compiler/Backends/NVPTX/GPUTarget.h"
#include "compiler/Backends/NVPTX/Sharing.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cuda;

/// Warpgroups multiply operands of 16 bits: 64 rows of a tile each, in blocks of up to 64 steps
/// that are a power of two. The sums of the tiles that a kernel makes at a time have to fit the
/// registers of a thread, and each column of a tile needs a thread.
static bool suitsWarpgroups(const Product &product) {
  constexpr int64_t kRows = 64, kMostRows = 256, kMostColumns = 256, kDeepest = 64;
  bool has16Bits = llvm::all_of(product.operands, [](Type operand) { return operand.getIntOrFloatBitWidth() == 16; });
  int64_t columns = product.columns * static_cast<int64_t>(product.operands.size());
  return has16Bits && product.rows % kRows == 0 && product.rows <= kMostRows && columns <= kMostColumns &&
         product.columns <= 2 * product.rows && product.depth <= kDeepest && llvm::isPowerOf2_64(product.depth);
}

Algorithm GPUTarget::productAlgorithm(const Product &product) const {
  if (!hasWarpgroups() || !suitsWarpgroups(product))
    return Algorithm::MmaSync;
  return product.cluster == kBlocksOfPair ? Algorithm::WgmmaPairs : Algorithm::Wgmma;
}

int64_t GPUTarget::blocksTogether(Algorithm algorithm) const { return cuda::blocksTogether(algorithm); }

/// Kernels that multiply f32 on GPUs with warpgroups hold its planes in registers, beside the sums
/// of all tiles. The rounds of random numbers take as many.
ColumnLimit GPUTarget::limitLogitColumns(const LogitTiles &tiles) const {
  if (!hasWarpgroups())
    return {};
  if (llvm::any_of(tiles.operands, [](Type operand) { return operand.isF32(); }))
    return {tiles.count > 1 ? 64 : 128, "float32 is multiplied"};
  return tiles.drawsRandomNumbers ? ColumnLimit{128, "random numbers are drawn"} : ColumnLimit();
}

/// Warpgroups take fewer columns than the table has where the hidden axis then fills its tiles
/// better: a tile takes as long as its columns, and some time for operands that all columns share.
/// The planes of f32 leave no registers for more than 128.
int64_t GPUTarget::gradientColumns(Type operand, int64_t hidden, int64_t most) const {
  constexpr int64_t kLeast = 128, kStep = 64, kShared = 32; // in columns
  if (!hasWarpgroups() || most <= kLeast)
    return most;
  if (operand.isF32())
    return kLeast;
  auto cost = [&](int64_t columns) { return llvm::divideCeil(hidden, columns) * (columns + kShared); };
  int64_t best = most;
  for (int64_t columns = llvm::alignDown(most - 1, kStep); columns >= kLeast; columns -= kStep)
    if (cost(columns) < cost(best))
      best = columns;
  return best;
}
