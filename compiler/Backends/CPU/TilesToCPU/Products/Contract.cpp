// Contract.cpp - gradients of hidden states and of the head: the gradient of logits times the other
// operand. The tile is stored row by row with the hidden axis in the lanes. RankUpdates.cpp
// processes few rows of the head at a time, for few tokens.
#include "compiler/Backends/CPU/TilesToCPU/Products/Contraction.h"
#include "compiler/Backends/CPU/TilesToCPU/Products/RankUpdates.h"
#include "compiler/Conversion/IndexFacts.h"
#include "compiler/Schedule/FewTokens.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

namespace {
/// One contract op while it is emitted.
class Contract {
public:
  Contract(KernelContext &k, ContractOp op, const Tile &tile, ArrayRef<int64_t> sizes, int64_t depth)
      : k(k), e(k.e), op(op), lhs(k.view(op.getLhs())), rhs(k.view(op.getRhs())), row(k.scalar(op.getRow())),
        column(k.scalar(op.getColumn())), depth(depth), c(k, *op.getAlgorithm(), isPaired(k, op), tile, sizes),
        isWidened(isOfPairs(lhs) && !c.pairs) {}

  /// Operands multiply as pairs of bf16 where both are and the CPU can.
  static bool isPaired(KernelContext &k, ContractOp op) {
    return k.e.tier.hasBf16Dot && operandOf(k.view(op.getLhs())).isBF16() && operandOf(k.view(op.getRhs())).isBF16();
  }

  void emit() {
    if (op.getAlgorithm() == Algorithm::RankUpdates)
      return emitUpdates();
    allocate();
    Int first = k.scalar(op.getFirst()), end = k.scalar(op.getEnd());
    Value accumulate = startsFromPlus();
    start(accumulate, isLess(first, end));
    auto addBlock = [&](Int from) {
      Int count = smaller(end - from, depth);
      LeftBlock left = op.getTransposed() ? readRows(from, count) : readColumns(from, count);
      if (!op.getTransposed())
        packRight(from, count);
      auto panelOf = [&](Int panel) {
        if (op.getTransposed())
          return e.at(rhs.base, (column / e.width + panel) * rhs.stride1 + from * e.width);
        return e.at(right, panel * panelStride());
      };
      Value isLater = isLess(first, from);
      SmallVector<NextRows, 2> next;
      if (!op.getTransposed())
        next = nextColumns(from + count, smaller(end - (from + count), depth));
      c.multiply(left, panelOf, count, op.getWhen() ? Value(arith::OrIOp::create(e, isLater, accumulate)) : isLater, next);
    };
    e.loop(first, end, e.integer(depth), [&](Int from) { k.unlessInterrupted([&] { addBlock(from); }); });
  }

private:
  Value startsFromPlus() { return op.getWhen() ? k.condition(op.getWhen()) : e.truth(false); }
  void emitUpdates() {
    start(startsFromPlus(), e.truth(false));
    RankUpdates updates(k, c.tile, cast<TileType>(op.getType()), lhs, rhs, row, column, depth, c.pairs);
    updates.emit(k.scalar(op.getFirst()), k.scalar(op.getEnd()));
  }
  void allocate() {
    auto type = cast<TileType>(op.getType());
    int64_t steps = llvm::divideCeil(depth, c.together());
    if (op.getTransposed()) {
      if (isWidened)
        copied = c.allocateLeft(type.getExtent(0), steps, /*kMajor=*/false);
      return;
    }
    copied = c.allocateLeft(type.getExtent(0), steps, /*kMajor=*/c.algorithm == Algorithm::Panels);
    int64_t panels = llvm::divideCeil(std::min(type.getExtent(1), rhs.extent(1)), e.width);
    right = k.allocate(c.pairs ? e.getBF16Type() : e.f32, panels * panelStride());
  }
  /// A row of 'rhs' is stored to all panels in turn. Panels that lie a multiple of 4 KB apart would
  /// fall into the same cache sets.
  int64_t panelStride() const { return (llvm::alignTo(depth, c.together()) + c.together()) * e.width; }

