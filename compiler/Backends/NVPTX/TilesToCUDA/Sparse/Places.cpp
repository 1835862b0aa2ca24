// Places.cpp - lists that are read: the logits at their indices, finishes of each place, and terms
// of a gradient at each place.
#include "compiler/Conversion/Tiles/Places.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Elementwise.h"
using namespace mlir;

namespace logitile::cuda {
// ---- pick_entries -------------------------------------------------------------------------------

namespace {
/// In each turn the threads leave their logits in shared memory. Then they share out the places of
/// the rows of that turn. Logits that an earlier launch has stored are read where they lie.
class PickEntries {
public:
  PickEntries(KernelContext &k, PickEntriesOp op) : k(k), e(k.e), op(op), row(k.scalar(op.getRow())), column(k.scalar(op.getColumn())) {}

  LogicalResult emit() {
    const Sharing &sharing = k.threads.sharing;
    if (!sharing.isFragments)
      return op.emitOpError() << "picks from tiles in a kernel without tiles of two dimensions; CUDA kernels do not support that";
    if (llvm::any_of(op.getLogits(), [&](Value value) { return !isStored(k.tile(value)); }))
      logits = e.shared(k.scratch(TurnLines::most(sharing) * sharing.columns * 4), e.f32);
    for (unsigned number = 0; number < op.getLogits().size(); ++number)
      if (failed(emitPick(number)))
        return failure();
    return success();
  }

private:
  LogicalResult emitPick(unsigned number) {
    Value value = op.getLogits()[number];
    const Tile &tile = k.tile(value);
    if (!isStored(tile) && (tile.values.empty() || tile.isOwned))
      return op.emitOpError() << "picks from " << tile.type << ", which is not computed for it; CUDA kernels do not support that";
    const View &indices = k.view(op.getPicks()[2 * number]), &picked = k.view(op.getPicks()[2 * number + 1]);
    FailureOr<Int> tokens = k.end(op, picked, 0);
    if (failed(tokens))
      return failure();
    if (isStored(tile)) {
      auto rowOf = [](Int line) { return line; };
      takePlaces(indices, picked, *tokens, tile.type.getExtent(0), rowOf, tile.read);
      return success();
    }
    PassedTiles passed(k, op, value);
    RowLoop loop(k);
    loop.take(tile, isLastUse(value, op));
    loop.run([&] {
      TurnLines lines(k);
      e.barrier(); // what was there is read
      for (int64_t slot = 0; slot < lines.countSlots(); ++slot)
        leaveLogits(loop.tiles[0], slot, lines);
      e.barrier();
      auto read = [&](Int line, Int distance) { return e.load(e.at(logits, distance * lines.count() + line)); };
      takePlaces(indices, picked, *tokens, lines.count(), [&](Int line) { return lines.rowOf(line); }, read);
    });
    passed.set(passed.valuesOf(loop));
    return success();
  }

  /// The logits of a column lie beside each other.
  void leaveLogits(const Tile &tile, int64_t slot, const TurnLines &lines) {
    for (auto [columnSlot, value] : llvm::enumerate(k.elementsOf(tile, slot)))
      e.store(value, e.at(logits, k.threads.column(columnSlot) * lines.count() + lines.ofSlot(slot)));
  }

  /// Whether the logits lie in memory, where each thread can read any of them.
  static bool isStored(const Tile &tile) { return tile.values.empty() && tile.read && !tile.isOwned; }

