// UncheckedText.h - checks before and after MLIR parses a text, because its parser, its verifiers
// and LLVM rely on them.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace logitile {
/// Text of MLIR whose numbers or nesting its parser would follow wherever they lead. "" where there
/// is nothing of the kind, else "place:line:column: reason".
std::string findUnparsable(llvm::StringRef text, llvm::StringRef place);
/// Ops and types that were parsed, but not verified yet: verifiers and conversions would not
/// survive some. Fails with an error at the op.
mlir::LogicalResult checkParsed(mlir::ModuleOp module);
} // namespace logitile
