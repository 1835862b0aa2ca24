// Threads.h - code for the rows and columns of this thread, according to Sharing.h.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Emitter.h"

namespace logitile::cuda {
/// The sharing as code: where this thread's elements are.
class Threads {
public:
  Threads(Emitter &e, const Sharing &sharing);

  const Sharing sharing;
  Int warpRow, warpColumn; // of this thread's warp
  Int group, quad;         // g and q of Sharing.h
  /// The row whose state this thread has, and whether (i1) it has one. A thread without one gets
  /// the row of another thread.
  Int line;
  mlir::Value hasLine() const { return isLess(place, places); }
  /// Row and column of an element in the tile.
  Int row(int64_t slot) const;
  /// From here on, slot 0 means the thread's row slot 'first', and so on.
  void shiftRows(Int first) { slotShift = first; }
  /// The number of a row slot among those of the warp's block.
  Int rowSlot(int64_t slot) const { return slotShift + slot; }
  Int column(int64_t slot) const;
  Int column(Int slot) const;
  /// The distance of a slot's column from that of slot 0.
  int64_t distance(int64_t slot) const { return slot / sharing.neighbours * (4 * sharing.neighbours) + slot % sharing.neighbours; }

private:
  Int firstRow, firstColumn, slotShift;
  Int place;      // among 'places' and more threads, of which the first 'places' have a line
  int64_t places;
};
} // namespace logitile::cuda
