// UncheckedOps.cpp - finds products of tensor cores that would end a process inside of MLIR and
// LLVM.
#include "compiler/Backends/NVPTX/UncheckedOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
using namespace mlir;

/// The verifier makes a list of the operands that a shape asks for, and looks at the type of A
/// alone. LLVM has no instruction for a B of another type.
LogicalResult logitile::cuda::checkParsed(Operation *op) {
  constexpr int64_t kMostOfShape = 256; // tensor cores multiply no larger blocks
  auto product = dyn_cast<NVVM::MmaOp>(op);
  if (!product)
    return success();
  NVVM::MMAShapeAttr shape = product.getShape();
  for (int64_t extent : {int64_t(shape.getM()), int64_t(shape.getN()), int64_t(shape.getK())})
    if (extent <= 0 || extent > kMostOfShape)
      return op->emitOpError() << "has a shape with an extent of " << extent << "; " << kMostOfShape << " is the most";
  auto spell = [](std::optional<NVVM::MMATypes> type) { return type ? NVVM::stringifyEnum(*type) : "unknown"; };
  std::optional<NVVM::MMATypes> a = product.getMultiplicandAPtxType(), b = product.getMultiplicandBPtxType();
  if (!a || a != b)
    return op->emitOpError() << "multiplies " << spell(a) << " by " << spell(b) << "; both have one type, "
                             << "'multiplicandAPtxType' and 'multiplicandBPtxType'";
  return success();
}