  /// Neighbours have rows, whose places lie beside each other. 'read' gives the logit of a line at
  /// a column of the tile.
  void takePlaces(const View &indices, const View &picked, Int tokens, int64_t lines, function_ref<Int(Int)> rowOf,
                  function_ref<Value(Int, Int)> read) {
    int64_t columns = k.threads.sharing.columns, places = indices.extent(1), vocab = cast<IntegerAttr>(op.getVocab()).getInt();
    Value isFirst = isEqual(column, 0), none = e.number(e.f32, std::numeric_limits<double>::quiet_NaN());
    e.loop(e.thread(), e.integer(lines * places), e.integer(k.threads.sharing.threads), [&](Int i) {
      Int line = i % lines, place = i / lines, token = row + rowOf(line);
      e.when(isLess(token, tokens), [&] {
        Int index = e.extend(e.load(k.windowOf(indices, token, place))), distance = index - column;
        Place to = k.windowOf(picked, token, place);
        Value isOfTile = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, distance, e.integer(columns));
        Value isOfVocab = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, index, e.integer(vocab)); // the last tile may go on
        Value isOutside = arith::CmpIOp::create(e, arith::CmpIPredicate::uge, index, e.integer(vocab));
        e.when(e.both(isOfTile, isOfVocab), [&] { e.store(read(line, distance), to); });
        e.when(e.both(isFirst, isOutside), [&] { e.store(none, to); });
      });
    });
  }

  KernelContext &k;
  Emitter &e;
  PickEntriesOp op;
  Int row, column;
  Place logits;
};
} // namespace

LogicalResult convertPickEntries(KernelContext &k, PickEntriesOp op) { return PickEntries(k, op).emit(); }

// ---- finish_places ------------------------------------------------------------------------------

/// Each thread has a row.
LogicalResult convertFinishPlaces(KernelContext &k, FinishPlacesOp op) {
  Emitter &e = k.e;
  if (k.threads.sharing.isFragments)
    return op.emitOpError() << "goes through places in a kernel with tiles of two dimensions; CUDA kernels do not support that";
  RegionInputs inputs(k, op.getInputs());
  FailureOr<Int> tokens = k.end(op, k.view(op.getResults().front()), 0);
  if (failed(tokens) || failed(inputs.check(op)))
    return failure();
  Int token = k.scalar(op.getRow()) + k.threads.row(0);
  e.when(isLess(token, *tokens), [&] {
    Widener ofToken(e, 0);
    inputs.mapLine(ofToken, ValueRange(op.getBody().getArguments()).drop_front(op.getReads()->size()), e.thread());
    ofToken.emitReady(op.getBody());
    places::finishToken(k, op, token, ofToken, /*lanes=*/0, [&](Place place) { return e.load(place); });
  });
  return success();
}

// ---- scatter_terms ------------------------------------------------------------------------------

/// Each row has a thread, which adds its terms one after the other: two of them may name one
/// column.
LogicalResult convertScatterTerms(KernelContext &k, ScatterTermsOp op) {
  Emitter &e = k.e;
  const View &gradient = k.view(op.getGradients().front());
  Int row = k.scalar(op.getRow()), column = k.scalar(op.getColumn());
  int64_t rows = cast<IntegerAttr>(op.getTokens()).getInt(), columns = cast<IntegerAttr>(op.getColumns()).getInt();
  FailureOr<Int> tokens = k.end(op, gradient, 0), end = k.end(op, gradient, 1);
  if (failed(tokens) || failed(end))
    return failure();
  e.barrier(); // the tile is in memory
  e.loop(e.thread(), e.integer(rows), e.integer(k.threads.sharing.threads), [&](Int line) {
    Int token = row + line, width = smaller(*end - column, columns);
    e.when(isLess(token, *tokens), [&] {
      Place first = k.windowOf(gradient, token, column);
      for (size_t i = 0; i < op.getTerms().size(); i += 2) {
        const View &indices = k.view(op.getTerms()[i]), &coefficients = k.view(op.getTerms()[i + 1]);
        e.loop(e.integer(indices.extent(1)), [&](Int place) {
          Int distance = e.extend(e.load(k.windowOf(indices, token, place))) - column;
          e.when(arith::CmpIOp::create(e, arith::CmpIPredicate::ult, distance, width), [&] {
            Place entry = e.at(first, distance * gradient.stride1);
            e.store(arith::AddFOp::create(e, e.load(entry), e.load(k.windowOf(coefficients, token, place))), entry);
          });
        });
      }
    });
  });
  return success();
}
} // namespace logitile::cuda
