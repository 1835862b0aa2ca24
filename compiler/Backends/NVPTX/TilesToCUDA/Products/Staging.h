// Staging.h - copies one operand of a contraction from global to shared memory, and from there to
// the registers of a warp; or loads it to be split into planes. Products are in MainLoop.cpp and
// PlaneLoop.cpp.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"

namespace logitile::cuda {
/// A block of an operand in shared memory: lines of chunks of 16 bytes. The chunks of a line are
/// permuted (swizzled). The permutation depends on the line's number. So when a warp reads a column
/// of chunks, its lanes access different memory banks.
struct StageShape {
  int64_t lines, chunks; // chunks of a line
  int64_t panels = 1;    // one after the other; each has 'chunks' chunks of every line
  int64_t lineBytes() const { return chunks * 16; }
  int64_t panelBytes() const { return lines * lineBytes(); }
  int64_t bytes() const { return panels * panelBytes(); }
  int64_t count() const { return panels * lines * chunks; }
  /// The place of 'chunk' within its line, after the permutation.
  Int swapped(Int line, Int chunk) const;
  /// Lines that are a multiple of this apart have the same permutation.
  int64_t period() const { return linesInBanks() * places(); }
  /// Bytes from the start of the block to a chunk. 'chunk' counts the chunks of a line in all
  /// panels.
  Int placeOf(Int line, Int chunk) const;

private:
  int64_t linesInBanks() const { return std::max<int64_t>(8 / chunks, 1); } // 128 bytes fill all banks
  int64_t places() const { return std::min<int64_t>(chunks & -chunks, 8); }
};

/// One operand of a product. Its outer axis has the tile's `outer` entries (tokens, vocabulary or
/// hidden entries), its other axis is the shared one.
struct Operand {
  const View *view;
  Int first, end;       // of the outer axis: the tile's first entry, and the end of the axis
  int64_t outer;        // entries of the tile
  bool mayClip;         // whether the tile may reach past 'end'
  bool isInnerShared;   // whether the shared axis is the view's second one, along which elements are neighbours in memory
  Int warpFirst;        // the first entry, in the tile, of this warp's block
  bool isOfWarpgroups;  // tensor cores read it from shared memory, in a layout that they know

  mlir::Value boxes;     // of 16 bits, in products of warpgroups: its tensor map, if there is one
  mlir::Value hasBoxes;  // i1: whether this launch has the map, and the tile can be copied with it
  Int firstColumn;       // the view's column at which the map begins
  bool mayReadPadding;   // whether rows are padded to 16 bytes, which other kernels have stored
  bool isHalved;         // whether a box has half of the lines, because each block of a pair copies one half

  mlir::Type element() const { return view->type.getElement(); }
  bool isFloat() const { return element().isF32(); }
  /// A block of 'depth' steps in shared memory as tensor cores read it: of 16-bit elements, or a
  /// plane of f32.
  StageShape shape(int64_t depth) const;
  /// The same in chunks of 16 bytes that threads copy, or load.
  StageShape chunkShape(int64_t depth) const;
};

/// The products of planes that count, small ones first: the others are below the last bit of an
/// f32.
inline constexpr std::pair<int, int> kProductsOfPlanes[] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
/// The high, middle and low part of a 'pair' of f32, each two bf16 in an i32: their sum is exact.
llvm::SmallVector<mlir::Value, kPlanes> splitIntoPlanes(Emitter &e, mlir::Value pair);

/// Copies blocks of an operand of 16 bits to shared memory, or loads blocks of f32. Each thread has
/// some chunks of 16 bytes of every block.
class Stager {
public:
  /// A block has 'depth' entries of the shared axis. That axis ends at 'sharedEnd'.
  /// 'mayClipShared': blocks may reach past this end.
  Stager(KernelContext &k, const Operand &operand, int64_t depth, Int sharedEnd, bool mayClipShared);
  /// Copies the block that begins at entry `shared` of the shared axis, to `offset` bytes from the
  /// start of shared memory.
  void copy(Int shared, Int offset);
  /// The same for an operand that is known to be aligned ('isAligned').
  void copyChunks(Int shared, Int offset) { copyChunks(firstChunk(shared), shared, offset, mlir::Value()); }
  /// The same if the first chunk of this thread is at `from`. If `isThere` (i1) is false, there is
  /// no such block and nothing is read; null means that there is one. This needs no branch around
  /// the copies, so the assembler can place them between products.
  void copyChunks(mlir::Value from, Int shared, Int offset, mlir::Value isThere);
  /// A pointer to this thread's first chunk of the block that begins at entry `shared`.
  mlir::Value firstChunk(Int shared) const;
  /// That pointer for the next block.
  mlir::Value aBlockLater(mlir::Value from) const;
  /// Whether (i1) all chunks are 16 neighbouring bytes at an address that is a multiple of 16.
  const mlir::Value isAligned;

