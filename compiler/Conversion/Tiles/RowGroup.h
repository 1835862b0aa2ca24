// RowGroup.h - rows of a tile that are processed together, as the scalar regions of ops see them.
// Shared drivers emit code with this interface; each target decides how rows are represented.
#pragma once
#include "compiler/Conversion/ScalarRegions.h"

namespace logitile {
/// One column of a group of rows.
struct Column {
  Int place;               // on CPUs the line of the tile, on GPUs the thread's column slot
  mlir::Value inside = {}; // whether there is such a vocabulary entry; null: there is
};

/// On CPUs, a group has one token in each lane of a vector, and the code is a loop over the
/// columns. On GPUs, a group is one row of a thread, with code for each of the thread's columns.
class RowGroup {
public:
  virtual ~RowGroup() = default;

  /// Lanes of the values that regions compute with; 0: scalars.
  virtual int64_t lanes() const = 0;
  /// Maps those of 'arguments' whose inputs have one value for each row.
  virtual void mapUniform(Widener &values, mlir::ValueRange arguments) const = 0;
  /// Maps the others at 'column', and the number of its vocabulary entry in 'region'.
  virtual void mapColumn(Widener &values, mlir::Region &region, mlir::ValueRange arguments, const Column &column) const = 0;
  /// Calls 'body' for each column in order. 'body' gets the values that it returned for the
  /// previous column, or 'start' for the first one. The result is what it returned for the last
  /// column.
  using Body = llvm::function_ref<CodeBuilder::Values(const Column &, mlir::ValueRange)>;
  virtual CodeBuilder::Values forColumns(mlir::ValueRange start, Body body) const = 0;
};
} // namespace logitile
