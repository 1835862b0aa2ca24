// MapColumns.h - runs a region at each column of a group of rows, such as the region of a map. Each
// target decides where results are stored.
#pragma once
#include "compiler/Conversion/Tiles/RowGroup.h"

namespace logitile {
/// Emits the ops of 'region' whose values are the same in all columns of 'rows'.
Widener mapUniform(CodeBuilder &builder, const RowGroup &rows, mlir::Region &region);
/// Calls 'keep' with the results at each column. 'uniform' is the result of mapUniform.
void mapColumns(const RowGroup &rows, mlir::Region &region, const Widener &uniform,
                llvm::function_ref<void(const Column &, mlir::ValueRange)> keep);
} // namespace logitile
