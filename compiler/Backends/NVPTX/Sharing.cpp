// Sharing.cpp - chooses how the threads of a block share a tile.
#include "compiler/Backends/NVPTX/Sharing.h"
#include "compiler/Conversion/CodeBuilder.h"
#include "compiler/Schedule/BuildPlan.h"
#include <numeric>
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kCopyThreads = 256;
/// Elements of a thread: with the operands of a step and the values of a loss they stay in
/// registers. Where a GPU has room for twice as many sums, warps with blocks of 64 x 64 read a
/// third less from shared memory for each product than those with 64 x 32.
constexpr int64_t kElementsPerThread = 64;
/// Kernels without products wait for memory alone: half as many elements take half the registers,
/// so twice as many warps wait.
constexpr int64_t kElementsWithoutProducts = 32;
/// Threads of a row where many row states are merged, and the states of each that are worth it: a
/// state waits for the one before it, not for those of other threads.
constexpr int64_t kMostParts = 8, kLeastOfPart = 4, kMostMergingThreads = 512;
constexpr int64_t kMostMergingBytes = 32768; // of shared memory, by which their states come together
constexpr int64_t kLeastWarps = 4, kMostWarps = 16; // a warp for each scheduler, a row of the tile for each thread

bool isForFlaggedTokens(scf::ForOp loop) {
  auto end = loop.getUpperBound().getDefiningOp<arith::SelectOp>();
  return end && end.getCondition().getDefiningOp<AnyTokenOp>();
}

bool isCopied(LoadOp load) { return load.getResult().hasOneUse() && isa<StoreOp>(*load.getResult().getUsers().begin()); }

MapOp mergeOf(scf::ForOp loop) {
  MapOp merge;
  SmallVector<Value> loaded;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto load = dyn_cast<LoadOp>(op);
    if (load && load.getAt().size() == 2 && load.getAt()[0] == loop.getInductionVar())
      loaded.push_back(load.getResult());
    else if (auto map = dyn_cast<MapOp>(op); map && map.getMerges() && !merge)
      merge = map;
    else
      return {};
  }
  size_t size = merge ? merge.getNumResults() : 0;
  if (!merge || loop.getYieldedValues() != ValueRange(merge.getResults()) || loaded.size() != size)
    return {};
  auto isStart = [](Value value) { return value.getDefiningOp<InitStateOp>() != nullptr; };
  bool isOfBoth = merge.getInputs().take_front(size) == ValueRange(loop.getRegionIterArgs()) &&
                  merge.getInputs().slice(size, size) == ValueRange(loaded) && llvm::all_of(loop.getInitArgs(), isStart);
  return isOfBoth ? merge : MapOp();
}

std::optional<Algorithm> algorithmOf(Operation *op) {
  if (auto project = dyn_cast<ProjectOp>(op))
    return project.getAlgorithm();
  auto contract = dyn_cast<ContractOp>(op);
  return contract ? contract.getAlgorithm() : std::nullopt;
}

bool isOfWarpgroups(Operation *op) {
  std::optional<Algorithm> algorithm = algorithmOf(op);
  return algorithm == Algorithm::Wgmma || algorithm == Algorithm::WgmmaPairs;
}

