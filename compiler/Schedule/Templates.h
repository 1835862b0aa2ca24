// Templates.h - the embedded kernel skeletons. What a program makes of them is LaunchShape and
// Specialise.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace logitile {
/// Parameters that tell templates of one purpose apart: work in PARTS, and sweeps whose lists are
/// those of a GROUP of vocabulary splits.
constexpr llvm::StringLiteral kVariants[] = {"PARTS", "GROUP"};

/// The skeletons of one context: parsed on demand, a file holds the template of its own name.
class TemplateLibrary {
public:
  explicit TemplateLibrary(mlir::MLIRContext *context) : context(context) {}
  /// The template, or null where no file of that name exists. Diagnostics name a place in the
  /// skeleton's text.
  TemplateOp find(llvm::StringRef name);
  /// The template for 'purpose' that serves a backend, or null: one that names the backend before
  /// one that serves all. A 'variant' is a parameter of kVariants, which the templates of that
  /// variant have and others have not; empty for the others.
  TemplateOp choose(Purpose purpose, llvm::StringRef backend, llvm::StringRef variant);
  /// Names of all skeletons, sorted.
  static llvm::SmallVector<llvm::StringRef> names();
  /// The SSA name that a skeleton's text has at 'loc' ("state" for `%state = scf.for`), or "".
  /// MLIR's parser keeps none.
  static llvm::StringRef nameAt(mlir::Location loc);

private:
  mlir::MLIRContext *context;
  llvm::StringMap<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};
} // namespace logitile
