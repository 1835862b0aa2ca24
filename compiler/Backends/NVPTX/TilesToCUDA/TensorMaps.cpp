// TensorMaps.cpp - operands and results of products of warpgroups as boxes.
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

/// Whether only this store uses the memory of its view: there, threads and boxes do not wait for
/// each other.
static bool isOnlyUse(StoreOp store) {
  auto kernel = store->getParentOfType<KernelOp>();
  auto argument = cast<BlockArgument>(store.getView());
  auto memoryOf = [&](BlockArgument view) {
    StringAttr buffer = kernel.bufferOf(view);
    auto alias = buffer && kernel.getAliases() ? kernel.getAliases()->getAs<FlatSymbolRefAttr>(buffer) : FlatSymbolRefAttr();
    return alias ? alias.getAttr() : buffer;
  };
  auto isAnother = [&](BlockArgument view) { return view == argument || memoryOf(view) != memoryOf(argument); };
  return argument.hasOneUse() && llvm::all_of(kernel.getBody().getArguments(), isAnother);
}

std::optional<TensorMap> tensorMapOf(StoreOp store) {
  constexpr int64_t kRows = 16, kColumns = 64; // of a warp; of a line of 128 bytes
  auto view = cast<ViewType>(store.getView().getType());
  auto tile = cast<TileType>(store.getValue().getType());
  bool isOfRows = view.getLayout() == Layout::Strided && view.getDims().size() == 2 &&
                  !ShapedType::isDynamic(cast<IntegerAttr>(view.getDims()[1]).getInt()) && !store.getMap();
  bool isOfBoxes = isOfRows && view.getElement().isIntOrFloat() && view.getElement().getIntOrFloatBitWidth() == 16 && tile.getExtent(0) > 1 &&
                   tile.getExtent(1) % kColumns == 0;
  if (!isOfBoxes || store.getValue().getDefiningOp<LoadOp>() || !hasWarpgroups(store->getParentOfType<KernelOp>()) || !isOnlyUse(store))
    return std::nullopt;
  return TensorMap{cast<BlockArgument>(store.getView()).getArgNumber(), kColumns, kRows};
}

SmallVector<TensorMap> tensorMapsOf(KernelOp kernel) {
  SmallVector<TensorMap> maps;
  auto add = [&](const TensorMap &map) {
    if (!llvm::is_contained(maps, map))
      maps.push_back(map);
  };
  kernel.walk([&](Operation *op) {
    if (isOfWarpgroups(op) && !isOfPlanes(op))
      for (bool isRight : {false, true})
        add(tensorMapOf(op, isRight));
    if (auto store = dyn_cast<StoreOp>(op))
      if (std::optional<TensorMap> map = tensorMapOf(store))
        add(*map);
  });
  return maps;
}
} // namespace logitile::cuda
