// Templates.h - the embedded kernel skeletons. LaunchShape and Specialise fill them for a program.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace logitile {
/// The name of the parameter of templates that compute a gradient in several parts.
constexpr llvm::StringLiteral kParts = "PARTS";

/// The skeletons, parsed in one context when they are first needed. A file has the template of its
/// own name.
class TemplateLibrary {
public:
  explicit TemplateLibrary(mlir::MLIRContext *context) : context(context) {}
  /// The template, or null where no file of that name exists. Diagnostics name a place in the
  /// skeleton's text.
  TemplateOp find(llvm::StringRef name);
  /// The template for 'purpose' and a backend, or null. A template for this backend only comes
  /// before one for all backends. 'inParts': whether the template must have the parameter kParts.
  TemplateOp choose(Purpose purpose, llvm::StringRef backend, bool inParts);
  /// Names of all skeletons, sorted.
  static llvm::SmallVector<llvm::StringRef> names();
  /// The SSA name that a skeleton's text has at 'loc' ("state" for `%state = scf.for`), or "". It
  /// is read from the text, because MLIR's parser does not keep names.
  static llvm::StringRef nameAt(mlir::Location loc);

private:
  mlir::MLIRContext *context;
  llvm::StringMap<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};
} // namespace logitile
