// Threads.cpp - where in a tile the elements of a thread are.
#include "compiler/Backends/NVPTX/TilesToCUDA/Threads.h"

namespace logitile::cuda {
Threads::Threads(Emitter &e, const Sharing &sharing)
    : sharing(sharing), warpRow(e.warp() / sharing.warpColumns), warpColumn(e.warp() % sharing.warpColumns), group(e.lane() / 4),
      quad(e.lane() % 4), line(e.thread()), firstRow(e.integer(0)), firstColumn(e.integer(0)), slotShift(e.integer(0)), place(e.thread()),
      places(sharing.rows) {
  if (sharing.haveWarpsStates()) {
    place = e.lane();
    places = sharing.blockRows();
    line = warpRow * places + place % places;
  }
  if (sharing.isFragments) {
    firstRow = warpRow * sharing.blockRows() + group;
    firstColumn = warpColumn * sharing.blockColumns() + quad * sharing.neighbours;
  } else {
    (sharing.rows > 1 ? firstRow : firstColumn) = sharing.parts > 1 ? e.thread() % sharing.rows : e.thread();
  }
}
Int Threads::row(int64_t slot) const { return firstRow + slotShift * 8 + slot * 8; }
Int Threads::column(int64_t slot) const { return firstColumn + distance(slot); }
Int Threads::column(Int slot) const {
  int64_t run = sharing.neighbours;
  return firstColumn + (slot / run * (4 * run) + slot % run);
}
} // namespace logitile::cuda
