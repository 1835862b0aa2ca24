// Elementwise.cpp - the tiles that a region reads, and the map op. Row states are RowState.cpp.
#include "compiler/Backends/CPU/TilesToCPU/Elementwise.h"
#include "compiler/Conversion/Philox.h"
#include "compiler/Conversion/Tiles/MapColumns.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// ---- inputs -------------------------------------------------------------------------------------

RegionInputs::RegionInputs(KernelContext &k, ValueRange values) : k(k) {
  for (Value value : values) {
    tiles.push_back(k.tile(value));
    types.push_back(cast<TileType>(value.getType()));
  }
}

LogicalResult RegionInputs::check(Operation *op) const {
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    bool isLine = types[i].getExtent(0) == 1;
    if (!tile.lanesAlongRows && !isLine)
      return op->emitOpError() << "reads tile " << i << ", " << types[i] << ", whose lanes are not tokens";
  }
  return success();
}

/// A tile of one row has the same value in all lanes.
Value RegionInputs::load(size_t i, Int line, Int lane, int64_t lanes) const {
  const Tile &tile = tiles[i];
  if (types[i].getExtent(0) == 1)
    return k.e.spread(k.e.load(k.e.at(tile.base, tile.lanesAlongRows ? line * tile.stride : line)), lanes);
  return k.e.load(k.placeOf(tile, line, lane), lanes);
}
void RegionInputs::mapUniform(Widener &widener, ValueRange arguments, Int lane, int64_t lanes, Wanted wanted) const {
  for (size_t i = 0; i < tiles.size(); ++i)
    if (isUniform(i) && (!wanted || wanted(arguments[i])))
      widener.map(arguments[i], load(i, k.e.integer(0), lane, lanes));
}
void RegionInputs::mapLine(Widener &widener, ValueRange arguments, Int line, Int lane, int64_t lanes, Wanted wanted) const {
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (isUniform(i) || (wanted && !wanted(arguments[i])))
      continue;
    widener.map(arguments[i], load(i, line, lane, lanes));
    if (lanes > 0)
      k.fetchNextGroup(tiles[i], line, lane);
  }
}

bool RegionInputs::areInWindow(StringAttr memory) const {
  return llvm::any_of(tiles, [&](const Tile &tile) { return tile.window && tile.window == memory; });
}

/// The tile that says how far a result goes: one that ends with the tokens, else any that is not
/// repeated.
static const Tile *findLeading(ArrayRef<Tile> tiles, ArrayRef<TileType> types, unsigned dim) {
  const Tile *leading = nullptr;
  for (auto [tile, type] : llvm::zip_equal(tiles, types))
    if (type.getExtent(dim) > 1 && (!leading || leading->isWhole))
      leading = &tile;
  return leading;
}
bool RegionInputs::tellExtent(unsigned dim) const { return findLeading(tiles, types, dim); }
Int RegionInputs::rows() const {
  const Tile *leading = findLeading(tiles, types, 0);
  return leading ? leading->rows : k.e.integer(1);
}
Int RegionInputs::columns() const {
  const Tile *leading = findLeading(tiles, types, 1);
  return leading ? leading->columns : k.e.integer(1);
}
bool RegionInputs::isWhole() const {
  const Tile *leading = findLeading(tiles, types, 0);
  return leading && leading->isWhole;
}

bool RegionInputs::isScalar(Value argument) const {
  auto known = dyn_cast<BlockArgument>(argument);
  if (!known)
    return false;
  int64_t input = known.getArgNumber() + types.size() - known.getOwner()->getNumArguments(); // those of a row state come first
  return input >= 0 && types[input].getExtent(0) == 1 && types[input].getExtent(1) == 1;
}

// ---- random numbers -----------------------------------------------------------------------------

/// Whether an operand of a draw is the same at all columns. What depends on the column is in the
/// loop that counts 'line'.
static bool isBeforeLoop(Value operand, Value line) { return !line.getParentRegion()->isAncestor(operand.getParentRegion()); }

