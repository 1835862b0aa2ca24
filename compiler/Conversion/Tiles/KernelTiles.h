// KernelTiles.h - the part of a kernel's context that is the same on every target: its tiles, and a
// function for each op.
#pragma once
#include "compiler/Conversion/Tiles/TileConversion.h"

namespace logitile {
/// 'Context' is the target's own class, which derives from this one. Beside it are functions such
/// as `convertLoad(Context &, LoadOp)`. 'Emitter' is the target's builder. 'Tile' is what the
/// target knows of a tile.
template <typename Context, typename Emitter, typename Tile>
class KernelTiles : public TileConversion {
public:
  KernelTiles(KernelOp kernel, Emitter &emitter) : TileConversion(kernel, emitter), e(emitter) {}

  Emitter &e;

  const Tile &tile(mlir::Value value) const { return tiles.at(value); }
  void setTile(mlir::Value value, const Tile &tile) { tiles.insert_or_assign(value, tile); }

protected:
  using TileConversion::convert;
  mlir::LogicalResult convert(LoadOp op) final { return convertLoad(self(), op); }
  mlir::LogicalResult convert(StoreOp op) final { return convertStore(self(), op); }
  mlir::LogicalResult convert(LoadGatherOp op) final { return convertGather(self(), op); }
  mlir::LogicalResult convert(ProjectOp op) final { return convertProject(self(), op); }
  mlir::LogicalResult convert(ContractOp op) final { return convertContract(self(), op); }
  mlir::LogicalResult convert(ContractSparseOp op) final { return convertContractSparse(self(), op); }
  mlir::LogicalResult convert(SparseTermsOp op) final { return convertSparseTerms(self(), op); }
  mlir::LogicalResult convert(SumRowsOp op) final { return convertSumRows(self(), op); }
  mlir::LogicalResult convert(SumTokensOp op) final { return convertSumTokens(self(), op); }
  mlir::LogicalResult convert(UpdateStateOp op) final { return convertUpdateState(self(), op); }
  mlir::LogicalResult convert(MapOp op) final { return convertMap(self(), op); }
  mlir::LogicalResult convert(UpdateListsOp op) final { return convertUpdateLists(self(), op); }
  mlir::LogicalResult convert(FinishListOp op) final { return convertFinishList(self(), op); }
  mlir::LogicalResult convert(PickEntriesOp op) final { return convertPickEntries(self(), op); }
  mlir::LogicalResult convert(FinishPlacesOp op) final { return convertFinishPlaces(self(), op); }
  mlir::LogicalResult convert(ScatterTermsOp op) final { return convertScatterTerms(self(), op); }
  mlir::Value loadElement(Place place) final { return e.load(place); }

  llvm::DenseMap<mlir::Value, Tile> tiles;

private:
  Context &self() { return static_cast<Context &>(*this); }
};
} // namespace logitile
