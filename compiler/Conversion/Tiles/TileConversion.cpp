// TileConversion.cpp - the dispatch by op, and checks that every target makes.
#include "compiler/Conversion/Tiles/TileConversion.h"
#include "compiler/Conversion/ScalarRegions.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

Int TileConversion::throughMap(Value map, Int row) { return map ? builder.extend(loadElement(builder.at(view(map).base, row))) : row; }

Int TileConversion::clampEntry(Value entry, const View &view, GatherOp op) {
  int64_t last = view.extent(op.getRow() ? 1 : 0) - 1;
  entry = arith::MaxSIOp::create(builder, entry, builder.number(builder.i32, 0));
  return builder.extend(arith::MinSIOp::create(builder, entry, builder.number(builder.i32, last)));
}

LogicalResult TileConversion::checkElements(Operation *op, TileType type, const View &view) {
  if (builder.valueType(view.type.getElement()) == type.getElement())
    return success();
  return op->emitOpError() << "makes " << type << " of " << view.type << "; code computes with f32, i32 and i1";
}

static LogicalResult check(GatherOp op) {
  if (auto type = cast<TileType>(op.getType()); type.getExtent(1) != 1)
    return op.emitOpError() << "gathers " << type << "; there is one entry per token";
  return success();
}
static LogicalResult check(UpdateRowsOp op) {
  for (auto [input, argument] : llvm::zip_equal(op.getInputs(), op.getMerge().getArguments().drop_front(2 * op.getRows().size())))
    if (cast<TileType>(input.getType()).getExtent(1) > 1 && !argument.use_empty())
      return op.emitOpError() << "'merge' reads an input that has a vocabulary axis";
  return success();
}

LogicalResult TileConversion::convertInitRows(InitRowsOp op) {
  Widener widener(builder, regionLanes());
  CodeBuilder::Values values = widener.getYielded(op.getInit());
  for (auto [row, value] : llvm::zip_equal(op.getRows(), values)) {
    if (auto type = cast<TileType>(row.getType()); type.getExtent(1) != 1)
      return op.emitOpError() << "starts a row state of " << type << "; expected 1 column";
    startRow(row, value);
  }
  return success();
}

LogicalResult TileConversion::convertOp(Operation &op) {
  builder.setLoc(op.getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<scf::ForallOp, scf::ForOp, LoadOp, StoreOp, ProjectOp, ContractOp, ContractTermsOp, TermsOp, SumRowsOp, SumTokensOp, MapOp>(
          [&](auto tiles) { return convert(tiles); })
      .Case<GatherOp>([&](auto gather) { return failed(check(gather)) ? failure() : convert(gather); })
      .Case<InitRowsOp>([&](auto init) { return convertInitRows(init); })
      .Case<UpdateRowsOp>([&](auto update) {
        if (update.getRows().empty())
          return success();
        return failed(check(update)) ? failure() : convert(update);
      })
      .Case<scf::YieldOp, scf::InParallelOp>([](auto) { return success(); })
      .Default([&](Operation *) { return convertIndexOp(op); });
}
