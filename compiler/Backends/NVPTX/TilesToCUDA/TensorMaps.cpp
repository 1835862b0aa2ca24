// TensorMaps.cpp - the operands of products of warpgroups as boxes.
#include "compiler/Backends/NVPTX/TilesToCUDA/TensorMaps.h"
#include "compiler/Schedule/BuildPlan.h"
using namespace mlir;

namespace logitile::cuda {
Boxes Boxes::of(int64_t outer, int64_t depth, bool isInnerShared) {
  constexpr int64_t kMostChunks = 8;
  if (isInnerShared)
    return {outer, depth / kPerChunk, 1};
  int64_t all = outer / kPerChunk, chunks = std::min(all & -all, kMostChunks);
  return {depth, chunks, all / chunks};
}

bool isHalved(Operation *product, bool isRight) {
  bool isOfPair = isRight && algorithmOf(product) == Algorithm::WgmmaPairs;
  return isOfPair && blocksTogether(product->getParentOfType<KernelOp>()) == kBlocksOfPair;
}

TensorMap tensorMapOf(Operation *product, bool isRight) {
  auto project = dyn_cast<ProjectOp>(product);
  auto contract = dyn_cast<ContractOp>(product);
  Attribute depth = project ? project.getDepth() : contract.getDepth();
  int64_t outer = cast<TileType>(product->getResult(0).getType()).getExtent(isRight);
  bool isInnerShared = project || (!isRight && !contract.getTransposed());
  Boxes boxes = Boxes::of(outer, cast<IntegerAttr>(depth).getInt(), isInnerShared);
  Value view = project ? (isRight ? project.getWeight() : project.getHidden()) : (isRight ? contract.getRhs() : contract.getLhs());
  int64_t lines = isHalved(product, isRight) ? boxes.lines / kBlocksOfPair : boxes.lines;
  return {cast<BlockArgument>(view).getArgNumber(), boxes.columns(), lines};
}

SmallVector<TensorMap> tensorMapsOf(KernelOp kernel) {
  SmallVector<TensorMap> maps;
  kernel.walk([&](Operation *op) {
    if (!isOfWarpgroups(op))
      return;
    for (bool isRight : {false, true})
      if (TensorMap map = tensorMapOf(op, isRight); !llvm::is_contained(maps, map))
        maps.push_back(map);
  });
  return maps;
}
} // namespace logitile::cuda
