// Limits.h - the largest numbers that IR may hold. Verifiers refuse larger ones before any code
// multiplies or allocates by them.
#pragma once
#include <cstdint>

namespace logitile {
/// Of a vocabulary and of hidden states. Numbers of entries have 32 bits, also beyond the last
/// tile; and a number of tokens times this, times the bytes of an element, still says how much
/// memory is needed.
inline constexpr int64_t kMostExtent = (int64_t(1) << 31) - (int64_t(1) << 16);
/// Tokens of a call are counted in 32 bits.
inline constexpr int64_t kMostTokens = (int64_t(1) << 31) - 1;
/// Entries of a token input, each of which has a buffer.
inline constexpr int64_t kMostIndices = int64_t(1) << 16;
/// Ops of a loss, each on the result of the one before. Passes call themselves for operands; this
/// fits a stack of 8 MiB.
inline constexpr int64_t kMostDepth = 4000;
/// Threads of a program. Schedules multiply them, and no machine has so many.
inline constexpr int64_t kMostThreads = int64_t(1) << 16;
/// Places of a list: each vocabulary split has a list of its own for every token.
inline constexpr int64_t kMostPlaces = 1024;
/// Places of a list that is read: each has a number in memory for every token.
inline constexpr int64_t kMostReadPlaces = 4096;
/// Places of a list whose operations are written once for each of them.
inline constexpr int64_t kMostUnrolled = 128;
/// Lists of slices of the vocabulary that one finish joins.
inline constexpr int64_t kMostGivenLists = 2;
/// One extent of a tile, and all its elements: GPU code has instructions for each element that a
/// thread holds, and CPU code has memory for all of them.
inline constexpr int64_t kMostOfTile = int64_t(1) << 14;
inline constexpr int64_t kMostTileElements = int64_t(1) << 20;
} // namespace logitile
