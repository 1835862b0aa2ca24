// KernelControl.h - the part of a kernel that is the same on every target: scalars, index
// arithmetic, and the number of the task. Targets convert the tiles.
#pragma once
#include "compiler/Conversion/CodeBuilder.h"
#include "dialect/Logitile.h"

namespace logitile {
/// Memory that a kernel gets as an argument.
struct View {
  Place base;
  Int stride0, stride1; // in elements
  ViewType type;
  mlir::StringAttr memory; // the buffer; views of the same memory may overlap
  Layout layout() const { return type.getLayout(); }
  int64_t extent(unsigned dim) const { return llvm::cast<mlir::IntegerAttr>(type.getDims()[dim]).getInt(); }
  bool isVector() const { return type.getDims().size() == 1; }
  /// A row state in memory: [vocabulary split][token], tokens are neighbours.
  bool isRowState() const { return layout() == Layout::Strided && !isVector() && mlir::ShapedType::isDynamic(extent(1)); }
};

class KernelControl {
public:
  KernelControl(KernelOp kernel, CodeBuilder &builder) : kernel(kernel), builder(builder) {}
  virtual ~KernelControl() = default;

  KernelOp kernel;

  mlir::LogicalResult convertBlock(mlir::Block &block);

  // ---- values -----------------------------------------------------------------------------------
  Int scalar(mlir::Value value) const { return Int(builder, scalars.at(value)); }
  mlir::Value condition(mlir::Value value) const { return scalars.at(value); }
  void setScalar(mlir::Value value, mlir::Value to) { scalars[value] = to; }
  /// Whether any of the flags of 'count' tokens from 'first' on is not 0. 'count' is at least 1 and
  /// at most 'most'. Null if kernels of this target have no code for that.
  virtual mlir::Value isAnySet(const View &flags, Int first, Int count, int64_t most) { return {}; }
  bool isScalar(mlir::Value value) const { return scalars.contains(value); }
  const View &view(mlir::Value value) const { return views.at(value); }
  /// Where (row, column) of a view lies, for views that are not packed.
  Place windowOf(const View &view, Int row, Int column) { return builder.at(view.base, row * view.stride0 + column * view.stride1); }
  /// A bound or step of a loop.
  Int bound(mlir::OpFoldResult bound) const;
  /// Fails with an error at 'op' where the kernel has no argument for the number of tokens.
  mlir::FailureOr<Int> tokens(mlir::Operation *op);

protected:
  /// Reads the arguments in order: a pointer and two strides for a view, a scalar by its role.
  mlir::LogicalResult bindArguments(llvm::function_ref<mlir::Value()> nextPointer, llvm::function_ref<Int()> nextWord,
                                    llvm::function_ref<Int(ScalarRole role)> nextScalar);
  /// Binds the variables of 'forall' for task number 'task'. Task numbers count through 'axes', the
  /// first of which varies fastest. A task has 'together' steps of axis 0. The result (i1) tells
  /// whether there is such a task. It is null if every task number that is launched has a task.
  mlir::Value bindTask(mlir::scf::ForallOp forall, llvm::ArrayRef<int64_t> axes, Int task, int64_t together = 1);
  mlir::LogicalResult convertIndexOp(mlir::Operation &op);
  virtual mlir::LogicalResult convertOp(mlir::Operation &op) = 0;

  CodeBuilder &builder;

private:
  void bindScalar(mlir::BlockArgument argument, Int word);

  llvm::DenseMap<mlir::Value, View> views;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars; // i64 for an index, i1 for a condition
};
} // namespace logitile
