// RowLoop.cpp - the values that rotate, and the loop that passes them.
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Conversion/ExpandMath.h"
using namespace mlir;

namespace logitile::cuda {
bool isLastUse(Value value, Operation *op) {
  return llvm::all_of(value.getUsers(),
                      [&](Operation *user) { return user == op || (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op)); });
}

/// Constants take no time.
static int64_t countOps(Region &region) {
  int64_t ops = 0;
  region.walk([&](Operation *op) { ops += op->hasTrait<OpTrait::ConstantLike>() ? 0 : 1; });
  return ops;
}

bool isLong(Region &region) {
  constexpr int64_t kManyOps = 300; // more than the losses of the library have
  return countOps(region) > kManyOps;
}

/// About how many instructions the functions of a region become.
static int64_t countFunctionCode(Region &region) {
  int64_t instructions = 0;
  region.walk([&](Operation *op) {
    if (isElementary(op) && !mayBeApproximate(op))
      instructions += isa<UniformOp>(op) ? 80 : 20;
  });
  return instructions;
}

bool hasMuchFunctionCode(Region &region) { return countFunctionCode(region) >= 100; }

/// All rows: the tiles of a loop may have one that stands for each of them.
static TileType wholeTile(KernelContext &k) {
  MLIRContext *context = k.e.getContext();
  return TileType::get(context, {dimension(context, k.threads.sharing.rows), dimension(context, 1)}, k.e.f32);
}
TurnLines::TurnLines(KernelContext &k) : k(k), slots(k.rowSlots(wholeTile(k))) {}
Int TurnLines::rowOf(Int line) const {
  int64_t blockRows = k.threads.sharing.blockRows(), ofWarp = slots * kRowsOfFragment;
  Int firstOfTurn = k.threads.row(0) - k.threads.group - k.threads.warpRow * blockRows;
  return line / ofWarp * blockRows + firstOfTurn + line % ofWarp;
}

PassedTiles::PassedTiles(KernelContext &k, Operation *op, ValueRange operands) : k(k), operands(operands) {
  for (auto [place, value] : llvm::enumerate(operands)) {
    const Tile &tile = k.tile(value);
    bool rotates = !tile.values.empty() && !tile.isOwned && tile.type.getExtent(0) > 1;
    if (rotates && value.getParentBlock() == op->getBlock() && !isLastUse(value, op))
      places.push_back(place);
  }
}
CodeBuilder::Values PassedTiles::valuesOf(const RowLoop &loop) const {
  CodeBuilder::Values values;
  for (size_t place : places)
    llvm::append_range(values, loop.tiles[place].values);
  return values;
}
void PassedTiles::set(ValueRange passed) const {
  for (size_t place : places) {
    Tile tile = k.tile(operands[place]);
    size_t count = tile.values.size();
    tile.values = llvm::to_vector(passed.take_front(count));
    passed = passed.drop_front(count);
    k.setTile(operands[place], tile);
  }
}
SmallVector<Type> PassedTiles::types() const {
  SmallVector<Type> types;
  for (size_t place : places)
    llvm::append_range(types, ValueRange(k.tile(operands[place]).values).getTypes());
  return types;
}

void RowLoop::make(TileType type) {
  types.push_back(type);
  results.emplace_back();
}

/// The values of a few ops wait for each other: two rows keep the units busy. Many ops fill them
/// with the columns of one row, and twice the code would only take longer to make, and to fetch.
void RowLoop::compute(Region &region) {
  constexpr int64_t kManyOps = 32;
  if (countOps(region) > kManyOps)
    rowsOfTurn = 1;
}

/// A ring for every tile with values of its rows, and for every result that finds no dead one.
void RowLoop::formRings() {
  for (auto [i, tile] : llvm::enumerate(tiles))
    if (!tile.values.empty() && tile.type.getExtent(0) > 1)
      rings.push_back({static_cast<int64_t>(i), -1, tile.values});
  for (auto [i, type] : llvm::enumerate(types)) {
    size_t count = k.rowSlots(type) * k.columnSlots(type);
    Ring *ring = llvm::find_if(rings, [&](const Ring &ring) {
      return ring.result < 0 && ring.tile >= 0 && dead[ring.tile] && ring.values.size() == count;
    });
    if (ring == rings.end())
      ring = &rings.emplace_back(Ring{-1, -1, CodeBuilder::Values(count, k.e.number(type.getElement(), 0))});
    ring->result = i;
  }
}

/// One turn: what is at the front of a ring goes to the body, what the body made to the end.
void RowLoop::turn(MutableArrayRef<Ring> rings, int64_t turns, function_ref<void()> body) {
  for (Ring &ring : rings)
    if (ring.tile >= 0)
      tiles[ring.tile].values.assign(ring.values.begin(), ring.values.begin() + ring.values.size() / turns);
  for (CodeBuilder::Values &result : results)
    result.clear();
  body();
  for (Ring &ring : rings) {
    CodeBuilder::Values pushed = ring.result >= 0 ? results[ring.result] : tiles[ring.tile].values;
    ring.values.erase(ring.values.begin(), ring.values.begin() + pushed.size());
    llvm::append_range(ring.values, pushed);
  }
}

void RowLoop::run(function_ref<void()> body) {
  int64_t turns = std::max<int64_t>(k.threads.sharing.rowSlots() / rowsOfTurn, 1);
  formRings();
  CodeBuilder::Values start;
  for (const Ring &ring : rings)
    llvm::append_range(start, ring.values);
  llvm::append_range(start, carried);
  auto adopt = [&](ValueRange values) {
    for (Ring &ring : rings) {
      ring.values = llvm::to_vector(values.take_front(ring.values.size()));
      values = values.drop_front(ring.values.size());
    }
    carried = llvm::to_vector(values);
  };
  if (turns == 1)
    return turn(rings, turns, body);
  if (isUnrolled) {
    for (int64_t number = 0; number < turns; ++number) {
      k.enterTurn(k.e.integer(number * rowsOfTurn), rowsOfTurn);
      turn(rings, turns, body);
    }
    k.leaveTurn();
    return giveBack();
  }
  CodeBuilder::Values last = k.e.loop(k.e.integer(turns), start, [&](Int number, ValueRange current) {
    adopt(current);
    k.enterTurn(number * rowsOfTurn, rowsOfTurn);
    turn(rings, turns, body);
    k.leaveTurn();
    CodeBuilder::Values next;
    for (const Ring &ring : rings)
      llvm::append_range(next, ring.values);
    llvm::append_range(next, carried);
    return next;
  });
  adopt(last);
  giveBack();
}

/// After the last turn, the values of all rows.
void RowLoop::giveBack() {
  for (const Ring &ring : rings)
    (ring.result >= 0 ? results[ring.result] : tiles[ring.tile].values) = ring.values;
}
} // namespace logitile::cuda
