// MainLoop.h - the product of two 16-bit operands over a shared axis on tensor cores: a pipeline of
// blocks in shared memory. Products of f32 operands are in PlaneLoop.h.
#pragma once
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Staging.h"

namespace logitile::cuda {
/// Where the sums of left fragment 'i' and of eight columns, number 'j' of all, are among those of
/// the thread: rows g and g + 8 of the fragment, two columns each.
std::array<int64_t, 4> placesOfSums(const Sharing &sharing, int64_t i, int64_t j);

class MainLoop {
public:
  /// A product over the shared axis up to 'end', in blocks of 'depth' entries. 'mayClip': the last
  /// block may reach past 'end'.
  MainLoop(KernelContext &k, const Operand &left, const Operand &right, int64_t depth, Int end, bool mayClip)
      : k(k), e(k.e), left(left), right(right), depth(depth), end(end), toLeft(k, left, depth, end, mayClip),
        toRight(k, right, depth, end, mayClip) {}

  /// The values of the tile: 'start' plus the product over the shared axis from entry 'first' on.
  CodeBuilder::Values run(mlir::ValueRange start, Int first);

private:
  /// The operands of products over 16 entries of the shared axis, in registers.
  struct Fragments {
    llvm::SmallVector<CodeBuilder::Values> lefts, rights;
  };

  void copy(Int shared, mlir::Value isThere, Int offset, mlir::ValueRange from);
  CodeBuilder::Values multiplyBlock(Int offset, Int next, llvm::function_ref<void()> copyAhead, Fragments &fragments,
                                    mlir::ValueRange start);
  void waitForNext();
  CodeBuilder::Values runPipelined(mlir::ValueRange start, Int first, Int count);
  CodeBuilder::Values runUnaligned(mlir::ValueRange start, Int first, Int count);
  /// The fragments of step `step` of a block. The block is `offset` bytes from the start of shared
  /// memory.
  Fragments read(int64_t step, Int offset);
  CodeBuilder::Values multiply(const Fragments &fragments, mlir::ValueRange start);
  static CodeBuilder::Values flatten(const Fragments &fragments);
  Fragments unflatten(mlir::ValueRange values) const;
  int64_t blockBytes() const { return left.shape(depth).bytes() + right.shape(depth).bytes(); }

  KernelContext &k;
  Emitter &e;
  const Operand left, right;
  const int64_t depth;
  const Int end;
  Stager toLeft, toRight;
};
} // namespace logitile::cuda
