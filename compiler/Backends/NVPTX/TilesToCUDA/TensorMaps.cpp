// TensorMaps.cpp - the operands of products of warpgroups as boxes.
#include "compiler/Backends/NVPTX/TilesToCUDA/TensorMaps.h"
using namespace mlir;

namespace logitile::cuda {
Boxes Boxes::of(int64_t outer, int64_t depth, bool isInnerShared) {
  constexpr int64_t kMostChunks = 8;
  if (isInnerShared)
    return {outer, depth / kPerChunk, 1};
  int64_t all = outer / kPerChunk, chunks = std::min(all & -all, kMostChunks);
  return {depth, chunks, all / chunks};
}

TensorMap tensorMapOf(Operation *product, bool isRight) {
  auto project = dyn_cast<ProjectOp>(product);
  auto contract = dyn_cast<ContractOp>(product);
  Attribute depth = project ? project.getDepth() : contract.getDepth();
  int64_t outer = cast<TileType>(product->getResult(0).getType()).getExtent(isRight);
  bool isInnerShared = project || (!isRight && !contract.getTransposed());
  Boxes boxes = Boxes::of(outer, cast<IntegerAttr>(depth).getInt(), isInnerShared);
  Value view = project ? (isRight ? project.getWeight() : project.getHidden()) : (isRight ? contract.getRhs() : contract.getLhs());
  return {cast<BlockArgument>(view).getArgNumber(), boxes.columns(), boxes.lines};
}

SmallVector<TensorMap> tensorMapsOf(KernelOp kernel) {
  SmallVector<TensorMap> maps;
  kernel.walk([&](Operation *op) {
    if (algorithmOf(op) != Algorithm::Wgmma)
      return;
    for (bool isRight : {false, true})
      if (TensorMap map = tensorMapOf(op, isRight); !llvm::is_contained(maps, map))
        maps.push_back(map);
  });
  return maps;
}
} // namespace logitile::cuda
