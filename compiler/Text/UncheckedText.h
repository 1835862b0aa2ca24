// UncheckedText.h - checks before and after MLIR parses a text, because its parser, its verifiers
// and LLVM rely on them.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace logitile {
/// Searches a text for numbers or nesting that MLIR's parser would follow without a limit. "" if
/// there are none, else "place:line:column: reason".
std::string findUnparsable(llvm::StringRef text, llvm::StringRef place);
/// Checks ops and types after parsing and before verification: some of them would crash verifiers
/// and conversions. Fails with an error at the op.
mlir::LogicalResult checkParsed(mlir::ModuleOp module);
} // namespace logitile