/// Whether the number is one for all tokens and grows by one from line to line: that of the column,
/// to which the first column of a slice of the vocabulary may be added.
static bool countsColumns(Value number, const RegionInputs &inputs) {
  if (auto add = number.getDefiningOp<arith::AddIOp>(); add && inputs.isScalar(add.getRhs()))
    number = add.getLhs();
  return number.getDefiningOp<ColumnOp>() != nullptr;
}

/// The words of a block are computed at its first column of this loop, and kept for the others.
/// Null where columns share no block.
Value LaneGroup::draw(UniformOp op, ValueRange operands, Int line) const {
  bool isOneBlock = llvm::all_of(operands.take_front(3), [&](Value operand) { return isBeforeLoop(operand, line); });
  if (!isOneBlock || !countsColumns(op.getColumn(), inputs))
    return Value();
  Int column = e.extend(vector::ExtractOp::create(e, operands[3], 0));
  Place words = k.allocate(e.i32, kBlockSpan * e.lanes);
  auto wordAt = [&](Int number) { return e.at(words, number % kBlockSpan * e.lanes); };
  Value isFirst = arith::OrIOp::create(e, isLess(line, kWordStep), isLess(column % kBlockSpan, kWordStep));
  e.when(isFirst, [&] {
    std::array<logitile::Lanes, 4> made = wordsOfBlock({e, operands[0]}, {e, operands[1]}, {e, operands[2]}, {e, operands[3]});
    for (auto [i, word] : llvm::enumerate(made))
      e.store(word, wordAt(column % kWordStep + i * kWordStep));
  });
  return between0And1({e, e.load(wordAt(column), e.lanes)});
}

// ---- map ----------------------------------------------------------------------------------------

/// Tokens of a 16-bit window come in pairs: after the last one there must be a zero.
static Value insideOf(KernelContext &k, const Tile &tile, Int lane) {
  bool isPaired = tile.window && Emitter::bytesOf(tile.base.element) == 2;
  return isPaired ? k.e.lanesBelow(lane, tile.rows, k.e.lanes) : Value();
}

LogicalResult cpu::convertMap(KernelContext &k, MapOp op) {
  Emitter &e = k.e;
  RegionInputs inputs(k, op.getInputs());
  if (failed(inputs.check(op)))
    return failure();
  SmallVector<Tile> places;
  for (OpResult result : op->getResults()) {
    auto type = cast<TileType>(result.getType());
    if (type.getExtent(0) == 1)
      return op.emitOpError() << "makes " << type << "; results of a map have one row for each token";
    FailureOr<Int> rows = inputs.tellExtent(0) ? inputs.rows() : k.storedExtent(result, 0), columns = e.integer(1);
    if (type.getExtent(1) > 1)
      columns = inputs.tellExtent(1) ? inputs.columns() : k.storedExtent(result, 1);
    if (failed(rows) || failed(columns))
      return failure();
    places.push_back(k.choosePlace(result, *rows, *columns, inputs.isWhole(), /*mayRound=*/true));
  }
  auto longest = llvm::find_if(op.getResultTypes(), [](Type type) { return cast<TileType>(type).getExtent(1) > 1; });
  Int lines = longest == op.getResultTypes().end() ? e.integer(1) : places[longest - op.getResultTypes().begin()].columns;
  Int column = op.getColumn() ? k.scalar(op.getColumn()) : e.integer(0);

  k.forGroups(places[0], [&](Int lane) {
    LaneGroup rows(k, inputs, lane, lines, column);
    Widener uniform = mapUniform(e, rows, op.getBody());
    SmallVector<Value> inside = llvm::map_to_vector(places, [&](const Tile &place) { return insideOf(k, place, lane); });
    mapColumns(rows, op.getBody(), uniform, [&](const Column &at, ValueRange values) {
      for (auto [value, place, mask] : llvm::zip_equal(values, places, inside))
        e.store(mask ? Value(arith::SelectOp::create(e, mask, value, e.number(value.getType(), 0))) : value,
                k.placeOf(place, at.place, lane));
      for (const Tile &place : places)
        if (!inputs.areInWindow(place.window))
          k.fetchNextGroup(place, at.place, lane);
    });
  });
  for (auto [result, place] : llvm::zip_equal(op->getResults(), places))
    k.setTile(result, place);
  return success();
}
