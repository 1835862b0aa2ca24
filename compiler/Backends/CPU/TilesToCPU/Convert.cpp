// Convert.cpp - converts between the bits of an element in memory and the value in code. 16-bit
// floats are converted with integer operations if the CPU has no instruction for them, because LLVM
// would call a library.
#include "compiler/Backends/CPU/TilesToCPU/Emitter.h"
#include "dialect/Logitile.h"
using namespace mlir;

namespace logitile::cpu {
static int64_t lanesOf(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 0;
}

static Type bitsType(Emitter &e, Type element) {
  if (element.isInteger(1))
    return e.getI8Type();
  if (element.isBF16() || element.isF16())
    return e.getIntegerType(16);
  return element;
}
Value Emitter::loadBits(Place place, int64_t lanes) {
  return LLVM::LoadOp::create(*this, widen(bitsType(*this, memoryOf(place.element)), lanes), place.pointer, bytesOf(place.element));
}
void Emitter::storeBits(Value bits, Place place) { LLVM::StoreOp::create(*this, bits, place.pointer, bytesOf(place.element)); }
Value Emitter::loadBitsWhere(Value inside, Place place, int64_t lanes) {
  Type type = widen(bitsType(*this, memoryOf(place.element)), lanes);
  return LLVM::MaskedLoadOp::create(*this, type, place.pointer, inside, number(type, 0), bytesOf(place.element));
}

Value Emitter::toValue(Value bits, Type element) {
  if (auto rounded = dyn_cast<RoundedType>(element))
    return toValue(toBits(toValue(bits, rounded.getMemory()), rounded.getValue()), rounded.getValue());
  if (element.isInteger(1))
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, bits, number(bits.getType(), 0));
  if (element.isBF16())
    return bf16ToValue(bits);
  if (element.isF16())
    return f16ToValue(bits);
  return bits;
}
Value Emitter::toBits(Value value, Type element) {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(*this, widen(getI8Type(), lanesOf(value)), value);
  if (element.isBF16())
    return valueToBf16(value);
  if (element.isF16())
    return valueToF16(value);
  return value;
}

namespace {
/// Integer operations on 32-bit lanes, for the formats below.
struct Lanes {
  Emitter &e;
  Type type;
  Lanes(Emitter &e, int64_t lanes) : e(e), type(Emitter::widen(e.i32, lanes)) {}
  Value number(int64_t value) const { return e.number(type, static_cast<int32_t>(value)); }
  Value add(Value a, Value b) const { return arith::AddIOp::create(e, a, b); }
  Value mask(Value a, int64_t bits) const { return arith::AndIOp::create(e, a, number(bits)); }
  Value merge(Value a, Value b) const { return arith::OrIOp::create(e, a, b); }
  Value left(Value a, int64_t by) const { return arith::ShLIOp::create(e, a, number(by)); }
  Value right(Value a, int64_t by) const { return arith::ShRUIOp::create(e, a, number(by)); }
  Value isAbove(Value a, int64_t b) const { return arith::CmpIOp::create(e, arith::CmpIPredicate::ugt, a, number(b)); }
  Value select(Value c, Value a, Value b) const { return arith::SelectOp::create(e, c, a, b); }
};
} // namespace

Value Emitter::bf16ToValue(Value bits) {
  Lanes l(*this, lanesOf(bits));
  Value wide = l.left(arith::ExtUIOp::create(*this, l.type, bits), 16);
  return arith::BitcastOp::create(*this, widen(f32, lanesOf(bits)), wide);
}

/// To nearest, ties to even: half a unit and the last bit that stays carry over. A NaN stays one:
/// its quiet bit is set.
Value Emitter::valueToBf16(Value value) {
  int64_t lanes = lanesOf(value);
  if (tier.hasBf16Dot) {
    Value rounded = arith::TruncFOp::create(*this, widen(getBF16Type(), lanes), value);
    return arith::BitcastOp::create(*this, widen(getIntegerType(16), lanes), rounded);
  }
  Lanes l(*this, lanes);
  Value bits = arith::BitcastOp::create(*this, l.type, value);
  Value rounded = l.add(l.add(bits, l.number(0x7fff)), l.mask(l.right(bits, 16), 1));
  Value isNan = arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, value, value);
  Value chosen = l.select(isNan, l.merge(bits, l.number(0x400000)), rounded);
  return arith::TruncIOp::create(*this, widen(getIntegerType(16), lanes), l.right(chosen, 16));
}

/// Subnormal numbers are made as the rest of a number from 2^-14 on, since threads may count
/// subnormal f32 as 0; infinity and NaN get the largest exponent.
Value Emitter::f16ToValue(Value bits) {
  int64_t lanes = lanesOf(bits);
  Type floats = widen(f32, lanes);
  if (tier.lanes >= 8) {
    Value half = arith::BitcastOp::create(*this, widen(getF16Type(), lanes), bits);
    return arith::ExtFOp::create(*this, floats, half);
  }
  Lanes l(*this, lanes);
  Value wide = arith::ExtUIOp::create(*this, l.type, bits);
  Value magnitude = l.left(l.mask(wide, 0x7fff), 13);
  Value above = arith::BitcastOp::create(*this, floats, l.add(magnitude, l.number(0x38800000)));
  Value small = arith::BitcastOp::create(*this, l.type, arith::SubFOp::create(*this, above, number(floats, 0x1p-14)));
  Value finite = l.select(l.isAbove(magnitude, 0x007fffff), l.add(magnitude, l.number(0x38000000)), small);
  Value special = l.merge(magnitude, l.number(0x7f800000));
  Value chosen = l.select(l.isAbove(magnitude, 0x0f7fffff), special, finite);
  Value sign = l.left(l.mask(wide, 0x8000), 16);
  return arith::BitcastOp::create(*this, floats, l.merge(chosen, sign));
}

/// To nearest, ties to even. Results below the smallest normal number are rounded by adding 0.5,
/// whose last bit is theirs.
Value Emitter::valueToF16(Value value) {
  int64_t lanes = lanesOf(value);
  Type halves = widen(getIntegerType(16), lanes), floats = widen(f32, lanes);
  if (tier.lanes >= 8)
    return arith::BitcastOp::create(*this, halves, arith::TruncFOp::create(*this, widen(getF16Type(), lanes), value));
  Lanes l(*this, lanes);
  Value bits = arith::BitcastOp::create(*this, l.type, value);
  Value magnitude = l.mask(bits, 0x7fffffff);
  Value odd = l.mask(l.right(magnitude, 13), 1);
  Value normal = l.right(l.add(l.add(magnitude, l.number(-0x38000000 + 0xfff)), odd), 13);
  Value shifted = arith::AddFOp::create(*this, arith::BitcastOp::create(*this, floats, magnitude), number(floats, 0.5));
  Value denormal = l.add(arith::BitcastOp::create(*this, l.type, shifted), l.number(-0x3f000000));
  Value finite = l.select(l.isAbove(magnitude, 0x387fffff), normal, denormal);
  Value large = l.select(l.isAbove(magnitude, 0x7f800000), l.number(0x7e00), l.number(0x7c00)); // NaN or infinity
  Value chosen = l.select(l.isAbove(magnitude, 0x477fefff), large, finite);
  Value sign = l.right(l.mask(bits, 0x80000000), 16);
  return arith::TruncIOp::create(*this, halves, l.merge(chosen, sign));
}
} // namespace logitile::cpu