bool hasWarpgroups(KernelOp kernel) {
  return kernel.walk([](Operation *op) { return isOfWarpgroups(op) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
}
bool isOfPlanes(Operation *op) {
  return isa<ProjectOp, ContractOp>(op) && cast<ViewType>(op->getOperand(0).getType()).getElement().isF32();
}

int64_t bytesOfPlanes(int64_t entries, int64_t depth) {
  constexpr int64_t kPlaneBytes = 2;
  return kPlanes * kPlaneBytes * entries * depth;
}

int64_t sumsOfThread(int64_t tiles, bool drawsRandomNumbers, const GpuInfo &gpu) {
  return tiles == 1 && !drawsRandomNumbers ? gpu.sumsPerThread : kElementsPerThread;
}

int64_t blocksTogether(Algorithm algorithm) { return algorithm == Algorithm::WgmmaPairs ? kBlocksOfPair : 1; }
int64_t blocksTogether(KernelOp kernel) {
  return logitile::blocksTogether(kernel, [](Algorithm algorithm) { return blocksTogether(algorithm); });
}

namespace {
struct Extents {
  int64_t rows = 1, columns = 1;
  int64_t values = 0; // tiles of all rows and columns that come from memory or products
  int64_t narrowest = 4; // bytes of the elements of such tiles in memory
  bool hasProducts = false, contractsPlanes = false; // the second: of f32 operands
  Operation *ofWarpgroups = nullptr; // a product
  bool drawsNumbers = false; // whose rounds take registers

  /// Of a thread, at most, of all tiles together.
  int64_t elements(const GpuInfo &gpu) const {
    return hasProducts ? sumsOfThread(values, drawsNumbers, gpu) : kElementsWithoutProducts;
  }
};
bool isWhole(Type type) {
  auto tile = cast<TileType>(type);
  return tile.getExtent(0) > 1 && tile.getExtent(1) > 1;
}
int64_t elementBytes(Value view) { return CodeBuilder::bytesOf(cast<ViewType>(view.getType()).getElement()); }

/// The tile that everything in a kernel is a part of: all rows and all columns that a tile has.
FailureOr<Extents> findExtents(KernelOp kernel) {
  Extents found;
  auto grow = [&](int64_t &known, int64_t extent) {
    if (extent == 1 || extent == known)
      return true;
    bool isFirst = known == 1;
    known = extent;
    return isFirst;
  };
  WalkResult result = kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op); load && isCopied(load))
      return WalkResult::advance();
    found.drawsNumbers |= isa<UniformOp>(op);
    if (isa<ProjectOp, ContractOp>(op)) {
      found.hasProducts = true;
      found.contractsPlanes |= isa<ContractOp>(op) && isOfPlanes(op);
      if (isOfWarpgroups(op))
        found.ofWarpgroups = op;
    }
    if (auto load = dyn_cast<LoadOp>(op); load && isWhole(load.getType()))
      found.narrowest = std::min(found.narrowest, elementBytes(load.getView()));
    if (auto store = dyn_cast<StoreOp>(op); store && isWhole(store.getValue().getType()))
      found.narrowest = std::min(found.narrowest, elementBytes(store.getView()));
    if (auto finish = dyn_cast<FinishListOp>(op)) // it may have no tiles
      grow(found.rows, cast<IntegerAttr>(finish.getTokens()).getInt());
    if (auto finish = dyn_cast<FinishPlacesOp>(op))
      grow(found.rows, cast<IntegerAttr>(finish.getTokens()).getInt());
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<TileType>(type);
      if (tile && isWhole(tile) && isa<LoadOp, ProjectOp, ContractOp>(op))
        ++found.values;
      if (!tile || (grow(found.rows, tile.getExtent(0)) && grow(found.columns, tile.getExtent(1))))
        continue;
      op->emitOpError() << "makes " << tile << " in a kernel of other tiles; all have to have the same rows and columns, or 1";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted() ? FailureOr<Extents>(failure()) : found;
}

/// Halves one side of a warp's block until the block fits a thread's registers, every scheduler has
/// a warp, and every row a thread. This is the longer side. But in gradients of f32, it is the rows
/// while there are more than two fragments of them: planes of so many stay in registers. In kernels
/// of logits, row states need these registers.
void cutIntoBlocks(Sharing &sharing, const Extents &extents, const GpuInfo &gpu) {
  int64_t values = std::max<int64_t>(extents.values, 1), most = extents.elements(gpu);
  auto warps = [&] { return sharing.warpRows * sharing.warpColumns; };
  auto areFew = [&] { return warps() < kLeastWarps || warps() * kWarp < std::max(sharing.rows, sharing.columns); };
  while (sharing.blockRows() * sharing.blockColumns() * values > most * kWarp || areFew()) {
    bool canCutRows = sharing.blockRows() % 32 == 0, canCutColumns = sharing.blockColumns() % 32 == 0;
    if ((!canCutRows && !canCutColumns) || warps() >= kMostWarps)
      break;
    bool isRowsTurn = extents.contractsPlanes ? sharing.blockRows() > kWarp : sharing.blockColumns() < sharing.blockRows();
    bool cutsColumns = canCutColumns && !(canCutRows && isRowsTurn);
    (cutsColumns ? sharing.warpColumns : sharing.warpRows) *= 2;
  }
  sharing.threads = warps() * kWarp;
}

/// Their products fix it.
LogicalResult cutForWarpgroups(Sharing &sharing, Operation *product, const GpuInfo &gpu) {
  if (!gpu.hasOwnInstructions)
    return product->emitOpError() << "is 'using' " << stringifyAlgorithm(*algorithmOf(product)) << ", which " << gpu.architecture
                                  << " does not have; use mma_sync, or target sm_90a";
  if (sharing.rows % kWarpgroupRows != 0 || sharing.columns > kMostWarpgroupColumns)
    return product->emitOpError() << "is 'using' wgmma in a kernel with tiles of " << sharing.rows << " x " << sharing.columns
                                  << "; warpgroups multiply " << kWarpgroupRows << " rows each, with up to " << kMostWarpgroupColumns
                                  << " columns";
  sharing.warpRows = sharing.rows / 16;
  sharing.threads = sharing.warpRows * kWarp;
  return success();
}

int64_t partsOf(KernelOp kernel, int64_t rows) {
  int64_t parts = 1;
  kernel.walk([&](scf::ForOp loop) {
    std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()), end = getConstantIntValue(loop.getUpperBound());
    MapOp merge = mergeOf(loop);
    if (first != 0 || !end || getConstantIntValue(loop.getStep()) != 1 || !merge)
      return;
    auto fits = [&](int64_t count) {
      int64_t threads = rows * count, bytes = threads * 4 * merge.getNumResults();
      return count <= kMostParts && threads <= kMostMergingThreads && bytes <= kMostMergingBytes && *end >= count * kLeastOfPart;
    };
    while (fits(2 * parts))
      parts *= 2;
  });
  return parts;
}
} // namespace

