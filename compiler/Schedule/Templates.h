// Templates.h - the embedded kernel skeletons. LaunchShape and Specialise fill them for a program.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace logitile {
/// The parameter that templates for launches in parts have.
constexpr llvm::StringLiteral kParts = "PARTS";

/// The skeletons of one context: parsed on demand, a file holds the template of its own name.
class TemplateLibrary {
public:
  explicit TemplateLibrary(mlir::MLIRContext *context) : context(context) {}
  /// The template, or null where no file of that name exists. Diagnostics name a place in the
  /// skeleton's text.
  TemplateOp find(llvm::StringRef name);
  /// The template for 'purpose' that serves a backend, or null: one that names the backend before
  /// one that serves all. 'inParts': one with the parameter kParts, else one without.
  TemplateOp choose(Purpose purpose, llvm::StringRef backend, bool inParts);
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
