// IndexFacts.h - facts about integers that are known at compile time: divisors, bits, and the tile
// sizes of an axis.
#pragma once
#include "dialect/Logitile.h"
#include "llvm/Support/KnownBits.h"

namespace logitile {
/// A number that divides 'value' in every task. 0 if the value is always 0.
int64_t knownDivisor(mlir::Value value);
/// The bits of a scalar that are the same in every task. Chains of ops are followed for 'depth'
/// ops: each op may have two operands, so the time is up to 2^depth.
llvm::KnownBits knownBits(mlir::Value value, unsigned depth = 6);

/// The possible sizes of tiles on an axis of 'extent' entries, if tiles of 'tile' entries begin at
/// 'start': 'tile', and the size of a last tile that is shorter. Fails with an error at 'op' if a
/// tile may overlap those of the next iteration of the enclosing loop.
mlir::FailureOr<llvm::SmallVector<int64_t, 2>> tileSizes(mlir::Operation *op, llvm::StringRef axis, mlir::Value start, int64_t tile,
                                                         int64_t extent);
} // namespace logitile
