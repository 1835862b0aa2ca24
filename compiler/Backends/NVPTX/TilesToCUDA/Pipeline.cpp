// Pipeline.cpp - as many stages as shared memory has room for.
#include "compiler/Backends/NVPTX/TilesToCUDA/Pipeline.h"
#include "compiler/Conversion/CodeBuilder.h"
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kMostStages = 4, kLeastStages = 2;
constexpr int64_t kLeastOfWarpgroups = 3; // one that is read, one whose products may still run, one that is filled
constexpr int64_t kMbarrierBytes = 1024;  // which few of them leave; stages begin at multiples of it
constexpr int64_t kThreadsOfTwo = 128;    // that two blocks of a multiprocessor may each have with as many registers as a thread can have
constexpr int64_t kHiddenBytes = 1024;    // of shared memory, that each block takes besides its own

static int64_t depthOf(Operation *op) {
  Attribute depth = isa<ProjectOp>(op) ? cast<ProjectOp>(op).getDepth() : cast<ContractOp>(op).getDepth();
  return cast<IntegerAttr>(depth).getInt();
}
/// Both operands of a contraction have elements of one type.
static Type elementOf(Operation *op) {
  Value operand = op->getOperand(0);
  return cast<ViewType>(operand.getType()).getElement();
}

/// As many as let two blocks run on a multiprocessor, one of which computes while the other waits; where registers do not, as many
/// as fit. A multiprocessor has the shared memory of its largest block.
static int64_t stagesOf(int64_t block, int64_t threads, int64_t limit, int64_t first, int64_t least) {
  int64_t half = (limit - kHiddenBytes) / 2 - first;
  bool areTwo = threads <= kThreadsOfTwo && half / block >= least;
  return std::min(kMostStages, (areTwo ? half : limit - first) / block);
}

FailureOr<Pipeline> Pipeline::get(KernelOp kernel, int64_t threads, int64_t limit) {
  int64_t block = 0, first = 0, least = kLeastStages;
  Operation *largest = nullptr;
  kernel.walk([&](Operation *op) {
    if (!isa<ProjectOp, ContractOp>(op))
      return;
    if (algorithmOf(op) == Algorithm::Wgmma)
      least = kLeastOfWarpgroups, first = kMbarrierBytes;
    auto tile = cast<TileType>(op->getResult(0).getType());
    int64_t bytes = (tile.getExtent(0) + tile.getExtent(1)) * depthOf(op) * CodeBuilder::bytesOf(elementOf(op));
    if (bytes > block) {
      block = bytes;
      largest = op;
    }
  });
  if (!largest)
    return Pipeline();
  int64_t stages = stagesOf(block, threads, limit, first, least);
  if (stages < least)
    return largest->emitOpError() << "has blocks of " << block << " bytes; " << least << " of them do not fit the " << limit
                                  << " bytes of shared memory";
  return Pipeline{stages, first, first + stages * block};
}
} // namespace logitile::cuda
