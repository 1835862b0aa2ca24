// Diagnostics.h - collects the diagnostics of a compilation, as text with locations.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <string>

namespace logitile {
/// While alive, errors and their notes of 'context' are appended to a text instead of being
/// printed.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);
  const std::string &text() const { return report; }

private:
  mlir::LogicalResult collect(mlir::Diagnostic &diagnostic);
  std::string report; // the handler appends to it, so it is born first and dies last
  mlir::ScopedDiagnosticHandler handler;
};
} // namespace logitile
