// MapColumns.h - runs a region at each column of a group of rows, such as the region of a map. Each
// target decides where results are stored.
#pragma once
#include "compiler/Conversion/Tiles/RowGroup.h"

namespace logitile {
/// What 'region' computes once for all columns of 'rows'.
Widener mapUniform(CodeBuilder &builder, const RowGroup &rows, mlir::Region &region);
/// Calls 'keep' with the results at each column. 'uniform' is what mapUniform gave.
void mapColumns(const RowGroup &rows, mlir::Region &region, const Widener &uniform,
                llvm::function_ref<void(const Column &, mlir::ValueRange)> keep);
} // namespace logitile
