// Dialect.cpp - registers what tablegen made of the .td files. Spelling and checks have a file for each concern.
#include "dialect/Directives.h"
#include "mlir/Interfaces/FoldInterfaces.h"
using namespace mlir;
using namespace logitile;

#include "dialect/LogitileDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/LogitileOps.cpp.inc"

namespace {
/// Scalar regions stay self-contained: constants are not hoisted out of them.
struct KeepConstantsInside : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const override {
    return isa<SweepOp, FinishOp, GradientOp, InitRowsOp, UpdateRowsOp, MapOp>(region->getParentOp());
  }
};
} // namespace

void LogitileDialect::initialize() {
  addInterfaces<KeepConstantsInside>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialect/LogitileOps.cpp.inc"
      >();
}
