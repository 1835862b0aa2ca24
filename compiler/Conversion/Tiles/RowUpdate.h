// RowUpdate.h - an update_state on a group of rows: the code of its regions for the columns. Each
// target decides where the state is stored, and which threads have the columns of a row.
#pragma once
#include "compiler/Conversion/Tiles/RowGroup.h"
#include "dialect/Logitile.h"

namespace logitile {
class RowUpdate {
public:
  RowUpdate(CodeBuilder &builder, UpdateStateOp op)
      : op(op), stateSize(op.getState().size()), maxima(op.getCandidate().front().getTerminator()->getNumOperands()), builder(builder) {}
  virtual ~RowUpdate() = default;

protected:
  /// The state that the columns of 'rows' give, from an empty one on. 'values' gets what is the
  /// same in all columns.
  CodeBuilder::Values fold(const RowGroup &rows, Widener &values);
  /// Updates 'slots' of 'state' by the columns of 'rows'. Values of the update that are the same
  /// in all columns are in 'values'.
  void updateSlots(const RowGroup &rows, const Widener &values, llvm::ArrayRef<unsigned> slots, CodeBuilder::Values &state);
  /// One state from those of two parts of the vocabulary, the first part first.
  CodeBuilder::Values merge(const Widener &uniform, mlir::ValueRange first, mlir::ValueRange second) const;

  // ---- what a target may add --------------------------------------------------------------------
  /// The larger of two values; where 'isCounted' does not hold, 'known'. A candidate that is NaN is
  /// never larger, and 'known' is not NaN. 'isCounted' may be null.
  virtual mlir::Value larger(mlir::Value candidate, mlir::Value known, mlir::Value isCounted) const;
  /// Whether the target computes this slot of the state by itself.
  virtual bool isFoundApart(unsigned slot) const { return false; }
  /// The candidates of the maxima at 'column', and the values of the update that are known from
  /// them.
  virtual void keepCandidates(const Column &column, mlir::ValueRange candidates) {}
  virtual void mapCandidates(const Column &column, Widener &values) {}
  /// Maxima of a part of the columns become those of all columns that are folded together.
  virtual void joinMaxima(llvm::MutableArrayRef<mlir::Value> maxima) {}

  mlir::Type typeOf(unsigned slot) { return llvm::cast<TileType>(op.getState()[slot].getType()).getElement(); }
  mlir::ValueRange inputArguments(mlir::Region &region, unsigned state) const { return region.getArguments().drop_front(state); }
  mlir::Value yielded(mlir::Region &region, unsigned slot) const { return region.front().getTerminator()->getOperand(slot); }

  UpdateStateOp op;
  unsigned stateSize, maxima;

private:
  void boundMaxima(const RowGroup &rows, Widener &values, CodeBuilder::Values &state);
  void updateState(const RowGroup &rows, Widener &values, CodeBuilder::Values &state);

  CodeBuilder &builder;
};
} // namespace logitile
