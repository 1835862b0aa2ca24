// TileConversion.cpp - the dispatch by op, and checks that every target makes.
#include "compiler/Conversion/Tiles/TileConversion.h"
#include "compiler/Conversion/ScalarRegions.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

Int TileConversion::throughMap(Value map, Int row) { return map ? builder.extend(loadElement(builder.at(view(map).base, row))) : row; }

Int TileConversion::clampEntry(Value entry, const View &view, LoadGatherOp op) {
  int64_t last = view.extent(op.getRow() ? 1 : 0) - 1;
  entry = arith::MaxSIOp::create(builder, entry, builder.number(builder.i32, 0));
  return builder.extend(arith::MinSIOp::create(builder, entry, builder.number(builder.i32, last)));
}

LogicalResult TileConversion::checkElements(Operation *op, TileType type, const View &view) {
  if (builder.valueType(view.type.getElement()) == type.getElement())
    return success();
  return op->emitOpError() << "makes " << type << " of " << view.type << "; code computes with f32, i32 and i1";
}

// ---- checks ---------------------------------------------------------------------------------------------------------

/// A map names rows of memory: in other memory it would mean nothing, and conversions would leave it out.
LogicalResult TileConversion::checkMap(Operation *op, Value value, Value map) {
  const View &view = this->view(value);
  if (!map || (view.layout() == Layout::Strided && !view.isVector() && !view.isRowState()))
    return success();
  return op->emitOpError() << "goes through a map to " << view.type << "; only strided views of 2 dimensions have one";
}

LogicalResult TileConversion::checkSum(SumRowsOp op) {
  for (Value value : {op.getView(), op.getPlus()})
    if (value && view(value).layout() != Layout::Strided)
      return op.emitOpError() << "sums rows of " << view(value).type << "; expected a strided view";
  return success();
}

static LogicalResult checkGather(LoadGatherOp op) {
  auto type = cast<TileType>(op.getType());
  return type.getExtent(1) == 1 ? LogicalResult(success()) : op.emitOpError() << "gathers " << type << "; there is one entry per token";
}

LogicalResult TileConversion::check(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<LoadOp, StoreOp>([&](auto transfer) { return checkMap(transfer, transfer.getView(), transfer.getMap()); })
      .Case<LoadGatherOp>([](auto gather) { return checkGather(gather); })
      .Case<SumRowsOp>([&](auto sum) { return checkSum(sum); })
      .Default([](Operation *) { return success(); });
}

// ---- ops ------------------------------------------------------------------------------------------------------------

LogicalResult TileConversion::convertInitState(InitStateOp op) {
  Widener widener(builder, regionLanes());
  CodeBuilder::Values values = widener.getYielded(op.getInit());
  for (auto [row, value] : llvm::zip_equal(op.getState(), values)) {
    if (auto type = cast<TileType>(row.getType()); type.getExtent(1) != 1)
      return op.emitOpError() << "starts a row state of " << type << "; expected 1 column";
    startRow(row, value);
  }
  return success();
}

/// Code tells which operation it is made of, under the name of the operation's value.
static Location marked(Operation &op) {
  auto mark = [&](Location loc) -> Location {
    return FusedLoc::get(op.getContext(), {loc}, StringAttr::get(op.getContext(), op.getName().getStringRef()));
  };
  auto named = dyn_cast<NameLoc>(op.getLoc());
  return named ? NameLoc::get(named.getName(), mark(named.getChildLoc())) : mark(op.getLoc());
}

LogicalResult TileConversion::convertOp(Operation &op) {
  builder.setLoc(marked(op));
  if (failed(check(op)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<scf::ForallOp, scf::ForOp, LoadOp, StoreOp, LoadGatherOp, ProjectOp, ContractOp, ContractSparseOp, SparseTermsOp, SumRowsOp,
            SumTokensOp, MapOp, UpdateListsOp, FinishListOp>([&](auto tiles) { return convert(tiles); })
      .Case<InitStateOp>([&](auto init) { return convertInitState(init); })
      .Case<UpdateStateOp>([&](auto update) { return update.getState().empty() ? success() : convert(update); })
      .Case<scf::YieldOp, scf::InParallelOp>([](auto) { return success(); })
      .Default([&](Operation *) { return convertIndexOp(op); });
}
