// Facts.cpp - looks up facts in the table of scalar operations.
#include "compiler/Expression/Facts.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

unsigned logitile::factsOf(NodeOp op) {
  switch (op) {
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows)                                                                                                \
  case NodeOp::Node: return Facts;
#include "compiler/Expression/ScalarOps.def"
  default: return Fact::None;
  }
}

unsigned logitile::factsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, unsigned>(op)
#define LOGITILE_FUNCTION(Node, Op, Facts, Flows) .Case<Op>([](auto) -> unsigned { return Facts; })
#include "compiler/Expression/ScalarOps.def"
      .Default([](auto) -> unsigned { return Fact::None; });
}
