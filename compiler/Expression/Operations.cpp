// Operations.cpp - the table of scalar operations as data.
#include "compiler/Expression/Operations.h"
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
using namespace mlir;
using namespace logitile;

std::vector<ScalarOperation> logitile::scalarOperations() {
  return {
#define LOGITILE_SCALAR_OP(Op, Operands, Result, Flows) {std::string_view(Op::getOperationName()), Operands, Result, Flows},
#include "compiler/Expression/ScalarOps.def"
  };
}
