// Packing.cpp - rows of a strided view into the panels that contractions read. Layouts are those of
// LaunchPlan.h.
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

namespace {
/// Rows of the source, from the tile's first on.
struct SourceRows {
  KernelContext &k;
  const View &view;
  LoadOp load;
  Int first;

  Place at(Int row) {
    Int number = first + row;
    if (Value map = load.getMap())
      number = k.e.extend(k.e.load(k.e.at(k.view(map).base, number)));
    return k.windowOf(view, number, k.scalar(load.getAt()[1]));
  }
};

/// Steps of the inner axis that are copied for all lanes in turn: the lines that they touch stay in
/// the L1 cache.
constexpr int64_t kBlock = 64;

/// One row into one lane of a panel. Pairs of its elements stay side by side.
void packLane(KernelContext &k, const View &packed, Place panel, Int lane, Place row, Int step, Int first, Int count) {
  Emitter &e = k.e;
  func::FuncOp copy = k.helpers.copy(row.element, packed.base.element);
  int64_t together = isOfPairs(packed) ? 2 : 1;
  for (int64_t i = 0; i < together; ++i) {
    Place from = e.at(row, (first + i) * step);
    Place to = e.at(panel, first * e.width + lane * together + i);
    k.call(copy, {from.pointer, step * together, to.pointer, e.integer(e.width * together), (count + (together - 1 - i)) / together});
  }
}

/// Zeros in one lane of a panel from step 'first' on: element 'which' of 'count' pairs, or 'count'
/// elements where there are no pairs.
void clearLane(KernelContext &k, const View &packed, Place panel, Int lane, int64_t which, Int first, Int count) {
  Emitter &e = k.e;
  int64_t together = isOfPairs(packed) ? 2 : 1;
  Place to = e.at(panel, first * e.width + lane * together + which);
  k.call(k.helpers.clear(packed.base.element), {to.pointer, e.integer(e.width * together), count});
}

/// Lanes without a row are 0, and so is the partner of an odd last step.
void packRowPanels(KernelContext &k, const View &packed, SourceRows source, Int rows) {
  Emitter &e = k.e;
  int64_t depth = packed.extent(1), together = isOfPairs(packed) ? 2 : 1;
  e.loop(divideUp(rows, e.width), [&](Int number) {
    Place panel = e.at(packed.base, (source.first / e.width + number) * packed.stride0);
    Int lanes = smaller(rows - number * e.width, e.width);
    e.loop(e.integer(0), e.integer(depth), e.integer(kBlock), [&](Int first) {
      Int count = smaller(e.integer(depth) - first, kBlock);
      auto packBlock = [&] {
        e.loop(lanes,
               [&](Int lane) { packLane(k, packed, panel, lane, source.at(number * e.width + lane), source.view.stride1, first, count); });
        e.loop(lanes, e.integer(e.width), e.integer(1), [&](Int lane) {
          for (int64_t which = 0; which < together; ++which)
            clearLane(k, packed, panel, lane, which, first, (count + (together - 1)) / together);
        });
      };
      k.unlessInterrupted(depth, packBlock);
    });
    if (depth % together)
      e.loop(lanes, [&](Int lane) { clearLane(k, packed, panel, lane, 1, e.integer(depth - 1), e.integer(1)); });
  });
}

void packColumnPanels(KernelContext &k, const View &packed, SourceRows source, Int rows) {
  Emitter &e = k.e;
  Type from = source.view.base.element, to = packed.base.element;
  Int columns = e.integer(packed.extent(1)), step = source.view.stride1;
  if (!isOfPairs(packed)) {
    func::FuncOp pack = k.helpers.packRow(from, to);
    e.loop(rows, [&](Int row) {
      Place sink = e.at(packed.base, (source.first + row) * e.width);
      auto packOne = [&] { k.call(pack, {source.at(row).pointer, step, sink.pointer, packed.stride1, columns}); };
      k.unlessInterrupted(packed.extent(1), packOne);
    });
    return;
  }
  func::FuncOp pack = k.helpers.packRowPair(from, to);
  e.loop(e.integer(0), rows, e.integer(2), [&](Int row) {
    Value hasSecond = isLess(row + 1, rows);
    Place first = source.at(row), second = source.at(smaller(row + 1, rows - 1));
    Place sink = e.at(packed.base, (source.first + row) * e.width);
    auto packBoth = [&] { k.call(pack, {first.pointer, second.pointer, hasSecond, step, sink.pointer, packed.stride1, columns}); };
    k.unlessInterrupted(packed.extent(1), packBoth);
  });
}
} // namespace

LogicalResult cpu::storePacked(KernelContext &k, StoreOp op, LoadOp load) {
  const View &packed = k.view(op.getView());
  const View &view = k.view(load.getView());
  if (op.getMap())
    return op.emitOpError() << "packs rows through a map; the load has it";
  if (op.getAt() != load.getAt())
    return op.emitOpError() << "packs rows to another place than they come from";
  FailureOr<Int> rows = k.countInside(op, packed, 0, op.getAt()[0], cast<TileType>(op.getValue().getType()).getExtent(0));
  if (failed(rows))
    return failure();
  SourceRows source{k, view, load, k.scalar(load.getAt()[0])};
  if (packed.layout() == Layout::RowPanels)
    packRowPanels(k, packed, source, *rows);
  else
    packColumnPanels(k, packed, source, *rows);
  return success();
}
