// Staging.h - copies one operand of a contraction from global to shared memory, and from there to
// the registers of a warp. Products are in MainLoop.cpp.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"

namespace logitile::cuda {
/// A block of an operand in shared memory: lines of chunks of 16 bytes. Chunks of a line trade
/// places with each other, by the line's number, so that a warp reads a column of chunks without
/// two lanes meeting in a memory bank.
struct StageShape {
  int64_t lines, chunks; // chunks of a line
  int64_t together = 1;  // chunks of a line that are read at once
  int64_t panels = 1;    // one behind the other, each with so many chunks of every line
  int64_t lineBytes() const { return chunks * 16; }
  int64_t panelBytes() const { return lines * lineBytes(); }
  int64_t bytes() const { return panels * panelBytes(); }
  int64_t count() const { return panels * lines * chunks; }
  Int swapped(Int line, Int chunk) const;
  /// So many lines further, chunks trade the same places.
  int64_t period() const { return linesInBanks() * places(); }
  /// Where a chunk lies, of those that a line has in all panels.
  Int placeOf(Int line, Int chunk) const;

private:
  int64_t linesInBanks() const { return std::max<int64_t>(8 / chunks, 1); } // 128 bytes fill all banks
  int64_t places() const { return std::min<int64_t>(chunks & -chunks, 8) / together; }
};

/// One operand: `outer` entries of a tile (tokens, vocabulary or hidden entries) by the shared
/// axis.
struct Operand {
  const View *view;
  Int first, end;       // of the tile on the outer axis; where that axis ends
  int64_t outer;        // entries of the tile
  bool mayClip;         // whether they may reach past the end
  bool isInnerShared;   // whether the shared axis is the view's second one: neighbours in memory
  Int warpFirst;        // of this warp's block, in the tile
  bool isOfWarpgroups;  // tensor cores read it from shared memory, in a layout that they know

  mlir::Value boxes;     // of warpgroups: its tensor map, where the kernel has one
  mlir::Value hasBoxes;  // i1: whether there is a map in this launch that says where this tile lies
  Int firstColumn;       // of the view, with which the map begins
  bool isHalved;         // whether boxes have half of the lines: those that one block of a pair copies

  mlir::Type element() const { return view->type.getElement(); }
  bool isFloat() const { return element().isF32(); }
  StageShape shape(int64_t depth) const;
};

/// Copies blocks of an operand to shared memory.
class Stager {
public:
  /// 'depth' entries of the shared axis make a block; that axis ends at 'sharedEnd', which blocks
  /// may reach past.
  Stager(KernelContext &k, const Operand &operand, int64_t depth, Int sharedEnd, bool mayClipShared);
  /// The block from entry `shared` of the shared axis on, to `offset` bytes of shared memory.
  void copy(Int shared, Int offset);
  /// The same where it is known that the operand 'isAligned'.
  void copyChunks(Int shared, Int offset) { copyChunks(firstChunk(shared), shared, offset, mlir::Value()); }
  /// The same, where the first chunk of this thread lies at `from`. If the block is not there (i1;
  /// null: it is), nothing is read: no branch around copies keeps them apart from the products, so
  /// that the assembler can put them between those.
  void copyChunks(mlir::Value from, Int shared, Int offset, mlir::Value isThere);
  /// Where this thread's first chunk lies, of the block from entry `shared` on; the pointer of a
  /// block later.
  mlir::Value firstChunk(Int shared) const;
  mlir::Value aBlockLater(mlir::Value from) const;
  const mlir::Value isAligned; // whether chunks are 16 bytes at multiples of 16

private:
  struct Chunk {
    Int line, chunk;   // in the block
    Int target;        // bytes from the start of the block
  };
  /// A chunk that this thread copies. What does not depend on the block is known before the loop
  /// over blocks.
  struct Source {
    Chunk chunk;
    Int further;          // elements behind this thread's first chunk
    mlir::Value isInside; // i1, whether its line exists; null: it does
    mlir::Value bytes;    // i32, of the chunk that exist on the outer axis; null: all
  };
  Chunk chunkOf(Int number) const;
  Source sourceOf(int64_t round) const;
  Place move(mlir::Value from, Int elements) const;
  void copySource(const Source &source, mlir::Value from, Int shared, Int offset, mlir::Value isThere);
  void copyElementsOf(const Chunk &chunk, Int shared, Int offset);

  KernelContext &k;
  Emitter &e;
  const Operand operand;
  const int64_t depth;
  StageShape shape;
  int64_t perChunk;        // elements of a chunk
  Int sharedEnd;
  bool mayClipShared;
  Int stride;              // elements of the view between two lines of a block
  llvm::SmallVector<Source> sources;
};

/// Registers of one fragment: pairs of 16-bit elements, for each plane of the operand.
using Planes = llvm::SmallVector<CodeBuilder::Values, 3>;

/// Reads fragments of an operand from shared memory.
class FragmentReader {
public:
  FragmentReader(KernelContext &k, const Operand &operand, int64_t depth);
  /// The fragments of 16 steps of the shared axis from `step` * 16 on: 16 entries of the outer axis
  /// each, 4 registers. For right operands registers 0, 1 and 2, 3 are two fragments of 8 entries.
  llvm::SmallVector<Planes> read(int64_t step, Int offset, int64_t count, bool isRight);
  /// Planes of an element: 3 of bf16 add up to an f32.
  static int64_t planes(mlir::Type element) { return element.isF32() ? 3 : 1; }

private:
  CodeBuilder::Values readMatrices(int64_t step, Int offset, int64_t fragment, bool isRight);
  Planes readFloats(int64_t step, Int offset, int64_t fragment, bool isRight);
  mlir::Value loadPair(Int outer, Int shared, Int offset);

  KernelContext &k;
  Emitter &e;
  const Operand operand;
  StageShape shape;
};
} // namespace logitile::cuda
