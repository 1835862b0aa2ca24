// EqualMaxima.cpp - follows equal maxima, their difference 0 and its exponential 1 through a merge.
#include "compiler/Conversion/EqualMaxima.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

namespace {
/// What is known of a value of the region: that it is a maximum, which 'of' stands for in both
/// states, or a number.
struct Known {
  Value of;
  std::optional<double> number;
  bool isNumber(double value) const { return number == value; }
};

class Knowledge {
public:
  explicit Knowledge(UpdateStateOp op) {
    Block &merge = op.getMerge().front();
    unsigned slots = op.getState().size(), maxima = op.getCandidate().front().getTerminator()->getNumOperands();
    for (unsigned slot = 0; slot < maxima; ++slot)
      for (BlockArgument argument : {merge.getArgument(slot), merge.getArgument(slots + slot)})
        known[argument] = {merge.getArgument(slot), std::nullopt};
  }

  /// Notes what is known of the result of 'op'. Returns the operand that it is equal to, if there
  /// is one.
  Value note(Operation &op) {
    Value equal;
    if (std::optional<Known> found = find(op, equal))
      known[op.getResult(0)] = *found;
    return equal;
  }
  std::optional<double> numberOf(Value value) const { return known.lookup(value).number; }

private:
  std::optional<Known> find(Operation &op, Value &equal) {
    auto of = [&](unsigned operand) { return known.lookup(op.getOperand(operand)); };
    auto areSame = [&](unsigned a, unsigned b) { return of(a).of && of(a).of == of(b).of; };
    auto isNumber = [&](double number, unsigned place) { return of(place).isNumber(number); };
    Known zero{{}, 0.0}, one{{}, 1.0};
    if (isa<arith::SelectOp>(op) && areSame(1, 2))
      return equal = op.getOperand(1), of(1);
    if (isa<arith::SubFOp>(op) && areSame(0, 1))
      return zero;
    if (isa<math::ExpOp, math::Exp2Op>(op) && of(0).isNumber(0))
      return one;
    if (isa<arith::MulFOp>(op) && ((isNumber(0, 0) && isConstant(op.getOperand(1))) || (isNumber(0, 1) && isConstant(op.getOperand(0)))))
      return zero;
    if (isa<MultiplyNoNanOp>(op) && (isNumber(0, 0) || isNumber(0, 1)))
      return zero;
    if (isa<arith::MulFOp, MultiplyNoNanOp>(op))
      for (unsigned place : {0, 1})
        if (isNumber(1, place))
          return equal = op.getOperand(1 - place), of(1 - place);
    return std::nullopt;
  }
  static bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

  llvm::DenseMap<Value, Known> known;
};
} // namespace

void logitile::mapEqualMaxima(CodeBuilder &builder, Widener &values, UpdateStateOp op) {
  Knowledge knowledge(op);
  for (Operation &made : op.getMerge().front().without_terminator()) {
    Value equal = knowledge.note(made), result = made.getResult(0);
    if (equal)
      values.map(result, values.get(equal));
    else if (std::optional<double> number = knowledge.numberOf(result))
      values.map(result, builder.number(result.getType(), *number));
  }
}
