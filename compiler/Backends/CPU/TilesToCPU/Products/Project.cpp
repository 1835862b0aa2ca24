// Project.cpp - logits of a tile: rows of the head times packed hidden states, tokens in the lanes.
// Those of few tokens, whose hidden states lie in rows, are DotProducts.cpp.
#include "compiler/Backends/CPU/TilesToCPU/Products/Contraction.h"
#include "compiler/Backends/CPU/TilesToCPU/Products/DotProducts.h"
#include "compiler/Conversion/IndexFacts.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

/// Rows of the head for one block of the hidden axis, converted.
static void copyWeights(const Contraction &c, const View &weight, Int column, Int first, Int depth, const LeftBlock &left) {
  KernelContext &k = c.k;
  Emitter &e = k.e;
  Type to = c.pairs ? e.getBF16Type() : e.f32;
  func::FuncOp copy = k.helpers.copy(weight.base.element, to);
  e.loop(c.tile.lines(), [&](Int line) {
    Place from = k.windowOf(weight, column + line, first);
    Place sink{e.at(left.base, line * left.stride).pointer, to};
    k.call(copy, {from.pointer, weight.stride1, sink.pointer, e.integer(1), depth});
    if (c.pairs && weight.extent(1) % 2 != 0) // the partner of an odd last step
      e.store(e.number(e.f32, 0), e.at(sink, depth));
  });
}

/// What copyWeights reads after this block: the next one of the same rows, or the first one of the
/// next tile.
static NextRows nextWeights(KernelContext &k, const View &weight, Int column, int64_t rows, Int first, int64_t depth) {
  Emitter &e = k.e;
  int64_t size = weight.extent(1);
  Value isLast = isLess(e.integer(size - 1), first + depth);
  Int nextColumn = e.integer(arith::SelectOp::create(e, isLast, Value(column + rows), Value(column)));
  Int nextFirst = e.integer(arith::SelectOp::create(e, isLast, Value(e.integer(0)), Value(first + depth)));
  Int end = smaller(nextColumn + rows, weight.extent(0));
  return {k.windowOf(weight, nextColumn, nextFirst), weight.stride0, end - smaller(nextColumn, weight.extent(0)),
          smaller(e.integer(size) - nextFirst, depth) * Emitter::bytesOf(weight.base.element)};
}

static LogicalResult checkOperands(ProjectOp op, KernelContext &k, const View &hidden, const View &weight, int64_t depth) {
  StringRef algorithm = stringifyAlgorithm(*op.getAlgorithm());
  bool isPacked = op.getAlgorithm() == Algorithm::Panels || op.getAlgorithm() == Algorithm::AmxTiles;
  if (!isPacked && op.getAlgorithm() != Algorithm::DotProducts)
    return op.emitOpError() << "is 'using' " << algorithm << ", which this target does not have here; use panels or dot_products";
  if (op.getAlgorithm() == Algorithm::AmxTiles && failed(Contraction::checkAmxTiles(op, k, hidden.type.getElement())))
    return failure();
  if (hidden.layout() != (isPacked ? Layout::RowPanels : Layout::Strided))
    return op.emitOpError() << "'hidden' is " << hidden.type << ", but " << algorithm
                            << (isPacked ? " read it as row_panels" : " read it in rows: a strided view");
  if (weight.layout() != Layout::Strided)
    return op.emitOpError() << "'weight' is " << weight.type << "; expected a strided view";
  Type element = hidden.type.getElement();
  if (!element.isF32() && !(element.isBF16() && k.e.tier.hasBf16Dot))
    return op.emitOpError() << "'hidden' is packed as " << element << ", which " << StringRef(k.e.tier.name)
                            << " cannot multiply; pack it as f32";
  if (element.isBF16() && !operandOf(weight).isBF16())
    return op.emitOpError() << "'hidden' is packed as bf16 but 'weight' is " << operandOf(weight) << "; pack 'hidden' as f32";
  if (isOfPairs(hidden) && depth % 2 != 0 && depth < weight.extent(1))
    return op.emitOpError() << "goes 'by' " << depth << " along pairs of the hidden axis; use an even number";
  return success();
}

LogicalResult cpu::convertProject(KernelContext &k, ProjectOp op) {
  Emitter &e = k.e;
  const View &hidden = k.view(op.getHidden()), &weight = k.view(op.getWeight());
  auto type = cast<TileType>(op.getType());
  int64_t size = weight.extent(1), depth = cast<IntegerAttr>(op.getDepth()).getInt();
  if (failed(checkOperands(op, k, hidden, weight, depth)))
    return failure();
  FailureOr<Int> rows = k.countInside(op, hidden, 0, op.getRow(), type.getExtent(0));
  FailureOr<SmallVector<int64_t, 2>> sizes = tileSizes(op, "vocabulary", op.getColumn(), type.getExtent(1), weight.extent(0));
  FailureOr<Int> columns = k.countInside(op, weight, 0, op.getColumn(), type.getExtent(1));
  if (failed(rows) || failed(sizes) || failed(columns))
    return failure();

  Tile tile = k.choosePlace(op->getResult(0), *rows, *columns, /*isWhole=*/false, /*mayRound=*/false);
  Int row = k.scalar(op.getRow()), column = k.scalar(op.getColumn());
  k.setTile(op->getResult(0), tile);
  if (op.getAlgorithm() == Algorithm::DotProducts) {
    DotProducts(k, tile, hidden, weight, row, column).emit();
    return success();
  }
  Contraction c(k, *op.getAlgorithm(), isOfPairs(hidden), tile, *sizes);
  depth = std::min(depth, size);
  LeftBlock left = c.allocateLeft(type.getExtent(1), llvm::divideCeil(depth, c.together()), /*kMajor=*/false);
  auto addBlock = [&](Int first) {
    Int count = smaller(e.integer(size) - first, depth);
    copyWeights(c, weight, column, first, count, left);
    auto panelOf = [&](Int panel) { return e.at(hidden.base, (row / e.width + panel) * hidden.stride0 + first * e.width); };
    c.multiply(left, panelOf, count, isLess(e.integer(0), first), nextWeights(k, weight, column, type.getExtent(1), first, depth));
  };
  e.loop(e.integer(0), e.integer(size), e.integer(depth), [&](Int first) { k.unlessInterrupted([&] { addBlock(first); }); });
  return success();
}
