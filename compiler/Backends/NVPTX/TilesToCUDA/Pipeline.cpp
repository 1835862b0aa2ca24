// Pipeline.cpp - the number of stages that fit shared memory.
#include "compiler/Backends/NVPTX/TilesToCUDA/Pipeline.h"
#include "compiler/Conversion/CodeBuilder.h"
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kMostStages = 4, kLeastStages = 2;
constexpr int64_t kLeastOfWarpgroups = 3; // one that is read, one whose products may still run, one that is filled
constexpr int64_t kMbarrierBytes = 1024;  // which few of them leave; stages begin at multiples of it
constexpr int64_t kThreadsOfTwo = 128;    // that two blocks of a multiprocessor may each have with as many registers as a thread can have
constexpr int64_t kHiddenBytes = 1024;    // of shared memory, that each block takes besides its own
constexpr int64_t kMostScratch = 65536;   // of ops that have memory beside the stages: a tile of 128 x 256 elements of 16 bits

static int64_t depthOf(Operation *op) {
  Attribute depth = isa<ProjectOp>(op) ? cast<ProjectOp>(op).getDepth() : cast<ContractOp>(op).getDepth();
  return cast<IntegerAttr>(depth).getInt();
}
/// Both operands of a contraction have elements of one type.
static Type elementOf(Operation *op) {
  Value operand = op->getOperand(0);
  return cast<ViewType>(operand.getType()).getElement();
}

/// As many as let two blocks run on a multiprocessor, one of which computes while the other waits;
/// where registers do not, as many as fit. A multiprocessor has the shared memory of its largest
/// block.
static int64_t stagesOf(int64_t block, int64_t threads, int64_t limit, int64_t first, int64_t least) {
  int64_t half = (limit - kHiddenBytes) / 2 - first;
  bool areTwo = threads <= kThreadsOfTwo && half / block >= least;
  return std::min(kMostStages, (areTwo ? half : limit - first) / block);
}

/// Whether ops beside products do with little shared memory: four bytes for each row and tile, or
/// for each column and warp.
static bool needsLittleScratch(KernelOp kernel, int64_t rows) {
  WalkResult walk = kernel.walk([&](Operation *op) {
    bool isLarge = op->getNumOperands() * rows * 4 > kMostScratch;
    return isa<UpdateListsOp, FinishListOp, PickEntriesOp>(op) || isLarge ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !walk.wasInterrupted();
}

/// The one product of a kernel, where it is of warpgroups and makes the tiles of a loop along the
/// vocabulary.
static ProjectOp productOfLoop(KernelOp kernel) {
  SmallVector<Operation *> products;
  kernel.walk([&](Operation *op) {
    if (isa<ProjectOp, ContractOp>(op))
      products.push_back(op);
  });
  auto project = products.size() == 1 ? dyn_cast<ProjectOp>(products.front()) : ProjectOp();
  auto loop = project ? dyn_cast<scf::ForOp>(project->getParentOp()) : scf::ForOp();
  return loop && isOfWarpgroups(project) && project.getColumn() == loop.getInductionVar() ? project : ProjectOp();
}

/// Of the hidden axis.
static int64_t blocksOf(ProjectOp project) {
  auto size = cast<IntegerAttr>(cast<ViewType>(project.getWeight().getType()).getDims()[1]);
  return llvm::divideCeil(size.getInt(), depthOf(project));
}

static LogicalResult refuseBlocks(Operation *op, int64_t bytes, int64_t count, int64_t limit) {
  return op->emitOpError() << "has blocks of " << bytes << " bytes; " << count << " of them do not fit the " << limit
                           << " bytes of shared memory";
}

FailureOr<Pipeline> Pipeline::get(KernelOp kernel, int64_t threads, int64_t limit) {
  int64_t block = 0, planes = 0, first = 0, least = kLeastStages;
  Operation *largest = nullptr, *largestOfPlanes = nullptr;
  auto grow = [](int64_t &bytes, Operation *&owner, int64_t ofOp, Operation *op) {
    if (ofOp > bytes)
      bytes = ofOp, owner = op;
  };
  kernel.walk([&](Operation *op) {
    if (!isa<ProjectOp, ContractOp>(op))
      return;
    auto tile = cast<TileType>(op->getResult(0).getType());
    int64_t entries = tile.getExtent(0) + tile.getExtent(1);
    if (isOfPlanes(op))
      return grow(planes, largestOfPlanes, bytesOfPlanes(entries, depthOf(op)), op);
    if (isOfWarpgroups(op))
      least = kLeastOfWarpgroups, first = kMbarrierBytes;
    grow(block, largest, entries * depthOf(op) * CodeBuilder::bytesOf(elementOf(op)), op);
  });
  if (first + kBlocksOfPlanes * planes > limit)
    return refuseBlocks(largestOfPlanes, planes, kBlocksOfPlanes, limit);
  planes *= kBlocksOfPlanes;
  if (!largest)
    return Pipeline{0, first, first + planes, ProjectOp()};
  int64_t stages = stagesOf(block, threads, limit, first, least);
  if (stages < least)
    return refuseBlocks(largest, block, least, limit);
  ProjectOp project = productOfLoop(kernel);
  int64_t bytes = first + std::max(stages * block, planes);
  bool mayPrefetch = project && bytes + kMostScratch <= limit && blocksOf(project) >= stages - 1 &&
                     needsLittleScratch(kernel, cast<TileType>(project.getType()).getExtent(0));
  return Pipeline{stages, first, bytes, mayPrefetch ? project : ProjectOp()};
}
} // namespace logitile::cuda
