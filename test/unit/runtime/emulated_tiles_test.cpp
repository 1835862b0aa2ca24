// emulated_tiles_test.cpp - functions in the place of the instructions on tiles: products, shapes,
// and what a processor refuses.
#include "runtime/cpu/EmulatedTiles.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {
struct Shapes {
  uint8_t palette = 1, start = 0, rest[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, int rowCount, int rowBytes) { rows[tile] = static_cast<uint8_t>(rowCount), bytes[tile] = static_cast<uint16_t>(rowBytes); }
};
static_assert(sizeof(Shapes) == 64);

/// Sums of 'rows' x 16 in register 0, A in 4, B in 6.
Shapes shapesOf(int rows, int pairs) {
  Shapes shapes;
  shapes.set(0, rows, 64), shapes.set(4, rows, 4 * pairs), shapes.set(6, pairs, 64);
  return shapes;
}
uint16_t bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }
float valueOf(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

class EmulatedTiles : public testing::Test {
protected:
  ~EmulatedTiles() override { logitile_tilerelease(); }
};

TEST_F(EmulatedTiles, MultiplyPairsIntoSumsOfTheirShape) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (auto [rows, pairs] : {std::pair(16, 16), std::pair(5, 3), std::pair(1, 1)}) {
    std::vector<uint16_t> a(rows * 40), b(pairs * 40); // rows are 80 bytes apart
    std::vector<float> c(rows * 20, 7);
    std::generate(a.begin(), a.end(), [&] { return bf16(uniform(random)); });
    std::generate(b.begin(), b.end(), [&] { return bf16(uniform(random)); });
    Shapes shapes = shapesOf(rows, pairs);
    logitile_ldtilecfg(&shapes);
    logitile_tilezero(0);
    logitile_tileloadd64(4, a.data(), 80), logitile_tileloadd64(6, b.data(), 80);
    logitile_tdpbf16ps(0, 4, 6), logitile_tdpbf16ps(0, 4, 6);
    logitile_tilestored64(0, c.data(), 80);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < 20; ++j) {
        double want = 0;
        for (int k = 0; k < 2 * pairs; ++k)
          want += 2.0 * valueOf(a[i * 40 + k]) * valueOf(b[k / 2 * 40 + 2 * (j % 16) + k % 2]);
        EXPECT_NEAR(c[i * 20 + j], j < 16 ? want : 7, 1e-5) << rows << " rows, " << i << ", " << j;
      }
  }
}

TEST_F(EmulatedTiles, CountSubnormalNumbersAsZero) {
  Shapes shapes = shapesOf(1, 1);
  logitile_ldtilecfg(&shapes);
  const uint16_t small = bf16(0x1p-100f), subnormal = bf16(0x1p-130f);
  std::vector<uint16_t> a{small, subnormal}, b(32, bf16(1));
  std::fill_n(b.begin(), 2, small); // whose product is subnormal
  std::vector<float> c(16, 0x1p-130f);
  logitile_tileloadd64(0, c.data(), 64), logitile_tileloadd64(4, a.data(), 64), logitile_tileloadd64(6, b.data(), 64);
  logitile_tdpbf16ps(0, 4, 6);
  logitile_tilestored64(0, c.data(), 64);
  EXPECT_EQ(c[0], 0);
  EXPECT_EQ(c[1], 0x1p-100f);
}

TEST_F(EmulatedTiles, KeepWhatIsNotANumber) {
  Shapes shapes = shapesOf(1, 1);
  logitile_ldtilecfg(&shapes);
  logitile_tilezero(0);
  std::vector<uint16_t> a{bf16(std::numeric_limits<float>::infinity()), bf16(1)}, b(32, bf16(0));
  std::vector<float> c(16);
  logitile_tileloadd64(4, a.data(), 64), logitile_tileloadd64(6, b.data(), 64);
  logitile_tdpbf16ps(0, 4, 6);
  logitile_tilestored64(0, c.data(), 64);
  EXPECT_TRUE(std::isnan(c[0]));
}

using EmulatedTilesDeathTest = EmulatedTiles;

TEST_F(EmulatedTilesDeathTest, RefuseWhatAProcessorRefuses) {
  EXPECT_DEATH(logitile_tilezero(0), "emulated tilezero: no tiles are configured");
  Shapes shapes = shapesOf(4, 2);
  logitile_ldtilecfg(&shapes);
  EXPECT_DEATH(logitile_tilezero(1), "emulated tilezero: the tile has no rows");
  EXPECT_DEATH(logitile_tdpbf16ps(0, 6, 4), "emulated tdpbf16ps: the shapes of the operands do not fit");
  EXPECT_DEATH(logitile_tdpbf16ps(0, 4, 4), "emulated tdpbf16ps: two operands are one tile");
  Shapes wrong = shapesOf(17, 2), half;
  half.set(0, 0, 64);
  EXPECT_DEATH(logitile_ldtilecfg(&wrong), "emulated ldtilecfg: a tile has an impossible shape");
  EXPECT_DEATH(logitile_ldtilecfg(&half), "emulated ldtilecfg: a tile has an impossible shape");
}
} // namespace
