// EmulatedTiles.cpp - eight registers of 16 rows of 64 bytes for each thread, and what instructions
// do to them.
#include "runtime/cpu/EmulatedTiles.h"
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
constexpr int kTiles = 8, kRows = 16, kRowBytes = 64, kLanes = kRowBytes / 4;

struct Tile {
  int rows = 0, bytes = 0; // of a row
  uint32_t data[kRows][kLanes] = {};
};
struct Registers {
  bool isConfigured = false;
  Tile tiles[kTiles];
};
thread_local Registers registers;

[[noreturn]] void fault(const char *instruction, const char *why) {
  std::fprintf(stderr, "logitile: emulated %s: %s\n", instruction, why);
  std::abort();
}

Tile &tileOf(const char *instruction, uint8_t number) {
  if (!registers.isConfigured)
    fault(instruction, "no tiles are configured");
  if (number >= kTiles || registers.tiles[number].rows == 0)
    fault(instruction, "the tile has no rows");
  return registers.tiles[number];
}

void clear(Tile &tile) { std::memset(tile.data, 0, sizeof tile.data); }

/// Subnormal operands and results count as zero, whatever the thread has set.
float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }
/// The lower or the upper bf16 of a pair.
float half(uint32_t pair, bool upper) { return flushed(std::bit_cast<float>(upper ? pair & 0xffff0000u : pair << 16)); }
} // namespace

void logitile_ldtilecfg(const void *configuration) {
  uint8_t bytes[64];
  std::memcpy(bytes, configuration, sizeof bytes);
  registers = {};
  if (bytes[0] == 0)
    return;
  if (bytes[0] != 1 || bytes[1] != 0)
    fault("ldtilecfg", "the palette is not 1, or the first row is not 0");
  for (int i = 0; i < 16; ++i) {
    uint16_t rowBytes;
    std::memcpy(&rowBytes, bytes + 16 + 2 * i, sizeof rowBytes);
    const int rows = bytes[48 + i];
    if (rows > kRows || rowBytes > kRowBytes || (rows == 0) != (rowBytes == 0) || (i >= kTiles && rows != 0))
      fault("ldtilecfg", "a tile has an impossible shape");
    if (i < kTiles)
      registers.tiles[i].rows = rows, registers.tiles[i].bytes = rowBytes;
  }
  registers.isConfigured = true;
}

void logitile_tilerelease() { registers = {}; }

void logitile_tilezero(uint8_t tile) { clear(tileOf("tilezero", tile)); }

void logitile_tileloadd64(uint8_t number, const void *from, int64_t rowBytes) {
  Tile &tile = tileOf("tileloadd", number);
  clear(tile);
  for (int row = 0; row < tile.rows; ++row)
    std::memcpy(tile.data[row], static_cast<const char *>(from) + row * rowBytes, tile.bytes);
}

void logitile_tilestored64(uint8_t number, void *to, int64_t rowBytes) {
  const Tile &tile = tileOf("tilestored", number);
  for (int row = 0; row < tile.rows; ++row)
    std::memcpy(static_cast<char *>(to) + row * rowBytes, tile.data[row], tile.bytes);
}

/// Each of both halves of the pairs has a sum of its own, of fused multiply-adds; both are added to
/// what was there.
__attribute__((target("fma"))) void logitile_tdpbf16ps(uint8_t sum, uint8_t left, uint8_t right) {
  constexpr const char *kName = "tdpbf16ps";
  Tile &c = tileOf(kName, sum), &a = tileOf(kName, left), &b = tileOf(kName, right);
  if (sum == left || sum == right || left == right)
    fault(kName, "two operands are one tile");
  if (a.bytes % 4 != 0 || b.bytes % 4 != 0 || c.bytes % 4 != 0 || a.rows != c.rows || a.bytes / 4 != b.rows || b.bytes != c.bytes)
    fault(kName, "the shapes of the operands do not fit");
  const int pairs = a.bytes / 4, lanes = c.bytes / 4;
  for (int row = 0; row < c.rows; ++row)
    for (int lane = 0; lane < lanes; ++lane) {
      float sums[2] = {0, 0};
      for (int k = 0; k < pairs; ++k)
        for (int upper = 0; upper < 2; ++upper)
          sums[upper] = flushed(__builtin_fmaf(half(a.data[row][k], upper), half(b.data[k][lane], upper), sums[upper]));
      const float before = flushed(std::bit_cast<float>(c.data[row][lane]));
      c.data[row][lane] = std::bit_cast<uint32_t>(flushed(before + flushed(sums[0] + sums[1])));
    }
}
