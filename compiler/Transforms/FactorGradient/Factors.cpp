// Factors.cpp - which part of a gradient is early, which values multiply it, and the one
// exponential that needs a later value.
#include "compiler/Transforms/FactorGradient/Factors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
using namespace mlir;
using namespace logitile;

/// A result of a finish that follows a sweep, or what arrives with the backward phase.
static bool isLateRead(Operation &op) {
  if (auto input = dyn_cast<InputOp>(op))
    return input.getKind() == InputKind::Cotangent;
  auto known = dyn_cast<KnownOp>(op);
  return known && findFinish(known->getParentOfType<ProgramOp>(), known.getSource()).getPhase() != Phase::Prologue;
}
static bool isVaryingRead(Operation &op) {
  auto input = dyn_cast<InputOp>(op);
  return isa<ColumnOp>(op) || (input && input.isVaryingInput());
}

void Factors::classify(Block &gradient) {
  for (Operation &op : gradient) {
    auto note = [&](llvm::DenseSet<Value> &set, bool belongs) {
      bool isOfSet = llvm::any_of(op.getOperands(), [&](Value operand) { return set.contains(operand); });
      if (belongs || (isOfSet && !isa<GatherOp>(op)))
        set.insert_range(op.getResults());
    };
    note(varying, isVaryingRead(op));
    note(late, isLateRead(op));
  }
}

FailureOr<Value> Factors::split(Value dense, SliceCloner &to, function_ref<Value()> makeReference) {
  cloner = &to;
  reference = makeReference;
  FailureOr<Value> part = early(dense);
  return succeeded(part) && !*part ? FailureOr<Value>() : part; // the same for all entries: no sweep is needed for it
}

FailureOr<Value> Factors::early(Value value) {
  if (isUniform(value))
    return uniform.push_back({value}), Value();
  if (isEarly(value))
    return cloner->clone(value);
  Operation *op = value.getDefiningOp();
  if (isa<arith::MulFOp, MultiplyNoNanOp>(op))
    return product(op);
  if (isa<arith::NegFOp>(op)) {
    isNegative = !isNegative;
    return early(op->getOperand(0));
  }
  if (isa<arith::DivFOp>(op) && isUniform(op->getOperand(1))) {
    uniform.push_back({op->getOperand(1), UniformFactor::Kind::Divisor});
    return early(op->getOperand(0));
  }
  if (isa<arith::SelectOp>(op))
    return selection(op);
  if (isa<math::ExpOp>(op))
    return exponential(op);
  return failure();
}

FailureOr<Value> Factors::product(Operation *op) {
  if (isa<MultiplyNoNanOp>(op) && isUniform(op->getOperand(0))) {
    uniform.push_back({op->getOperand(0), UniformFactor::Kind::Weight});
    return early(op->getOperand(1));
  }
  FailureOr<Value> left = early(op->getOperand(0)), right = early(op->getOperand(1));
  if (failed(left) || failed(right))
    return failure();
  if (!*left || !*right)
    return *left ? *left : *right;
  IRMapping operands;
  operands.map(op->getOperand(0), *left);
  operands.map(op->getOperand(1), *right);
  return cloner->builder.clone(*op, operands)->getResult(0);
}

/// Of something and zero: the factors of the one are those of both. They may be no numbers for
/// tokens for which the other is chosen, so a condition of the token chooses among factors as well.
FailureOr<Value> Factors::selection(Operation *op) {
  auto select = cast<arith::SelectOp>(op);
  bool isFirst = matchPattern(select.getFalseValue(), m_AnyZeroFloat()), isSecond = matchPattern(select.getTrueValue(), m_AnyZeroFloat());
  if (isFirst == isSecond || !isEarly(select.getCondition()))
    return failure();
  if (isUniform(select.getCondition()))
    uniform.push_back({select.getCondition(), isFirst ? UniformFactor::Kind::Kept : UniformFactor::Kind::Dropped});
  FailureOr<Value> part = early(isFirst ? select.getTrueValue() : select.getFalseValue());
  if (failed(part))
    return failure();
  OpBuilder &b = cloner->builder;
  if (!*part)
    part = arith::ConstantOp::create(b, op->getLoc(), b.getF32FloatAttr(1)).getResult();
  IRMapping operands;
  operands.map(select.getCondition(), cloner->clone(select.getCondition()));
  operands.map(isFirst ? select.getTrueValue() : select.getFalseValue(), *part);
  Value zero = isFirst ? select.getFalseValue() : select.getTrueValue();
  operands.map(zero, cloner->clone(zero));
  return b.clone(*op, operands)->getResult(0);
}

FailureOr<Value> Factors::exponential(Operation *op) {
  std::optional<Exponent> found = exponentOf(op->getOperand(0));
  if (exponent || !found || found->scale <= 0) // a running maximum bounds it from above
    return failure();
  exponent = found;
  OpBuilder &b = cloner->builder;
  Location loc = op->getLoc();
  Value distance = arith::SubFOp::create(b, loc, cloner->clone(candidate), reference());
  if (found->scale != 1)
    distance = arith::MulFOp::create(b, loc, distance, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(found->scale)));
  return math::ExpOp::create(b, loc, distance).getResult();
}

static Exponent times(Exponent exponent, float factor) {
  exponent.scale *= factor;
  for (Exponent::Addend &addend : exponent.addends)
    addend.times *= factor;
  return exponent;
}
static Exponent sumOf(Exponent left, const Exponent &right) {
  left.scale += right.scale;
  llvm::append_range(left.addends, right.addends);
  return left;
}

std::optional<Exponent> Factors::exponentOf(Value value) const {
  if (value == candidate)
    return Exponent{1, {}};
  if (isUniform(value))
    return Exponent{0, {{value, 1}}};
  Operation *op = value.getDefiningOp();
  auto part = [&](unsigned operand) { return exponentOf(op->getOperand(operand)); };
  if (isa<arith::NegFOp>(op))
    if (std::optional<Exponent> negated = part(0))
      return times(*negated, -1);
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    if (std::optional<Exponent> left = part(0), right = part(1); left && right)
      return sumOf(*left, times(*right, isa<arith::AddFOp>(op) ? 1 : -1));
  if (isa<arith::MulFOp>(op))
    for (unsigned operand : {0, 1}) {
      FloatAttr constant;
      std::optional<Exponent> other = part(1 - operand);
      if (other && matchPattern(op->getOperand(operand), m_Constant(&constant)))
        return times(*other, constant.getValue().convertToFloat());
    }
  return std::nullopt;
}
