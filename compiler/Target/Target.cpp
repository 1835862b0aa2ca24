// Target.cpp - default answers of targets and backends.
#include "compiler/Target/Target.h"
#include "compiler/Target/Backend.h"
#include "compiler/Target/Products.h"
#include "mlir/IR/Value.h"
using namespace mlir;
using namespace logitile;

Value Target::scaleByPowerOf2(ImplicitLocOpBuilder &, Value, Value) const { return Value(); }
Value Target::approximateExp2(ImplicitLocOpBuilder &, Value) const { return Value(); }
Algorithm Target::productAlgorithm(const Product &) const { return Algorithm::Loops; }
ColumnLimit Target::limitLogitColumns(const LogitTiles &) const { return {}; }
double Target::rateShareOfLogits(const LogitTiles &) const { return 1; }
int64_t Target::gradientColumns(Type, int64_t, int64_t most) const { return most; }
int64_t Target::productDepth(Algorithm, int64_t steps) const { return steps; }
int64_t Target::blocksTogether(Algorithm) const { return 1; }

LogicalResult Backend::checkParsed(Operation *) const { return success(); }
