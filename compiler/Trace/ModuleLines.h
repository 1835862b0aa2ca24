// ModuleLines.h - the lines of a stage of MLIR.
#pragma once
#include "compiler/Trace/StageTrace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace logitile {
/// Prints 'module' as the stage 'name'. The origins of a line are the places of the operations on it. Afterwards that line is the
/// place of these operations, so that what is made of them says so; names of values stay.
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
