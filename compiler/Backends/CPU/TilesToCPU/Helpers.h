// Helpers.h - functions that kernels of one module share: microkernels, copies and packing. Each
// exists once per shape, and is created when it is first needed.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/Emitter.h"

namespace logitile::cpu {
/// Rows of a tile register of AMX, and pairs of bf16 or f32 values of one of its rows.
constexpr int64_t kTileRows = 16, kTilePairs = 16;

/// A block of dot products, or of a part of each along the hidden axis.
struct DotShape {
  enum Part { Whole, Inner, Last };

  int64_t rows, tokens;      // of the head, of hidden states
  int64_t length, size;      // of the hidden axis, and of the part
  mlir::Type weight, hidden; // elements in memory; those of hidden states are operands
  Part part = Whole;

  bool isOfPairs() const { return hidden.isBF16(); }
  std::string name() const;
};

/// A few rows of the head that are multiplied at a time.
struct UpdateShape {
  int64_t rows;
  mlir::Type weight; // elements in memory
  bool pairs;        // two rows side by side are multiplied as pairs of bf16
  bool isWhole;      // all 'rows' rows exist: the head does not end before

  int64_t units() const { return pairs ? (rows + 1) / 2 : rows; }
  std::string name() const;
};

class Helpers {
public:
  Helpers(mlir::ModuleOp module, CpuTier tier) : module(module), e(module, tier) {}

  /// C (+)= A B on one panel of B: `rows` rows of C, one panel wide, K steps.
  /// (A, stride of A, B, C, stride of C, K, whether to add to C)
  /// C is f32 with rows apart by its stride, B has one panel row per step. Element (row, k) of A
  /// lies at row * stride + k, or at k * rows + row where it is `kMajor`. With `pairs`, elements of
  /// A and B are two bf16.
  mlir::func::FuncOp multiply(int64_t rows, bool kMajor, bool pairs);
  /// C (+)= A B on one panel of B, with the tile registers as 'configureTiles' has set them up: at
  /// most 16 rows of C, or at most 32 with 'two'. K advances in steps of the number of pairs that
  /// 'configureTiles' got.
  /// (A, stride of A, B, C, stride of C, steps, whether to add to C)
  /// Operands are laid out as those of 'multiply' with pairs; A is stored row by row.
  mlir::func::FuncOp multiplyTiles(bool two);
  /// (64 bytes of scratch, rows, pairs): sets up the tile registers for 1 to 32 rows of C and steps
  /// of 1 to 16 pairs. Their contents are lost.
  mlir::func::FuncOp configureTiles();
  /// All products of rows of the head with rows of hidden states.
  /// (head, stride, hidden states, stride, C, stride of C, sums, first entry of the hidden axis)
  /// C is f32; a row of it holds the tokens of one row of the head. Elements of a row are
  /// neighbours. A part adds its products to vectors of sums, one for each row and token. The last
  /// part adds up what is in a vector and writes C.
  mlir::func::FuncOp dots(const DotShape &shape);
  /// C += A B for a few rows of B, which are read from where they are, without packing.
  /// (B, stride of B, A, C, stride of C, rows of B that exist, rows of C, columns)
  /// C is f32; A holds the elements of one row of C after the other, in units of one f32 or of a
  /// pair of bf16.
  mlir::func::FuncOp update(const UpdateShape &shape);
  /// (from, step, to, step, count): copies and converts elements one by one.
  mlir::func::FuncOp copy(mlir::Type from, mlir::Type to);
  /// (from, step, to, panel stride, count): copies one row into panels. The last panel is padded
  /// with zeros.
  mlir::func::FuncOp packRow(mlir::Type from, mlir::Type to);
  /// (from, second row, whether it exists, step, to, panel stride, count): copies two rows into
  /// panels, with the elements of both rows side by side.
  mlir::func::FuncOp packRowPair(mlir::Type from, mlir::Type to);
  /// (from, stride, to, count): copies the first `lines` elements of `count` rows, one row after
  /// the other. The result is the operand A of a microkernel that is kMajor. With `pairs`, the
  /// elements of two rows are side by side; if `count` is odd, zeros are beside the last row.
  mlir::func::FuncOp packLines(int64_t lines, mlir::Type from, mlir::Type to, bool pairs);
  /// (from, stride, to, stride of 'to', count): copies the first 16 elements of `count` rows,
  /// transposed and as pairs of bf16: the operand A of 'multiplyTiles'. If `count` is odd, zeros
  /// are paired with the last row.
  mlir::func::FuncOp packTransposed(mlir::Type from);
  /// (sum, coefficient, from, step, count): sum += coefficient * from, in f32.
  mlir::func::FuncOp addScaled(mlir::Type from);
  /// (to, step, count): writes zeros.
  mlir::func::FuncOp clear(mlir::Type to);
  /// (heap, size, word): replaces the smallest word of a heap, which is its first, by 'word'.
  mlir::func::FuncOp replaceLeast();
  /// (heap, size): sorts the words of a heap, the largest first.
  mlir::func::FuncOp sortHeap();
  /// (first row, bytes from row to row, from, end, bytes): starts to bring rows from 'from' up to
  /// 'end' into the L2 cache.
  mlir::func::FuncOp fetch();

private:
  mlir::func::FuncOp make(const llvm::Twine &name, llvm::ArrayRef<mlir::Type> arguments, llvm::function_ref<void(mlir::ValueRange)> body);

  mlir::ModuleOp module;
  Emitter e;
};
} // namespace logitile::cpu
