// TileConversion.cpp - the dispatch by op, and checks for every target.
#include "compiler/Conversion/Tiles/TileConversion.h"
#include "compiler/Conversion/ScalarRegions.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

Int TileConversion::throughMap(Value map, Int row) { return map ? builder.extend(loadElement(builder.at(view(map).base, row))) : row; }

Int TileConversion::clampEntry(Value entry, const View &view) {
  int64_t last = view.extent(view.isVector() ? 0 : 1) - 1;
  entry = arith::MaxSIOp::create(builder, entry, builder.number(builder.i32, 0));
  return builder.extend(arith::MinSIOp::create(builder, entry, builder.number(builder.i32, last)));
}

LogicalResult TileConversion::checkElements(Operation *op, TileType type, const View &view) {
  if (builder.valueType(view.type.getElement()) == type.getElement())
    return success();
  return op->emitOpError() << "makes " << type << " of " << view.type << "; code computes with f32, i32 and i1";
}

// ---- checks -------------------------------------------------------------------------------------

/// Lists that are read, or picked: tokens are neighbours, for many of them are looked at together.
static LogicalResult checkLists(Operation *op, TileConversion &conversion, ValueRange lists) {
  for (Value list : lists)
    if (conversion.view(list).layout() != Layout::ColumnMajor)
      return op->emitOpError() << "goes through a list in " << conversion.view(list).type << "; expected layout column_major";
  return success();
}

/// A map names rows of memory: in other memory it would mean nothing, and conversions would leave
/// it out.
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
      .Case<PickEntriesOp>([&](auto pick) { return checkLists(pick, *this, pick.getPicks()); })
      .Case<ScatterTermsOp>([&](auto terms) { return checkLists(terms, *this, terms.getTerms()); })
      .Default([](Operation *) { return success(); });
}

// ---- ops ----------------------------------------------------------------------------------------

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
            SumTokensOp, MapOp, UpdateListsOp, FinishListOp, PickEntriesOp, FinishPlacesOp, ScatterTermsOp>(
          [&](auto tiles) { return convert(tiles); })
      .Case<InitStateOp>([&](auto init) { return convertInitState(init); })
      .Case<UpdateStateOp>([&](auto update) { return update.getState().empty() ? success() : convert(update); })
      .Case<scf::YieldOp, scf::InParallelOp>([](auto) { return success(); })
      .Default([&](Operation *) { return convertIndexOp(op); });
}