  struct Chunk {
    Int line, chunk;   // in the block
    Int target;        // bytes from the start of the block in shared memory, or of a plane
  };

  // ---- of f32 that is split: a chunk is four numbers --------------------------------------------
  /// Whether chunks may be loaded if the operand is aligned: none of them reaches past its row.
  bool hasWholeChunks() const { return operand.mayReadPadding || operand.view->extent(1) % perChunk == 0; }
  /// Loads the chunks that copyChunks would copy, as vectors. What is not there is zeros. But in
  /// padding of the outer axis, numbers may be anything.
  CodeBuilder::Values loadChunks(mlir::Value from, Int shared, mlir::Value isThere) const;
  /// The number of chunks that loadChunks returns.
  int64_t chunksOfThread() const { return sources.size(); }
  /// Calls 'visit' with each of these chunks.
  void visitChunks(llvm::ArrayRef<mlir::Value> loaded, llvm::function_ref<void(const Chunk &, mlir::Value)> visit) const;
  /// The same for an operand that need not be aligned, element by element.
  void visitElements(Int shared, llvm::function_ref<void(const Chunk &, mlir::Value)> visit) const;

private:
  /// A chunk that this thread copies from each block. These values are the same for all blocks, so
  /// they are computed before the loop over blocks.
  struct Source {
    Chunk chunk;
    Int further;          // elements from this thread's first chunk
    mlir::Value isInside; // i1: whether the chunk's line exists; null: it does
    mlir::Value bytes;    // i32: how many bytes of the chunk are before the end of the outer axis; null: all
  };
  Chunk chunkOf(Int number) const;
  Source sourceOf(int64_t round) const;
  /// Whether (i1) this thread has a chunk in 'round'.
  mlir::Value hasChunk(int64_t round) const;
  Place move(mlir::Value from, Int elements) const;
  void copySource(const Source &source, mlir::Value from, Int shared, Int offset, mlir::Value isThere);
  /// Whether (i1) this thread has a chunk in 'round', with entries that exist, of the block that
  /// begins at entry `shared`.
  mlir::Value hasEntries(int64_t round, Int shared) const;
  mlir::Value clip(mlir::Value loaded, Int first) const;
  mlir::Value loadElement(const Chunk &chunk, Int shared, Int number) const;

  KernelContext &k;
  Emitter &e;
  const Operand operand;
  const int64_t depth;
  StageShape chunkShape, shape;
  int64_t perChunk;        // elements of a chunk
  Int sharedEnd;
  bool mayClipShared;
  Int stride;              // elements of the view between two lines of a block
  llvm::SmallVector<Source> sources;
};

/// Reads fragments of an operand, or of a plane, from shared memory. A fragment has 16 entries of
/// the outer axis and 16 of the shared axis. It takes 4 registers with pairs of 16-bit elements. Of
/// a right operand, registers 0 and 1 are a fragment of 8 entries, and 2 and 3 are another one.
class FragmentReader {
public:
  FragmentReader(KernelContext &k, const Operand &operand, int64_t depth)
      : k(k), e(k.e), operand(operand), shape(operand.shape(depth)) {}
  /// Fragment number 'fragment' of this warp, from entry `step` * 16 of the shared axis on, of the
  /// block or plane that is 'offset' bytes from the start of shared memory.
  CodeBuilder::Values read(int64_t step, Int offset, int64_t fragment, bool isRight);

private:
  KernelContext &k;
  Emitter &e;
  const Operand operand;
  StageShape shape;
};
} // namespace logitile::cuda
