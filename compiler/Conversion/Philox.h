// Philox.h - random numbers in integer arithmetic, with the same bits on every target.
#pragma once
#include "compiler/Conversion/Lanes.h"
#include "dialect/Logitile.h"
#include <array>
#include <map>

namespace logitile {
/// The four words of Philox 4x32-10 for a counter under a key; all are i32 of one shape. Ten rounds
/// pass every test of BigCrush: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
/// 1, 2, 3", SC 2011.
std::array<Lanes, 4> philox(std::array<Lanes, 4> counter, std::array<Lanes, 2> key);

// ---- `logitile.uniform` -------------------------------------------------------------------------
// Two bits of a column's number choose its word. The other bits, the token, and two zeros are the
// counter; the key is (seed, stream). So columns c, c + 8, c + 16 and c + 24 have the words of one
// block. In tiles that begin at multiples of 32, a thread of a GPU can have all four.

/// The distance of columns with neighbouring words; how many columns a block spans; the two bits.
constexpr int64_t kWordStep = 8, kBlockSpan = 4 * kWordStep, kWordBits = 3 * kWordStep;
/// The words of the block that 'column' is in.
std::array<Lanes, 4> wordsOfBlock(Lanes seed, Lanes stream, Lanes token, Lanes column);

/// (word + 0.5) / 2^32 as an f32 of the open interval (0, 1). The largest words would be rounded to
/// 1, so they are cut to the last that is rounded down. Neither the logarithm of the number u nor
/// log1p(-u) is 0 or infinite.
Lanes between0And1(Lanes word);

/// The number of a column, without sharing its block.
Lanes uniform(Lanes seed, Lanes stream, Lanes token, Lanes column);

/// Numbers of scalars. Columns share the rounds of a block if it is known at compile time that they
/// are in it.
class SharedDraws {
public:
  /// The number as code before 'op'. Ops come in the order of the code.
  mlir::Value draw(UniformOp op);

private:
  /// Seed, stream, token and the terms of the column's number; and its constant, without bits that
  /// are known to choose the word.
  using Key = std::pair<llvm::SmallVector<const void *>, int64_t>;
  std::map<Key, std::array<mlir::Value, 4>> blocks; // the words
};
} // namespace logitile
