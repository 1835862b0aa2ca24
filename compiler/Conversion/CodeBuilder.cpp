// CodeBuilder.cpp - integers that fold, constants, places and loops. What only one target has is in
// its own folder.
#include "compiler/Conversion/CodeBuilder.h"
#include "dialect/Logitile.h"
#include "mlir/IR/Matchers.h"
using namespace mlir;
using namespace logitile;

// ---- integers -----------------------------------------------------------------------------------

Int::Int(CodeBuilder &builder, Value value) : builder(&builder), dynamic(value) {
  APInt bits;
  if (matchPattern(value, m_ConstantInt(&bits))) {
    dynamic = {};
    constant = bits.getSExtValue();
  }
}
Int::operator Value() const { return dynamic ? dynamic : builder->constant(builder->getI64IntegerAttr(constant)); }

namespace logitile {
Int operator+(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.builder, a.constant + b.constant);
  if (a.is(0) || b.is(0))
    return a.is(0) ? b : a;
  return Int(*a.builder, arith::AddIOp::create(*a.builder, a, b));
}
Int operator-(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.builder, a.constant - b.constant);
  return b.is(0) ? a : Int(*a.builder, arith::SubIOp::create(*a.builder, a, b));
}
Int operator*(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.builder, a.constant * b.constant);
  if (a.is(0) || b.is(0))
    return Int(*a.builder, 0);
  if (a.is(1) || b.is(1))
    return a.is(1) ? b : a;
  return Int(*a.builder, arith::MulIOp::create(*a.builder, a, b));
}
Int operator/(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.builder, a.constant / b.constant);
  return b.is(1) ? a : Int(*a.builder, arith::DivUIOp::create(*a.builder, a, b));
}
Int operator%(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.builder, a.constant % b.constant);
  return b.is(1) ? Int(*a.builder, 0) : Int(*a.builder, arith::RemUIOp::create(*a.builder, a, b));
}
Int operator^(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.builder, a.constant ^ b.constant);
  if (a.is(0) || b.is(0))
    return a.is(0) ? b : a;
  return Int(*a.builder, arith::XOrIOp::create(*a.builder, a, b));
}
Int choose(Value condition, Int a, Int b) { return Int(*a.builder, arith::SelectOp::create(*a.builder, condition, a, b)); }
Int smaller(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.builder, std::min(a.constant, b.constant));
  return Int(*a.builder, arith::MinUIOp::create(*a.builder, a, b));
}
Value isLess(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return a.builder->truth(a.constant < b.constant);
  return arith::CmpIOp::create(*a.builder, arith::CmpIPredicate::ult, a, b);
}
Value isEqual(Int a, int64_t b) {
  if (a.isKnown())
    return a.builder->truth(a.constant == b);
  return arith::CmpIOp::create(*a.builder, arith::CmpIPredicate::eq, a, Int(*a.builder, b));
}
} // namespace logitile

// ---- values -------------------------------------------------------------------------------------

CodeBuilder::CodeBuilder(ModuleOp module)
    : ImplicitLocOpBuilder(module.getLoc(), module.getContext()), f32(getF32Type()), i1(getI1Type()), i32(getI32Type()),
      i64(getI64Type()), module(module) {}

void CodeBuilder::enter(Block *block) {
  first = block;
  constants.clear();
  setInsertionPointToStart(first);
}

Value CodeBuilder::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(first);
    known = arith::ConstantOp::create(*this, value);
  }
  return known;
}
Type CodeBuilder::widen(Type type, int64_t lanes) { return lanes == 0 ? type : VectorType::get({lanes}, type); }

Value CodeBuilder::number(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr scalar = isa<FloatType>(element) ? TypedAttr(getFloatAttr(element, value)) : TypedAttr(getIntegerAttr(element, value));
  if (auto vector = dyn_cast<VectorType>(type))
    return constant(DenseElementsAttr::get(vector, Attribute(scalar)));
  return constant(scalar);
}
Value CodeBuilder::spread(Value scalar, int64_t lanes) {
  return lanes == 0 ? scalar : vector::BroadcastOp::create(*this, widen(scalar.getType(), lanes), scalar);
}
// ---- memory -------------------------------------------------------------------------------------

bool CodeBuilder::isSupported(Type element) {
  if (auto rounded = dyn_cast<RoundedType>(element))
    return isSupported(rounded.getMemory()) && isSupported(rounded.getValue());
  return element.isF32() || element.isBF16() || element.isF16() || element.isInteger(64) || element.isInteger(32) ||
         element.isInteger(1);
}
Type CodeBuilder::precisionOf(Type element) {
  auto rounded = dyn_cast<RoundedType>(element);
  return rounded ? rounded.getValue() : element;
}
Type CodeBuilder::memoryOf(Type element) {
  auto rounded = dyn_cast<RoundedType>(element);
  return rounded ? rounded.getMemory() : element;
}
Place CodeBuilder::at(Place place, Int index) {
  if (index.is(0))
    return place;
  Type unit = place.element.isInteger(1) ? getI8Type() : memoryOf(place.element);
  LLVM::GEPArg offset = index.isKnown() && llvm::isInt<32>(index.known()) ? LLVM::GEPArg(static_cast<int32_t>(index.known()))
                                                                          : LLVM::GEPArg(static_cast<Value>(index));
  return {LLVM::GEPOp::create(*this, place.pointer.getType(), unit, place.pointer, ArrayRef(offset)), place.element};
}

// ---- control ------------------------------------------------------------------------------------

void CodeBuilder::loop(Int lower, Int upper, Int step, function_ref<void(Int)> body) {
  if (lower.isKnown() && upper.isKnown() && step.isKnown() && lower.known() + step.known() >= upper.known()) {
    if (lower.known() < upper.known())
      body(lower);
    return;
  }
  auto op = scf::ForOp::create(*this, lower, upper, step);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  body(integer(op.getInductionVar()));
}
CodeBuilder::Values CodeBuilder::loop(Int lower, Int upper, Int step, ValueRange start, function_ref<Values(Int, ValueRange)> body) {
  if (start.empty()) {
    loop(lower, upper, step, [&](Int index) { body(index, {}); });
    return {};
  }
  auto op = scf::ForOp::create(*this, lower, upper, step, start);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  scf::YieldOp::create(*this, body(integer(op.getInductionVar()), op.getRegionIterArgs()));
  return op.getResults();
}
void CodeBuilder::when(Value condition, function_ref<void()> body, function_ref<void()> otherwise) {
  if (matchPattern(condition, m_One()))
    return body();
  if (matchPattern(condition, m_Zero()))
    return otherwise ? otherwise() : void();
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
  if (!otherwise)
    return;
  setInsertionPointToStart(op.elseBlock());
  otherwise();
}
CodeBuilder::Values CodeBuilder::choose(Value condition, TypeRange types, function_ref<Values()> then, function_ref<Values()> otherwise) {
  auto op = scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(*this, then());
  setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(*this, otherwise());
  return op.getResults();
}
