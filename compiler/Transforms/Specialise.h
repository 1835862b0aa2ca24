// Specialise.h - the parts of the specialise pass: binding parameters, cloning a skeleton, filling
// its holes.
#pragma once
#include "compiler/Schedule/LaunchShape.h"
#include "compiler/Schedule/Templates.h"

namespace logitile {
/// Values for the parameters of a template, from a launch and its schedule.
struct Bindings {
  /// Fails with a diagnostic at the launch where a parameter is missing, unknown or of the wrong
  /// kind.
  static mlir::FailureOr<Bindings> get(TemplateOp source, const LaunchShape &shape);
  /// The type or attribute with all symbols replaced.
  mlir::Type bind(mlir::Type type) { return replacer->replace(type); }
  mlir::Attribute bind(mlir::Attribute attr) { return replacer->replace(attr); }

private:
  llvm::StringMap<mlir::Attribute> values;
  std::shared_ptr<mlir::AttrTypeReplacer> replacer; // its callbacks look into 'values'
};

/// The kernel of one launch: the skeleton cloned, each bundle replaced by what it stands for.
mlir::FailureOr<KernelOp> instantiate(TemplateOp source, const LaunchShape &shape, Bindings &bindings, mlir::OpBuilder &builder);

/// Fills a hole: the ops that 'hole' becomes on 'inputs', grouped as the template gave them.
llvm::SmallVector<mlir::Value> fillHole(mlir::OpBuilder &builder, mlir::Location loc, const LaunchShape &shape, llvm::StringRef hole,
                                        llvm::ArrayRef<llvm::SmallVector<mlir::Value>> inputs, mlir::Value column, mlir::Attribute limit,
                                        mlir::TypeRange types);
/// Puts the rank region of the sweep, or the region of the finish, into an op on lists.
void fillLists(const LaunchShape &shape, UpdateListsOp op);
void fillList(const LaunchShape &shape, FinishListOp op);
/// Puts the region of the launch's finish, which goes through places, into 'op'.
void fillPlaces(const LaunchShape &shape, FinishPlacesOp op);
/// The row state before the first entry; no op where the launch has no sweep.
llvm::SmallVector<mlir::Value> fillInitState(mlir::OpBuilder &builder, mlir::Location loc, const LaunchShape &shape, mlir::TypeRange types);
} // namespace logitile
