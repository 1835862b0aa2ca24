// Dialect.cpp - registers what tablegen made of the .td files. Spelling and checks have a file for each concern.
#include "dialect/Directives.h"
using namespace mlir;
using namespace logitile;

#include "dialect/LogitileDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/LogitileOps.cpp.inc"

void LogitileDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialect/LogitileOps.cpp.inc"
      >();
}