  /// What is there already, where the op says so; zeros where nothing is added.
  void start(Value accumulate, Value hasSteps) {
    if (op.getPlus())
      e.when(accumulate, [&] { loadStart(); });
    func::FuncOp clear = k.helpers.clear(e.f32);
    auto clearTile = [&] {
      e.when(
          accumulate, [] {},
          [&] {
            e.loop(c.tile.lines(),
                   [&](Int line) { k.call(clear, {k.placeOf(c.tile, line, e.integer(0)).pointer, e.integer(1), c.tile.lanes()}); });
          });
    };
    e.when(hasSteps, [] {}, clearTile);
  }
  void loadStart() {
    const View &plus = k.view(op.getPlus());
    func::FuncOp copy = k.helpers.copy(plus.base.element, e.f32);
    e.loop(c.tile.lines(), [&](Int line) {
      Int number = row + line;
      if (op.getMap())
        number = e.extend(e.load(e.at(k.view(op.getMap()).base, number)));
      Place from = k.windowOf(plus, number, column);
      k.call(copy, {from.pointer, plus.stride1, k.placeOf(c.tile, line, e.integer(0)).pointer, e.integer(1), c.tile.lanes()});
    });
  }

  /// lhs^T: a row is one vocabulary entry, whose tokens are neighbours already.
  LeftBlock readRows(Int from, Int count) {
    if (!isWidened) {
      Place base{k.windowOf(lhs, from, row).pointer, c.unit()};
      return {base, lhs.stride1 / c.together(), /*kMajor=*/false};
    }
    copyLines(row, c.tile.lines(), from, count);
    return *copied;
  }
  /// lhs: a step is one vocabulary entry, or two of them side by side. In place, the tokens of a
  /// microkernel are so far from those of its next step that no prefetcher of a CPU sees them
  /// coming. Tile registers take them row by row.
  LeftBlock readColumns(Int from, Int count) {
    if (c.algorithm == Algorithm::AmxTiles) {
      func::FuncOp pack = k.helpers.packTransposed(lhs.base.element);
      e.loop(e.integer(0), c.tile.lines(), e.integer(kTileRows), [&](Int line) {
        Place source = k.windowOf(lhs, row + line, from), to = e.at(copied->base, line * copied->stride);
        k.call(pack, {source.pointer, lhs.stride1, to.pointer, copied->stride, count});
      });
      return *copied;
    }
    c.packLeft(*copied, k.windowOf(lhs, row, from), lhs.stride1, count);
    return *copied;
  }
  /// Both operands of the block that starts at vocabulary entry `from`.
  SmallVector<NextRows, 2> nextColumns(Int from, Int count) {
    return {{k.windowOf(lhs, row, from), lhs.stride1, count, c.tile.rows * Emitter::bytesOf(lhs.base.element)},
            {k.windowOf(rhs, from, column), rhs.stride0, count, c.tile.columns * Emitter::bytesOf(rhs.base.element)}};
  }
  /// Vocabulary entries `first`... of lhs, tokens `token`..., as f32.
  void copyLines(Int first, Int lines, Int token, Int tokens) {
    func::FuncOp copy = k.helpers.copy(lhs.base.element, e.f32);
    e.loop(lines, [&](Int line) {
      Place from = k.windowOf(lhs, token, first + line), to = e.at(copied->base, line * copied->stride);
      k.call(copy, {from.pointer, e.integer(1), to.pointer, e.integer(1), tokens});
    });
  }
  void packRight(Int from, Int count) {
    Int stride = e.integer(panelStride()), columns = c.tile.columns;
    if (!c.pairs) {
      func::FuncOp pack = k.helpers.packRow(rhs.base.element, e.f32);
      e.loop(count, [&](Int step) {
        Place source = k.windowOf(rhs, from + step, column), to = e.at(right, step * e.width);
        k.call(pack, {source.pointer, rhs.stride1, to.pointer, stride, columns});
      });
      return;
    }
    func::FuncOp pack = k.helpers.packRowPair(rhs.base.element, e.getBF16Type());
    forPairs(count, [&](Int step, Int next, Value hasNext) {
      Place first = k.windowOf(rhs, from + step, column), second = k.windowOf(rhs, from + next, column);
      k.call(pack, {first.pointer, second.pointer, hasNext, rhs.stride1, e.at(right, step * e.width).pointer, stride, columns});
    });
  }
  /// Two steps at a time; `next` stays inside where there is no second.
  void forPairs(Int count, function_ref<void(Int step, Int next, Value hasNext)> body) {
    e.loop(e.integer(0), count, e.integer(2), [&](Int step) { body(step, smaller(step + 1, count - 1), isLess(step + 1, count)); });
  }

