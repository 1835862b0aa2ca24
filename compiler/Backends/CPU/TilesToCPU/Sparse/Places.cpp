// Places.cpp - lists that are read: the logits at their indices, finishes of each place, and terms
// of a gradient at each place.
#include "compiler/Conversion/Tiles/Places.h"
#include "compiler/Backends/CPU/TilesToCPU/Elementwise.h"
#include "compiler/Backends/CPU/TilesToCPU/Sparse/Hits.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

/// NaN where 'term', of the tokens of a tile, has an index outside the vocabulary.
static void markOutside(Emitter &e, const SparseTerm &term, Int tokens, int64_t vocab) {
  Value size = e.number(e.i32, vocab), none = e.number(e.f32, std::numeric_limits<double>::quiet_NaN());
  e.loop(tokens, [&](Int token) {
    Value isOutside = arith::CmpIOp::create(e, arith::CmpIPredicate::uge, e.load(e.at(term.columns, token)), size);
    e.when(isOutside, [&] { e.store(none, e.at(term.coefficients, token)); });
  });
}

LogicalResult cpu::convertPickEntries(KernelContext &k, PickEntriesOp op) {
  Emitter &e = k.e;
  Int row = k.scalar(op.getRow()), column = k.scalar(op.getColumn());
  int64_t vocab = cast<IntegerAttr>(op.getVocab()).getInt();
  for (auto [number, logits] : llvm::enumerate(op.getLogits())) {
    const Tile &tile = k.tile(logits);
    if (!tile.lanesAlongRows)
      return op.emitOpError() << "picks from a tile that is laid out for another op; CPU kernels do not support that";
    const View &indices = k.view(op.getPicks()[2 * number]), &picked = k.view(op.getPicks()[2 * number + 1]);
    e.loop(e.integer(indices.extent(1)), [&](Int place) {
      SparseTerm term{k.windowOf(indices, row, place), k.windowOf(picked, row, place)};
      e.when(isEqual(column, 0), [&] { markOutside(e, term, tile.rows, vocab); });
      forHits(k, term, tile.rows, column, tile.columns, [&](Int token, Int distance) {
        e.store(e.load(k.placeOf(tile, distance, token)), e.at(term.coefficients, token));
      });
    });
  }
  return success();
}

/// Whether the values of neighbouring tokens lie beside each other in all that a finish reads and
/// writes.
static bool areNeighbours(KernelContext &k, FinishPlacesOp op) {
  auto isColumnMajor = [&](Value view) { return k.view(view).layout() == Layout::ColumnMajor; };
  bool gathers = llvm::any_of(*op.getReads(), [](int64_t views) { return views > 1; });
  return !gathers && llvm::all_of(op.getLists(), isColumnMajor) && (op.getSummed() || llvm::all_of(op.getResults(), isColumnMajor));
}

LogicalResult cpu::convertFinishPlaces(KernelContext &k, FinishPlacesOp op) {
  Emitter &e = k.e;
  RegionInputs inputs(k, op.getInputs());
  Int row = k.scalar(op.getRow());
  FailureOr<Int> tokens = k.countInside(op, k.view(op.getResults().front()), 0, op.getRow(), cast<IntegerAttr>(op.getTokens()).getInt());
  if (failed(tokens) || failed(inputs.check(op)))
    return failure();
  ValueRange arguments = ValueRange(op.getBody().getArguments()).drop_front(op.getReads()->size());
  int64_t lanes = areNeighbours(k, op) ? e.lanes : 0;
  e.loop(e.integer(0), *tokens, e.integer(std::max<int64_t>(lanes, 1)), [&](Int token) {
    Widener ofToken(e, lanes);
    inputs.mapUniform(ofToken, arguments, token, lanes);
    ofToken.emitReady(op.getBody());
    places::finishToken(k, op, row + token, ofToken, lanes, [&](Place place) { return e.load(place, lanes); });
  });
  return success();
}

LogicalResult cpu::convertScatterTerms(KernelContext &k, ScatterTermsOp op) {
  Emitter &e = k.e;
  const View &gradient = k.view(op.getGradients().front());
  Int row = k.scalar(op.getRow()), column = k.scalar(op.getColumn());
  FailureOr<Int> tokens = k.countInside(op, gradient, 0, op.getRow(), cast<IntegerAttr>(op.getTokens()).getInt());
  FailureOr<Int> columns = k.countInside(op, gradient, 1, op.getColumn(), cast<IntegerAttr>(op.getColumns()).getInt());
  if (failed(tokens) || failed(columns))
    return failure();
  Place first = k.windowOf(gradient, row, column);
  for (size_t i = 0; i < op.getTerms().size(); i += 2) {
    const View &indices = k.view(op.getTerms()[i]), &coefficients = k.view(op.getTerms()[i + 1]);
    e.loop(e.integer(indices.extent(1)), [&](Int place) {
      SparseTerm term{k.windowOf(indices, row, place), k.windowOf(coefficients, row, place)};
      forHits(k, term, *tokens, column, *columns, [&](Int token, Int distance) {
        Place entry = e.at(first, token * gradient.stride0 + distance * gradient.stride1);
        e.store(arith::AddFOp::create(e, e.load(entry), e.load(e.at(term.coefficients, token))), entry);
      });
    });
  }
  return success();
}
