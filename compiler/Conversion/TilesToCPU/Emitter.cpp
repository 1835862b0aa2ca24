// Emitter.cpp - integers that fold, loops and memory access. Conversion between element types is Convert.cpp.
#include "compiler/Conversion/TilesToCPU/Emitter.h"
#include "mlir/IR/Matchers.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// ---- integers -----------------------------------------------------------------------------------------------------

Int::Int(Emitter &emitter, Value value) : emitter(&emitter), dynamic(value) {
  APInt bits;
  if (matchPattern(value, m_ConstantInt(&bits))) {
    dynamic = {};
    constant = bits.getSExtValue();
  }
}
Int::operator Value() const { return dynamic ? dynamic : emitter->constant(emitter->getI64IntegerAttr(constant)); }

namespace logitile::cpu {
Int operator+(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.emitter, a.constant + b.constant);
  if (a.is(0) || b.is(0))
    return a.is(0) ? b : a;
  return Int(*a.emitter, arith::AddIOp::create(*a.emitter, a, b));
}
Int operator-(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.emitter, a.constant - b.constant);
  return b.is(0) ? a : Int(*a.emitter, arith::SubIOp::create(*a.emitter, a, b));
}
Int operator*(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.emitter, a.constant * b.constant);
  if (a.is(0) || b.is(0))
    return Int(*a.emitter, 0);
  if (a.is(1) || b.is(1))
    return a.is(1) ? b : a;
  return Int(*a.emitter, arith::MulIOp::create(*a.emitter, a, b));
}
Int operator/(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.emitter, a.constant / b.constant);
  return b.is(1) ? a : Int(*a.emitter, arith::DivUIOp::create(*a.emitter, a, b));
}
Int operator%(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.emitter, a.constant % b.constant);
  return b.is(1) ? Int(*a.emitter, 0) : Int(*a.emitter, arith::RemUIOp::create(*a.emitter, a, b));
}
Int smaller(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return Int(*a.emitter, std::min(a.constant, b.constant));
  return Int(*a.emitter, arith::MinUIOp::create(*a.emitter, a, b));
}
Value isLess(Int a, Int b) {
  if (a.isKnown() && b.isKnown())
    return a.emitter->truth(a.constant < b.constant);
  return arith::CmpIOp::create(*a.emitter, arith::CmpIPredicate::ult, a, b);
}
Value isEqual(Int a, int64_t b) {
  if (a.isKnown())
    return a.emitter->truth(a.constant == b);
  return arith::CmpIOp::create(*a.emitter, arith::CmpIPredicate::eq, a, Int(*a.emitter, b));
}
} // namespace logitile::cpu

// ---- functions and values -------------------------------------------------------------------------------------------

Emitter::Emitter(ModuleOp module, CpuTier tier)
    : ImplicitLocOpBuilder(module.getLoc(), module.getContext()), tier(getTierInfo(tier)), f32(getF32Type()), i1(getI1Type()),
      i32(getI32Type()), i64(getI64Type()), pointerType(LLVM::LLVMPointerType::get(module.getContext())), lanes(this->tier.lanes),
      width(this->tier.panelWidth()), module(module) {}

func::FuncOp Emitter::beginFunction(StringRef name, ArrayRef<Type> arguments) {
  setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(*this, name, getFunctionType(arguments, {}));
  entry = function.addEntryBlock();
  constants.clear();
  setInsertionPointToStart(entry);
  return function;
}
void Emitter::endFunction() { func::ReturnOp::create(*this); }

Value Emitter::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(entry);
    known = arith::ConstantOp::create(*this, value);
  }
  return known;
}
Type Emitter::widen(Type type, int64_t lanes) { return lanes == 0 ? type : VectorType::get({lanes}, type); }

Value Emitter::number(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr scalar = isa<FloatType>(element) ? TypedAttr(getFloatAttr(element, value)) : TypedAttr(getIntegerAttr(element, value));
  if (auto vector = dyn_cast<VectorType>(type))
    return constant(DenseElementsAttr::get(vector, Attribute(scalar)));
  return constant(scalar);
}
Value Emitter::spread(Value scalar, int64_t lanes) {
  return lanes == 0 ? scalar : vector::BroadcastOp::create(*this, widen(scalar.getType(), lanes), scalar);
}
Value Emitter::lanesBelow(Int first, Int count, int64_t lanes) {
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value lane = constant(getI64VectorAttr(numbers));
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, lane, spread(count - first, lanes));
}
Value Emitter::isAnyLane(Value lanes) { return vector::ReductionOp::create(*this, vector::CombiningKind::OR, lanes); }

// ---- memory ---------------------------------------------------------------------------------------------------------

Place Emitter::at(Place place, Int index) {
  if (index.is(0))
    return place;
  Type unit = place.element.isInteger(1) ? getI8Type() : memoryOf(place.element);
  LLVM::GEPArg offset = index.isKnown() && llvm::isInt<32>(index.known()) ? LLVM::GEPArg(static_cast<int32_t>(index.known()))
                                                                          : LLVM::GEPArg(static_cast<Value>(index));
  return {LLVM::GEPOp::create(*this, pointerType, unit, place.pointer, ArrayRef(offset)), place.element};
}
Value Emitter::load(Place place, int64_t lanes) { return toValue(loadBits(place, lanes), place.element); }
void Emitter::store(Value value, Place place) { storeBits(toBits(value, place.element), place); }

// ---- control --------------------------------------------------------------------------------------------------------

void Emitter::loop(Int lower, Int upper, Int step, function_ref<void(Int)> body) {
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
Emitter::Values Emitter::loop(Int upper, ValueRange start, function_ref<Values(Int, ValueRange)> body) {
  if (start.empty()) {
    loop(upper, [&](Int index) { body(index, {}); });
    return {};
  }
  auto op = scf::ForOp::create(*this, integer(0), upper, integer(1), start);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  scf::YieldOp::create(*this, body(integer(op.getInductionVar()), op.getRegionIterArgs()));
  return op.getResults();
}
void Emitter::when(Value condition, function_ref<void()> body, function_ref<void()> otherwise) {
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
Emitter::Values Emitter::choose(Value condition, TypeRange types, function_ref<Values()> then, function_ref<Values()> otherwise) {
  auto op = scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(*this, then());
  setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(*this, otherwise());
  return op.getResults();
}
