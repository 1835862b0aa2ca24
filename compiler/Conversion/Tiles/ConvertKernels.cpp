// ConvertKernels.cpp - the loop over kernels.
#include "compiler/Conversion/Tiles/ConvertKernels.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
using namespace mlir;
using namespace logitile;

LogicalResult logitile::convertKernels(ModuleOp module, function_ref<LogicalResult(KernelOp)> convert) {
  for (KernelOp kernel : llvm::to_vector(module.getOps<KernelOp>())) {
    kernel->remove(); // the function takes its name
    LogicalResult converted = kernel.getCode() ? success() : convert(kernel);
    kernel->destroy();
    if (failed(converted))
      return failure();
  }
  return success();
}

void logitile::eraseDeadOps(Region &body) {
  IRRewriter rewriter(body.getContext());
  static_cast<void>(runRegionDCE(rewriter, body)); // it fails where there is nothing to erase
}
