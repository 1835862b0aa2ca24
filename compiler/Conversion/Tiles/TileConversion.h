// TileConversion.h - converts the ops of one kernel, one after another. Only this file selects a
// target's function for an op, and it does the checks that are the same on every target.
#pragma once
#include "compiler/Conversion/KernelControl.h"

namespace logitile {
class TileConversion : public KernelControl {
public:
  using KernelControl::KernelControl;

  /// The row of the caller's array for row 'row': the map's entry, or 'row' itself if 'map' is
  /// null.
  Int throughMap(mlir::Value map, Int row);
  /// 'entry', an i32, limited to the last dimension of 'view', so that memory outside of it is
  /// never read.
  Int clampEntry(mlir::Value entry, const View &view);
  /// Fails with an error at 'op' if elements of 'view' cannot be converted to those of 'type'.
  mlir::LogicalResult checkElements(mlir::Operation *op, TileType type, const View &view);

protected:
  // ---- what a target does -----------------------------------------------------------------------
  virtual mlir::LogicalResult convert(mlir::scf::ForallOp op) = 0;
  virtual mlir::LogicalResult convert(mlir::scf::ForOp op) = 0;
  virtual mlir::LogicalResult convert(LoadOp op) = 0;
  virtual mlir::LogicalResult convert(StoreOp op) = 0;
  virtual mlir::LogicalResult convert(LoadGatherOp op) = 0;
  virtual mlir::LogicalResult convert(ProjectOp op) = 0;
  virtual mlir::LogicalResult convert(ContractOp op) = 0;
  virtual mlir::LogicalResult convert(ContractSparseOp op) = 0;
  virtual mlir::LogicalResult convert(SparseTermsOp op) = 0;
  virtual mlir::LogicalResult convert(SumRowsOp op) = 0;
  virtual mlir::LogicalResult convert(SumTokensOp op) = 0;
  virtual mlir::LogicalResult convert(UpdateStateOp op) = 0;
  virtual mlir::LogicalResult convert(MapOp op) = 0;
  virtual mlir::LogicalResult convert(UpdateListsOp op) = 0;
  virtual mlir::LogicalResult convert(FinishListOp op) = 0;
  virtual mlir::LogicalResult convert(PickEntriesOp op) = 0;
  virtual mlir::LogicalResult convert(FinishPlacesOp op) = 0;
  virtual mlir::LogicalResult convert(ScatterTermsOp op) = 0;
  /// The number of lanes for which scalar regions are emitted; 0: scalars.
  virtual int64_t regionLanes() const = 0;
  /// Sets the row state 'row' to 'value' in every row.
  virtual void startRow(mlir::Value row, mlir::Value value) = 0;
  /// One element of memory in its value type.
  virtual mlir::Value loadElement(Place place) = 0;

private:
  mlir::LogicalResult convertOp(mlir::Operation &op) final;
  mlir::LogicalResult check(mlir::Operation &op);
  mlir::LogicalResult checkMap(mlir::Operation *op, mlir::Value view, mlir::Value map);
  mlir::LogicalResult checkSum(SumRowsOp op);
  mlir::LogicalResult convertInitState(InitStateOp op);
};
} // namespace logitile
