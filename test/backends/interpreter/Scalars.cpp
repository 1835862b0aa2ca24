// Scalars.cpp - operations of scalar regions by their names. f32 operations compute in f64 and
// round: that is exact for sums, products, quotients and roots of f32 numbers.
#include "test/backends/interpreter/Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
using namespace mlir;

namespace logitile::interpreter {
using Apply = Number (*)(Operation *op, const Numbers &in);

static bool compare(arith::CmpFPredicate predicate, Number left, Number right) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
    return left > right;
  case arith::CmpFPredicate::OGE:
    return left >= right;
  case arith::CmpFPredicate::OLT:
    return left < right;
  case arith::CmpFPredicate::OEQ:
    return left == right;
  case arith::CmpFPredicate::UNE:
    return left != right;
  default:
    llvm_unreachable("isScalarOp refuses it");
  }
}
static bool compare(arith::CmpIPredicate predicate, Number left, Number right) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return left == right;
  case arith::CmpIPredicate::ne:
    return left != right;
  case arith::CmpIPredicate::sge:
    return left >= right;
  case arith::CmpIPredicate::slt:
    return left < right;
  default:
    llvm_unreachable("isScalarOp refuses it");
  }
}

static const llvm::StringMap<Apply> &table() {
  static const llvm::StringMap<Apply> operations = {
      {"arith.addf", [](Operation *, const Numbers &in) { return in[0] + in[1]; }},
      {"arith.subf", [](Operation *, const Numbers &in) { return in[0] - in[1]; }},
      {"arith.mulf", [](Operation *, const Numbers &in) { return in[0] * in[1]; }},
      {"arith.divf", [](Operation *, const Numbers &in) { return in[0] / in[1]; }},
      {"arith.negf", [](Operation *, const Numbers &in) { return -in[0]; }},
      {"arith.andi", [](Operation *, const Numbers &in) { return Number(in[0] != 0 && in[1] != 0); }}, // of conditions
      {"arith.select", [](Operation *, const Numbers &in) { return in[0] != 0 ? in[1] : in[2]; }},
      {"arith.cmpf",
       [](Operation *op, const Numbers &in) { return Number(compare(cast<arith::CmpFOp>(op).getPredicate(), in[0], in[1])); }},
      {"arith.cmpi",
       [](Operation *op, const Numbers &in) { return Number(compare(cast<arith::CmpIOp>(op).getPredicate(), in[0], in[1])); }},
      {"math.exp", [](Operation *, const Numbers &in) { return std::exp(in[0]); }},
      {"math.log", [](Operation *, const Numbers &in) { return std::log(in[0]); }},
      {"math.fma", [](Operation *, const Numbers &in) { return Number(std::fma(float(in[0]), float(in[1]), float(in[2]))); }},
      {"math.isfinite", [](Operation *, const Numbers &in) { return Number(std::isfinite(in[0])); }},
      {"logitile.multiply_no_nan", [](Operation *, const Numbers &in) { return in[0] == 0 ? 0 : in[0] * in[1]; }},
  };
  return operations;
}

static bool knowsPredicate(Operation *op) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  if (auto compared = dyn_cast<arith::CmpFOp>(op))
    return llvm::is_contained({F::OGT, F::OGE, F::OLT, F::OEQ, F::UNE}, compared.getPredicate());
  if (auto compared = dyn_cast<arith::CmpIOp>(op))
    return llvm::is_contained({I::eq, I::ne, I::sge, I::slt}, compared.getPredicate());
  if (isa<arith::AndIOp>(op))
    return op->getResult(0).getType().isInteger(1);
  return true;
}

bool isScalarOp(Operation *op) {
  if (isa<arith::ConstantOp, ColumnOp, YieldOp>(op))
    return true;
  return table().contains(op->getName().getStringRef()) && knowsPredicate(op);
}

static Number constantOf(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return number.getValueAsDouble();
  return static_cast<Number>(cast<IntegerAttr>(op.getValue()).getInt());
}

Numbers evaluate(Region &region, ArrayRef<Number> arguments, int64_t column) {
  llvm::DenseMap<Value, Number> values;
  for (auto [argument, value] : llvm::zip_equal(region.getArguments(), arguments))
    values[argument] = value;
  auto read = [&](OperandRange operands) {
    return Numbers(llvm::map_range(operands, [&](Value operand) { return values.at(operand); }));
  };
  for (Operation &op : region.front().without_terminator()) {
    Number &result = values[op.getResult(0)];
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      result = constantOf(constant);
    else if (isa<ColumnOp>(op))
      result = static_cast<Number>(column);
    else
      result = table().lookup(op.getName().getStringRef())(&op, read(op.getOperands()));
    if (op.getResult(0).getType().isF32())
      result = static_cast<float>(result);
  }
  return read(region.front().getTerminator()->getOperands());
}
} // namespace logitile::interpreter
