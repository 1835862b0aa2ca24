// Places.h - a finish that goes through the places of lists, for one token or for neighbours. Each
// target assigns tokens to threads.
#pragma once
#include "compiler/Conversion/ScalarRegions.h"
#include "compiler/Conversion/Tiles/TileConversion.h"

namespace logitile::places {
/// Reads a list at 'place' of 'token'. 'views' are the one to three views that finish_places has
/// for the list: 'reads' says how many.
inline mlir::Value read(TileConversion &k, CodeBuilder &builder, llvm::function_ref<mlir::Value(Place)> load, mlir::ValueRange views, Int token,
                        Int place) {
  mlir::Value number = load(k.windowOf(k.view(views[0]), token, place));
  if (views.size() == 1)
    return number;
  const View &table = k.view(views[1]);
  Int entry = k.clampEntry(number, table);
  if (views.size() == 2)
    return load(builder.at(table.base, entry));
  return load(k.windowOf(table, k.throughMap(views[2], token), entry));
}

/// Adds 'term' to a sum in two parts: the rounding error of the addition is added to the second
/// part.
inline CodeBuilder::Values addTerm(CodeBuilder &e, mlir::Value high, mlir::Value low, mlir::Value term) {
  using namespace mlir;
  Value sum = arith::AddFOp::create(e, high, term), ofTerm = arith::SubFOp::create(e, sum, high);
  Value ofHigh = arith::SubFOp::create(e, sum, ofTerm);
  Value lost = arith::AddFOp::create(e, arith::SubFOp::create(e, high, ofHigh), arith::SubFOp::create(e, term, ofTerm));
  return {sum, arith::AddFOp::create(e, low, lost)};
}

/// The sum of both parts. The second part is left out if it is not finite.
inline mlir::Value total(CodeBuilder &e, mlir::Value high, mlir::Value low) {
  using namespace mlir;
  Value difference = arith::SubFOp::create(e, low, low), zero = e.number(low.getType(), 0);
  Value isFinite = arith::CmpFOp::create(e, arith::CmpFPredicate::OEQ, difference, zero);
  return arith::AddFOp::create(e, high, arith::SelectOp::create(e, isFinite, low, zero));
}

/// Computes and stores the results of a token, or of 'lanes' neighbours from it on. 'ofToken' has
/// the values of the inputs that are not lists. 'load' reads one value per lane.
template <typename ContextT>
void finishToken(ContextT &k, FinishPlacesOp op, Int token, const Widener &ofToken, int64_t lanes, llvm::function_ref<mlir::Value(Place)> load) {
  using namespace mlir;
  auto &e = k.e;
  auto valuesAt = [&](Int place) {
    Widener values = ofToken;
    ValueRange views = op.getLists();
    for (auto [number, count] : llvm::enumerate(*op.getReads())) {
      values.map(op.getBody().getArgument(number), read(k, e, load, views.take_front(count), token, place));
      views = views.drop_front(count);
    }
    return values.getYielded(op.getBody());
  };
  Int places = e.integer(*op.getPlaces());
  if (!op.getSummed())
    return e.loop(places, [&](Int place) {
      for (auto [value, result] : llvm::zip_equal(valuesAt(place), op.getResults()))
        e.store(value, k.windowOf(k.view(result), token, place));
    });
  CodeBuilder::Values start(2 * op.getResults().size(), e.number(CodeBuilder::widen(e.f32, lanes), 0));
  CodeBuilder::Values sums = e.loop(places, start, [&](Int place, ValueRange current) {
    CodeBuilder::Values next;
    for (auto [number, term] : llvm::enumerate(valuesAt(place)))
      llvm::append_range(next, addTerm(e, current[2 * number], current[2 * number + 1], term));
    return next;
  });
  for (auto [number, result] : llvm::enumerate(op.getResults()))
    e.store(total(e, sums[2 * number], sums[2 * number + 1]), e.at(k.view(result).base, token));
}
} // namespace logitile::places
