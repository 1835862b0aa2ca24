// KernelControl.cpp - scalars of a launch, tasks and index arithmetic.
#include "compiler/Conversion/KernelControl.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

void KernelControl::bindScalar(BlockArgument argument, Int word) {
  if (argument.getType().isIndex())
    return setScalar(argument, word);
  setScalar(argument, arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, word, builder.integer(0)));
}

LogicalResult KernelControl::bindArguments(function_ref<Value()> nextPointer, function_ref<Int()> nextWord,
                                           function_ref<Int(ScalarRole)> nextScalar) {
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    builder.setLoc(argument.getLoc()); // values are printed under its name
    auto type = dyn_cast<ViewType>(argument.getType());
    if (!type) {
      bindScalar(argument, nextScalar(*kernel.scalarOf(argument)));
      continue;
    }
    if (!CodeBuilder::isSupported(type.getElement()))
      return kernel.emitOpError() << "argument " << argument.getArgNumber() << " is " << type
                                  << "; kernels take elements of f32, bf16, f16, i64, i32 or i1";
    Value pointer = nextPointer();
    Int stride0 = nextWord(), stride1 = nextWord();
    bool isVector = type.getDims().size() == 1; // one dimension: always neighbours
    if (isVector || type.getLayout() == Layout::ColumnMajor)
      stride0 = builder.integer(1);
    StringAttr buffer = kernel.bufferOf(argument);
    auto alias = kernel.getAliases() ? kernel.getAliases()->getAs<FlatSymbolRefAttr>(buffer) : FlatSymbolRefAttr();
    Place base{pointer, type.getElement()};
    views.insert({argument, View{base, stride0, isVector ? builder.integer(0) : stride1, type, alias ? alias.getAttr() : buffer}});
  }
  return success();
}

FailureOr<Int> KernelControl::tokens(Operation *op) {
  if (BlockArgument argument = kernel.findScalar(ScalarRole::Tokens))
    return scalar(argument);
  return op->emitOpError() << "has a tile that ends with the tokens of the launch, but the kernel has no argument from tokens";
}

Int KernelControl::bound(OpFoldResult bound) const {
  if (std::optional<int64_t> constant = getConstantIntValue(bound))
    return builder.integer(*constant);
  return scalar(cast<Value>(bound));
}

Value KernelControl::bindTask(scf::ForallOp forall, ArrayRef<int64_t> axes, Int task, int64_t together) {
  Value isThere;
  SmallVector<Value> variables = llvm::to_vector(llvm::map_range(forall.getInductionVars(), [](Value v) { return v; }));
  for (int64_t axis : axes) {
    Int lower = bound(forall.getMixedLowerBound()[axis]), upper = bound(forall.getMixedUpperBound()[axis]);
    Int step = bound(forall.getMixedStep()[axis]) * (axis == 0 ? together : 1), index = task;
    bool isConstant = getConstantIntValue(forall.getMixedUpperBound()[axis]).has_value();
    if (axis != axes.back()) {
      Int count = divideUp(upper - lower, step);
      if (!isConstant) // there may be no task at all
        count = choose(isLess(count, 1), builder.integer(1), count);
      index = task % count;
      task = task / count;
    }
    Int variable = lower + index * step;
    setScalar(variables[axis], variable);
    if (isConstant)
      continue;
    Value isInside = isLess(variable, upper);
    isThere = isThere ? Value(arith::AndIOp::create(builder, isThere, isInside)) : isInside;
  }
  return isThere;
}

LogicalResult KernelControl::convertIndexOp(Operation &op) {
  auto two = [&](auto fold) {
    setScalar(op.getResult(0), fold(scalar(op.getOperand(0)), scalar(op.getOperand(1))));
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<arith::ConstantOp>([&](arith::ConstantOp constant) {
        auto value = dyn_cast<IntegerAttr>(constant.getValue());
        if (!value)
          return LogicalResult(constant.emitOpError() << "is no index; other numbers belong into the regions of map and row operations");
        setScalar(constant, constant.getType().isInteger(1) ? builder.truth(!value.getValue().isZero()) : Value(builder.integer(value.getInt())));
        return success();
      })
      .Case<arith::AddIOp>([&](auto) { return two([](Int a, Int b) { return a + b; }); })
      .Case<arith::SubIOp>([&](auto) { return two([](Int a, Int b) { return a - b; }); })
      .Case<arith::MulIOp>([&](auto) { return two([](Int a, Int b) { return a * b; }); })
      .Case<arith::DivUIOp>([&](auto) { return two([](Int a, Int b) { return a / b; }); })
      .Case<arith::RemUIOp>([&](auto) { return two([](Int a, Int b) { return a % b; }); })
      .Case<arith::CeilDivUIOp>([&](auto) { return two([](Int a, Int b) { return divideUp(a, b); }); })
      .Case<arith::MinUIOp>([&](auto) { return two([](Int a, Int b) { return smaller(a, b); }); })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        setScalar(select, choose(condition(select.getCondition()), scalar(select.getTrueValue()), scalar(select.getFalseValue())));
        return success();
      })
      .Case<AnyTokenOp>([&](AnyTokenOp any) {
        int64_t most = cast<IntegerAttr>(any.getTokens()).getInt();
        Int first = scalar(any.getRow()), count = smaller(scalar(any.getCount()) - first, most);
        Value isSet = isAnySet(view(any.getFlags()), first, count, most);
        if (!isSet)
          return LogicalResult(any.emitOpError() << "is not an operation of kernels that this target supports");
        setScalar(any, isSet);
        return success();
      })
      .Default([&](Operation *other) { return other->emitOpError() << "is not an operation of kernels that this target supports"; });
}

LogicalResult KernelControl::convertBlock(Block &block) {
  for (Operation &op : block)
    if (failed(convertOp(op)))
      return failure();
  return success();
}
