// Diagnostics.cpp - one line for an error, one for each of its notes, places first.
#include "compiler/Support/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"
using namespace mlir;
using namespace logitile;

/// "file.py:12:3", the innermost place that a person wrote; "" where there is none.
static std::string placeOf(Location loc) {
  std::string place;
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    llvm::raw_string_ostream(place) << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn();
    return WalkResult::interrupt();
  });
  return place;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) { return collect(diagnostic); }) {}

LogicalResult DiagnosticCollector::collect(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return failure();
  auto append = [&](Diagnostic &part, StringRef kind) {
    std::string place = placeOf(part.getLocation());
    report += (place.empty() ? "" : place + ": ") + kind.str() + part.str() + "\n";
  };
  append(diagnostic, "");
  for (Diagnostic &note : diagnostic.getNotes())
    append(note, "note: ");
  return success();
}
