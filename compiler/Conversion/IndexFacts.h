// IndexFacts.h - facts about index values that are known at compile time: divisors, and the tile
// sizes of an axis.
#pragma once
#include "dialect/Logitile.h"

namespace logitile {
/// A number that divides 'value' whatever the task; 0 where the value is always 0.
int64_t knownDivisor(mlir::Value value);

/// The numbers of entries that tiles of 'tile' entries starting at 'start' have on an axis of
/// 'extent' entries: all of them, and what is left at the end. Fails with an error at 'op' where
/// tiles may overlap the next loop's.
mlir::FailureOr<llvm::SmallVector<int64_t, 2>> tileSizes(mlir::Operation *op, llvm::StringRef axis, mlir::Value start, int64_t tile,
                                                         int64_t extent);
} // namespace logitile
