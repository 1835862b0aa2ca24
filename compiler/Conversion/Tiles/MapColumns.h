// MapColumns.h - a map on a group of rows. Where results go is the business of each target.
#pragma once
#include "compiler/Conversion/Tiles/RowGroup.h"
#include "dialect/Logitile.h"

namespace logitile {
/// What the region of a map computes once for all columns of 'rows'.
Widener mapUniform(CodeBuilder &builder, const RowGroup &rows, MapOp op);
/// Calls 'keep' with the results at each column. 'uniform' is what mapUniform gave.
void mapColumns(const RowGroup &rows, MapOp op, const Widener &uniform, llvm::function_ref<void(const Column &, mlir::ValueRange)> keep);
} // namespace logitile
