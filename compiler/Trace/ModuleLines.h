// ModuleLines.h - the lines of a stage of MLIR.
#pragma once
#include "compiler/Trace/StageTrace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace logitile {
/// Prints 'module' as the text of the stage 'name'. The origins of a line are the locations of the
/// operations that are printed on it. Afterwards each operation is located at its own line of this
/// text: what later passes make of it inherits that location, and so the next stage knows which
/// lines it was made from. Names of values in locations are kept.
TracedStage traceModule(mlir::ModuleOp module, llvm::StringRef name);

/// Keeps the text of a module after each pass that changed it.
class PassRecorder : public mlir::PassInstrumentation {
public:
  PassRecorder(mlir::ModuleOp module, std::vector<TracedPass> &passes);
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  std::vector<TracedPass> &passes;
  std::string last;
};
} // namespace logitile
