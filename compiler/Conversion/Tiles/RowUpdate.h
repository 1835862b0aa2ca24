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
  /// The row state of the columns of 'rows' alone: starts with the empty state. Values that are the
  /// same in all columns are added to 'values'.
  CodeBuilder::Values fold(const RowGroup &rows, Widener &values);
  /// Updates 'slots' of 'state' by the columns of 'rows'. Values of the update that are the same
  /// in all columns are in 'values'. 'makesEntries': keepEntries gets those of each column.
  void updateSlots(const RowGroup &rows, const Widener &values, llvm::ArrayRef<unsigned> slots, CodeBuilder::Values &state,
                   bool makesEntries = false);
  /// Merges the row states of two parts of the vocabulary, of which 'first' has the lower columns.
  CodeBuilder::Values merge(const Widener &uniform, mlir::ValueRange first, mlir::ValueRange second) const;
  /// The same for states that have the maxima of 'first'.
  CodeBuilder::Values mergeAlike(const Widener &uniform, mlir::ValueRange first, mlir::ValueRange second) const;

  // ---- what a target may add --------------------------------------------------------------------
  /// The larger of two values, or 'known' if 'isCounted' is false. A candidate that is NaN is never
  /// larger, and 'known' is not NaN. A null 'isCounted' means true.
  virtual mlir::Value larger(mlir::Value candidate, mlir::Value known, mlir::Value isCounted) const;
  /// Whether the target computes this slot of the state by itself.
  virtual bool isFoundApart(unsigned slot) const { return false; }
  /// keepCandidates may store the candidates of the maxima at 'column'. mapCandidates then maps the
  /// values of the update that equal a stored candidate.
  virtual void keepCandidates(const Column &column, mlir::ValueRange candidates) {}
  virtual void mapCandidates(const Column &column, Widener &values) {}
  /// What the op's entries are at 'column'.
  virtual void keepEntries(const Column &column, mlir::ValueRange entries) {}
  /// Replaces the maxima of this thread's columns by those of all columns that are folded together.
  virtual void joinMaxima(llvm::MutableArrayRef<mlir::Value> maxima) {}

  mlir::Type typeOf(unsigned slot) { return llvm::cast<TileType>(op.getState()[slot].getType()).getElement(); }
  mlir::ValueRange inputArguments(mlir::Region &region, unsigned state) const { return region.getArguments().drop_front(state); }
  mlir::Value yielded(mlir::Region &region, unsigned slot) const { return region.front().getTerminator()->getOperand(slot); }

  UpdateStateOp op;
  unsigned stateSize, maxima;

private:
  void boundMaxima(const RowGroup &rows, Widener &values, CodeBuilder::Values &state);
  void updateState(const RowGroup &rows, Widener &values, CodeBuilder::Values &state);
  Widener mapStates(const Widener &uniform, mlir::ValueRange first, mlir::ValueRange second) const;

  CodeBuilder &builder;
};
} // namespace logitile
