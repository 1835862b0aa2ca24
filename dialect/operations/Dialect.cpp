// Dialect.cpp - registers what tablegen made of the .td files. Spelling and checks have a file for
// each concern.
#include "dialect/operations/Directives.h"
#include "mlir/IR/BuiltinOps.h"
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
    return isa<SweepOp, FinishOp, GradientOp, InitStateOp, UpdateStateOp, UpdateListsOp, FinishListOp, FinishPlacesOp, MapOp>(
        region->getParentOp());
  }
};
} // namespace

LogicalResult LogitileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kRequestAttrName)
    return success();
  if (!isa<ModuleOp>(op))
    return op->emitOpError() << "has attribute '" << kRequestAttrName << "', which belongs to modules";
  if (!isa<RequestAttr>(attribute.getValue()))
    return op->emitOpError() << "has attribute '" << kRequestAttrName << "' of " << attribute.getValue()
                             << ", expected a #logitile.request";
  return success();
}

void LogitileDialect::initialize() {
  addInterfaces<KeepConstantsInside>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialect/LogitileOps.cpp.inc"
      >();
}
