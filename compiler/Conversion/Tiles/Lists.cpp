// Lists.cpp - words of lists: the order of a value above the column, in one integer.
#include "compiler/Conversion/Tiles/Lists.h"
using namespace mlir;
using namespace logitile;

Value lists::orderOf(CodeBuilder &e, Value value) {
  int64_t lanes = 0;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    lanes = vector.getNumElements();
  Type integers = CodeBuilder::widen(e.i32, lanes);
  Value positiveZero = arith::AddFOp::create(e, value, e.number(value.getType(), 0));
  Value bits = arith::BitcastOp::create(e, integers, positiveZero);
  Value sign = arith::ShRSIOp::create(e, bits, e.number(integers, 31));
  Value order = arith::XOrIOp::create(e, bits, arith::AndIOp::create(e, sign, e.number(integers, INT32_MAX)));
  Value isNan = arith::CmpFOp::create(e, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(e, isNan, e.number(integers, INT32_MAX), order);
}
Value lists::valueOf(CodeBuilder &e, Value order) {
  Value sign = arith::ShRSIOp::create(e, order, e.number(e.i32, 31));
  Value bits = arith::XOrIOp::create(e, order, arith::AndIOp::create(e, sign, e.number(e.i32, INT32_MAX)));
  return arith::BitcastOp::create(e, e.f32, bits);
}
Value lists::wordOf(CodeBuilder &e, Value order, Int column) {
  Value high = arith::ShLIOp::create(e, arith::ExtSIOp::create(e, e.i64, order), e.number(e.i64, 32));
  return arith::OrIOp::create(e, high, e.integer(UINT32_MAX) - column);
}
Value lists::givenWord(CodeBuilder &e, Value value, Value index) {
  Value wide = arith::ExtSIOp::create(e, e.i64, index), none = e.number(e.i64, 0);
  Value isEntry = arith::CmpIOp::create(e, arith::CmpIPredicate::sge, wide, none);
  return arith::SelectOp::create(e, isEntry, wordOf(e, orderOf(e, value), e.integer(wide)), e.integer(kEmpty));
}
Value lists::upperHalf(CodeBuilder &e, Value word) {
  return arith::TruncIOp::create(e, e.i32, arith::ShRSIOp::create(e, word, e.number(e.i64, 32)));
}
Int lists::columnOf(CodeBuilder &e, Value word) {
  Value low = arith::AndIOp::create(e, word, Value(e.integer(UINT32_MAX)));
  return e.integer(UINT32_MAX) - e.integer(low);
}