  KernelContext &k;
  Emitter &e;
  ContractOp op;
  const View &lhs, &rhs;
  Int row, column;
  int64_t depth;
  Contraction c;
  bool isWidened; // lhs is 16 bits wide but multiplied as f32
  std::optional<LeftBlock> copied;
  Place right; // panels of rhs, packed block by block
};

LogicalResult checkOperands(KernelContext &k, ContractOp op, int64_t depth) {
  const View &lhs = k.view(op.getLhs()), &rhs = k.view(op.getRhs());
  bool isUpdated = op.getAlgorithm() == Algorithm::RankUpdates, isPaired = Contract::isPaired(k, op);
  bool isOfTiles = op.getAlgorithm() == Algorithm::AmxTiles;
  if (isOfTiles && failed(Contraction::checkAmxTiles(op, k, isPaired ? operandOf(rhs) : Type(k.e.f32))))
    return failure();
  if (!isUpdated && !isOfTiles && op.getAlgorithm() != Algorithm::Panels)
    return op.emitOpError() << "is 'using' " << stringifyAlgorithm(*op.getAlgorithm())
                            << ", which this target does not have here; use panels or rank_updates";
  if (isUpdated && (op.getTransposed() || depth > kUpdateRows))
    return op.emitOpError() << "is 'using' rank_updates" << (op.getTransposed() ? " of a transposed operand" : "") << " 'by' " << depth
                            << "; they take at most " << kUpdateRows << " rows of 'rhs' at a time, and no transposed operand";
  if (lhs.layout() != Layout::ColumnMajor)
    return op.emitOpError() << "'lhs' is " << lhs.type << "; expected column_major";
  Layout wanted = op.getTransposed() ? Layout::ColumnPanels : Layout::Strided;
  if (rhs.layout() != wanted)
    return op.emitOpError() << "'rhs' is " << rhs.type << "; expected layout " << stringifyLayout(wanted);
  if (op.getTransposed() && isOfPairs(rhs) && !isPaired)
    return op.emitOpError() << "'rhs' is packed as " << rhs.type.getElement() << " but 'lhs' is " << lhs.type.getElement() << ", which "
                            << StringRef(k.e.tier.name) << " cannot multiply; pack 'rhs' as f32";
  if (isPaired && depth % 2 != 0)
    return op.emitOpError() << "goes 'by' " << depth << " along pairs of the shared axis; use an even number";
  if (int64_t divisor = knownDivisor(op.getColumn()); divisor % k.e.width != 0)
    return op.emitOpError() << "has tiles of columns that start at multiples of " << divisor << "; this target needs multiples of "
                            << k.e.width;
  return success();
}
} // namespace

LogicalResult cpu::convertContract(KernelContext &k, ContractOp op) {
  const View &lhs = k.view(op.getLhs()), &rhs = k.view(op.getRhs());
  auto type = cast<TileType>(op.getType());
  int64_t depth = cast<IntegerAttr>(op.getDepth()).getInt();
  if (failed(checkOperands(k, op, depth)))
    return failure();
  SmallVector<int64_t, 2> sizes;
  if (op.getTransposed()) {
    FailureOr<SmallVector<int64_t, 2>> known = tileSizes(op, "vocabulary", op.getRow(), type.getExtent(0), lhs.extent(1));
    if (failed(known))
      return failure();
    sizes = *known;
  } else {
    depth = std::min<int64_t>(depth, llvm::alignTo(lhs.extent(1), 2));
  }
  FailureOr<Int> rows = k.countInside(op, lhs, op.getTransposed() ? 1 : 0, op.getRow(), type.getExtent(0));
  FailureOr<Int> columns = k.countInside(op, rhs, 1, op.getColumn(), type.getExtent(1));
  if (failed(rows) || failed(columns) || failed(tileSizes(op, "hidden", op.getColumn(), type.getExtent(1), rhs.extent(1))))
    return failure();
  Tile tile = k.allocateTile(type, /*lanesAlongRows=*/false, *rows, *columns, /*isWhole=*/false);
  Contract(k, op, tile, sizes, depth).emit();
  k.setTile(op.getResult(), tile);
  return success();
}
