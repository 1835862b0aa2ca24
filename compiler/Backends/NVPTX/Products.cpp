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

constexpr int64_t kMostColumns = 256; // of sums that fit the registers of a thread, with 64 rows for each warpgroup
/// The same for f32: the sums of all tiles, and once more those of a block.
constexpr int64_t kMostColumnsOfF32 = 384;

static bool areFloats(ArrayRef<Type> operands) {
  return llvm::all_of(operands, [](Type operand) { return operand.isF32(); });
}

/// Whether the blocks of f32 operands and their planes fit the shared memory of a thread block.
static bool fitPlanes(const Product &product, int64_t sharedBytes) {
  int64_t columns = product.columns * (static_cast<int64_t>(product.operands.size()) + 1);
  return columns <= kMostColumnsOfF32 && bytesOfPlanes(product.rows + product.columns, product.depth) <= sharedBytes;
}

/// Warpgroups multiply operands of 16 bits, or planes of f32: 64 rows of a tile each, in blocks of
/// up to 64 steps that are a power of two. The sums of the tiles that a kernel makes at a time have
/// to fit the registers of a thread, and each column of a tile needs a thread.
static bool suitsWarpgroups(const Product &product, int64_t sharedBytes) {
  constexpr int64_t kMostRows = 256, kDeepest = 64;
  bool have16Bits = llvm::all_of(product.operands, [](Type operand) { return operand.getIntOrFloatBitWidth() == 16; });
  int64_t columns = product.columns * static_cast<int64_t>(product.operands.size());
  bool fits = have16Bits ? columns <= kMostColumns : areFloats(product.operands) && fitPlanes(product, sharedBytes);
  return fits && product.rows % kWarpgroupRows == 0 && product.rows <= kMostRows && product.columns <= 2 * product.rows &&
         product.depth <= kDeepest && llvm::isPowerOf2_64(product.depth);
}

Algorithm GPUTarget::productAlgorithm(const Product &product) const {
  if (!hasWarpgroups() || !suitsWarpgroups(product, gpu.info().sharedBytes))
    return Algorithm::MmaSync;
  bool isOfPair = product.cluster == kBlocksOfPair && !areFloats(product.operands);
  return isOfPair ? Algorithm::WgmmaPairs : Algorithm::Wgmma;
}

int64_t GPUTarget::blocksTogether(Algorithm algorithm) const { return cuda::blocksTogether(algorithm); }

/// Kernels that multiply f32 on GPUs with warpgroups have registers for the sums of a block beside
/// those of all tiles. The rounds of random numbers take as many.
ColumnLimit GPUTarget::limitLogitColumns(const LogitTiles &tiles) const {
  if (!hasWarpgroups())
    return {};
  bool isAlone = tiles.count == 1 && !tiles.drawsRandomNumbers;
  if (areFloats(tiles.operands))
    return {isAlone ? 192 : 128, "float32 is multiplied"};
  if (llvm::any_of(tiles.operands, [](Type operand) { return operand.isF32(); })) // by single warps, which hold its planes
    return {64, "float32 is multiplied beside other operands"};
  return tiles.drawsRandomNumbers ? ColumnLimit{128, "random numbers are drawn"} : ColumnLimit();
}

/// Warpgroups take fewer columns than the table has where the hidden axis then fills its tiles
/// better: a tile takes as long as its columns, and some time for operands that all columns share.
int64_t GPUTarget::gradientColumns(Type operand, int64_t hidden, int64_t most) const {
  constexpr int64_t kLeast = 128, kStep = 64, kShared = 32; // in columns
  if (!hasWarpgroups())
    return most;
  if (operand.isF32())
    most = std::min(most, kMostColumnsOfF32 / 2);
  auto cost = [&](int64_t columns) { return llvm::divideCeil(hidden, columns) * (columns + kShared); };
  int64_t best = most;
  for (int64_t columns = llvm::alignDown(most - 1, kStep); columns >= kLeast; columns -= kStep)
    if (cost(columns) < cost(best))
      best = columns;
  return best;
}