FailureOr<Sharing> Sharing::get(KernelOp kernel, const GpuInfo &gpu) {
  FailureOr<Extents> extents = findExtents(kernel);
  if (failed(extents))
    return failure();
  Sharing sharing;
  sharing.rows = extents->rows;
  sharing.columns = extents->columns;
  sharing.isFragments = sharing.rows > 1 && sharing.columns > 1;
  if (!sharing.isFragments) {
    int64_t longest = std::max(sharing.rows, sharing.columns);
    sharing.threads = longest == 1 ? kCopyThreads : longest;
    if (sharing.threads % kWarp != 0 || sharing.threads > 1024)
      return kernel.emitOpError() << "has tiles of " << longest << " entries, one for each thread; blocks have a multiple of " << kWarp
                                  << " up to 1024";
    if (sharing.rows > 1)
      sharing.parts = partsOf(kernel, sharing.rows);
    sharing.threads *= sharing.parts;
    return sharing;
  }
  if (sharing.rows % kWarp != 0 || sharing.columns % 16 != 0)
    return kernel.emitOpError() << "has tiles of " << sharing.rows << " x " << sharing.columns << "; expected multiples of " << kWarp
                                << " rows, whose states whole warps have, and of 16 columns, as tensor cores do";
  if (!extents->ofWarpgroups)
    cutIntoBlocks(sharing, *extents, gpu);
  else if (failed(cutForWarpgroups(sharing, extents->ofWarpgroups, gpu)))
    return failure();
  if (!extents->hasProducts) // whose results lie in pairs
    sharing.neighbours = std::gcd(sharing.columnSlots(), kVectorBytes / extents->narrowest);
  if (std::max(sharing.rows, sharing.columns) > sharing.threads)
    return kernel.emitOpError() << "has tiles of " << sharing.rows << " x " << sharing.columns << ", more on one side than the "
                                << sharing.threads << " threads that share them";
  return sharing;
}
} // namespace logitile::cuda
