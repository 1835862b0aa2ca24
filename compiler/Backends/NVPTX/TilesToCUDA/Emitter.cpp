// Emitter.cpp - memory of GPU code: the block's shared memory, and elements with their conversion
// to the values that code computes with.
#include "compiler/Backends/NVPTX/TilesToCUDA/Emitter.h"
using namespace mlir;

namespace logitile::cuda {
Emitter::Emitter(ModuleOp module, int64_t sharedAlignment)
    : CodeBuilder(module), globalPointer(LLVM::LLVMPointerType::get(module.getContext(), 1)),
      sharedPointer(LLVM::LLVMPointerType::get(module.getContext(), 3)) {
  // The size of it is given at the launch.
  setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(getI8Type(), 0);
  LLVM::GlobalOp::create(*this, type, /*isConstant=*/false, LLVM::Linkage::External, kSharedName, Attribute(), sharedAlignment,
                         /*addrSpace=*/3);
}

void Emitter::endKernel() { LLVM::ReturnOp::create(*this, ValueRange()); }

Int Emitter::block() { return Int(*this, readBlock()); }

Place Emitter::shared(Int offset, Type element) { return {at({sharedBase, getI8Type()}, offset).pointer, element}; }

Int Emitter::sharedAddress(Int offset) {
  Value start = LLVM::PtrToIntOp::create(*this, i32, sharedBase);
  return integer(arith::ExtUIOp::create(*this, i64, start)) + offset;
}

Value Emitter::loadAs(Type type, Place place, int64_t alignment) { return LLVM::LoadOp::create(*this, type, place.pointer, alignment); }

/// As it lies in memory: a truth value takes a byte.
static Type storedType(Emitter &e, Type element) { return element.isInteger(1) ? e.getI8Type() : CodeBuilder::memoryOf(element); }

/// What an element is computed with, of what was read.
Value Emitter::valueOf(Value bits, Type element) {
  if (element.isInteger(1))
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, bits, number(getI8Type(), 0));
  auto widened = [&](Value read) { return valueType(read.getType()) == read.getType() ? read : Value(arith::ExtFOp::create(*this, f32, read)); };
  Value read = widened(bits);
  Type value = precisionOf(element);
  return memoryOf(element) == value || value == f32 ? read : widened(arith::TruncFOp::create(*this, value, read));
}

Value Emitter::load(Place place) {
  return valueOf(loadAs(storedType(*this, place.element), place, bytesOf(place.element)), place.element);
}
void Emitter::store(Value value, Place place) {
  if (place.element.isInteger(1))
    value = arith::ExtUIOp::create(*this, getI8Type(), value);
  else if (value.getType() != place.element)
    value = arith::TruncFOp::create(*this, place.element, value);
  LLVM::StoreOp::create(*this, value, place.pointer, bytesOf(place.element));
}

CodeBuilder::Values Emitter::loadRun(Place place, int64_t count) {
  Value all = loadAs(widen(storedType(*this, place.element), count), place, count * bytesOf(place.element));
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(valueOf(vector::ExtractOp::create(*this, all, i), place.element));
  return values;
}
void Emitter::storeRun(ValueRange values, Place place) {
  int64_t count = values.size();
  Value all = vector::FromElementsOp::create(*this, widen(values.front().getType(), count), values);
  Type stored = widen(storedType(*this, place.element), count);
  if (place.element.isInteger(1))
    all = arith::ExtUIOp::create(*this, stored, all);
  else if (all.getType() != stored)
    all = arith::TruncFOp::create(*this, stored, all);
  LLVM::StoreOp::create(*this, all, place.pointer, count * bytesOf(place.element));
}

CodeBuilder::Values Emitter::loopOverWords(Value end, ValueRange start, function_ref<Values(Value, ValueRange)> body) {
  return loopOverWords(word(0), end, word(1), start, body);
}
CodeBuilder::Values Emitter::loopOverWords(Value first, Value end, Value step, ValueRange start,
                                           function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, first, end, step, start);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!start.empty()) // else there is a yield
    scf::YieldOp::create(*this, next);
  return loop.getResults();
}
} // namespace logitile::cuda
