// Products.h - the questions of a schedule to its target about products of matrices.
#pragma once
#include "dialect/types/Enums.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string_view>

namespace logitile {
enum class ProductKind { Logits, HiddenGradient, WeightGradient };

/// The product that a kernel computes, in the tiles that its schedule has for it.
struct Product {
  ProductKind kind;
  llvm::SmallVector<mlir::Type, 2> operands; // their types: kernels of logits have a product, and a tile, for each projection
  int64_t rows = 0, columns = 0;             // of a tile of the result
  int64_t depth = 0;                         // of a block of the shared axis
  int64_t entries = 0;                       // of the vocabulary
  bool hasFewTokens = false;                 // of the call: Problem::hasFewTokens
  int64_t cluster = 1;                       // how many thread blocks should share an operand
};

/// The tiles of logits that kernels of one program hold.
struct LogitTiles {
  llvm::SmallVector<mlir::Type, 2> operands; // of each projection
  int64_t count = 1;                         // of the tiles that a kernel holds at a time, those of Dense inputs among them
  int64_t columns = 0;                       // of each of them
  bool drawsRandomNumbers = false;
};
/// The most columns that each of these tiles may have, and the reason: what needs the registers.
struct ColumnLimit {
  int64_t most = INT64_MAX;
  std::string_view reason;
};
} // namespace logitile
