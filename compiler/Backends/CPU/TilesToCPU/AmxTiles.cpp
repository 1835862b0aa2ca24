// AmxTiles.cpp - the inner loop of bf16 products on the tile registers of AMX: 2 x 2 of them hold
// sums, two hold the rows of each operand. Contraction.cpp cuts a tile into blocks.
#include "compiler/Backends/CPU/TilesToCPU/Helpers.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// Registers by number: sums 0...3 row by row, then the halves of A, one below the other, and those
// of B, side by side. Intrinsics that name registers need no allocation, and no shapes that LLVM
// would have to see.
static constexpr int64_t kA = 4, kB = 6, kBytes = 4, kRowBytes = 64, kRows = kTileRows;

/// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, table 18-2: byte
/// 0 the palette, from byte 16 on the bytes of a row of each register in 16 bits, from byte 48 on
/// its rows in 8. A register without rows has no bytes either.
func::FuncOp Helpers::configureTiles() {
  return make("configure_tiles", {e.pointerType, e.i64, e.i64}, [&](ValueRange args) {
    Place words{args[0], e.i64};
    Int rows = e.integer(args[1]), pairs = e.integer(args[2]);
    Int upper = smaller(rows, kRows), lower = rows - upper, hasLower = smaller(lower, 1);
    auto word = [&](std::initializer_list<Int> parts, int64_t bits) {
      Int all = e.integer(0);
      for (int64_t shift = 0; Int part : parts) {
        all = all + part * (int64_t(1) << shift);
        shift += bits;
      }
      return all;
    };
    Int whole = e.integer(kRowBytes), below = hasLower * kRowBytes, a = pairs * kBytes, zero = e.integer(0);
    const Int values[] = {e.integer(1), zero, word({whole, whole, below, below}, 16), word({a, a * hasLower, whole, whole}, 16), zero, zero,
                          word({upper, upper, lower, lower, upper, lower, pairs, pairs}, 8), zero};
    for (auto [i, value] : llvm::enumerate(values))
      e.storeBits(value, e.at(words, e.integer(static_cast<int64_t>(i))));
    e.onTiles("ldtilecfg", {}, {args[0]});
  });
}

func::FuncOp Helpers::multiplyTiles(bool two) {
  Type p = e.pointerType, i = e.i64;
  return make(two ? "multiply_tiles_2" : "multiply_tiles_1", {p, i, p, p, i, i, e.i1}, [&](ValueRange args) {
    Place a{args[0], e.i32}, b{args[2], e.i32}, c{args[3], e.f32};
    Int aStride = e.integer(args[1]), cStride = e.integer(args[4]), steps = e.integer(args[5]);
    Int aBytes = aStride * kBytes, bBytes = e.integer(e.width * kBytes), cBytes = cStride * kBytes;
    const int64_t high = two ? 2 : 1, wide = e.width / kRows;
    auto forSums = [&](function_ref<void(int64_t, Place)> body) {
      for (int64_t row = 0; row < high; ++row)
        for (int64_t column = 0; column < wide; ++column)
          body(row * wide + column, e.at(c, cStride * (row * kRows) + column * kRows));
    };
    e.when(
        args[6], [&] { forSums([&](int64_t sum, Place place) { e.onTiles("tileloadd64", {sum}, {place.pointer, cBytes}); }); },
        [&] { forSums([&](int64_t sum, Place) { e.onTiles("tilezero", {sum}); }); });
    e.loop(steps, [&](Int step) {
      for (int64_t row = 0; row < high; ++row) {
        e.onTiles("tileloadd64", {kA + row}, {e.at(a, aStride * (row * kRows) + step * kTilePairs).pointer, aBytes});
        for (int64_t column = 0; column < wide; ++column) {
          if (row == 0)
            e.onTiles("tileloadd64", {kB + column}, {e.at(b, step * (kTilePairs * e.width) + column * kRows).pointer, bBytes});
          e.onTiles("tdpbf16ps", {row * wide + column, kA + row, kB + column});
        }
      }
    });
    forSums([&](int64_t sum, Place place) { e.onTiles("tilestored64", {sum}, {place.pointer, cBytes}); });
  });
}
