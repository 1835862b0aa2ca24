// Emitter.cpp - memory of GPU code: the block's shared memory, and elements with their conversion to the values that code
// computes with.
#include "compiler/Backends/NVPTX/TilesToCUDA/Emitter.h"
using namespace mlir;

namespace logitile::cuda {
Emitter::Emitter(ModuleOp module)
    : CodeBuilder(module), globalPointer(LLVM::LLVMPointerType::get(module.getContext(), 1)),
      sharedPointer(LLVM::LLVMPointerType::get(module.getContext(), 3)) {
  // The size of it is given at the launch.
  setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(getI8Type(), 0);
  LLVM::GlobalOp::create(*this, type, /*isConstant=*/false, LLVM::Linkage::External, kSharedName, Attribute(), /*alignment=*/128,
                         /*addrSpace=*/3);
}

void Emitter::endKernel() { LLVM::ReturnOp::create(*this, ValueRange()); }

Int Emitter::block() { return Int(*this, readBlock()); }

Place Emitter::shared(Int offset, Type element) { return {at({sharedBase, getI8Type()}, offset).pointer, element}; }

Value Emitter::loadAs(Type type, Place place, int64_t alignment) { return LLVM::LoadOp::create(*this, type, place.pointer, alignment); }

Value Emitter::load(Place place) {
  Type element = place.element;
  if (Type memory = memoryOf(element), value = precisionOf(element); memory != value) {
    Value read = load({place.pointer, memory});
    Value rounded = value == f32 ? read : Value(arith::TruncFOp::create(*this, value, read));
    return value == f32 ? rounded : Value(arith::ExtFOp::create(*this, f32, rounded));
  }
  if (element.isInteger(1)) {
    Value byte = loadAs(getI8Type(), place, 1);
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, byte, number(getI8Type(), 0));
  }
  Value bits = loadAs(element, place, bytesOf(element));
  return valueType(element) == element ? bits : Value(arith::ExtFOp::create(*this, f32, bits));
}
void Emitter::store(Value value, Place place) {
  if (place.element.isInteger(1))
    value = arith::ExtUIOp::create(*this, getI8Type(), value);
  else if (value.getType() != place.element)
    value = arith::TruncFOp::create(*this, place.element, value);
  LLVM::StoreOp::create(*this, value, place.pointer, bytesOf(place.element));
}
} // namespace logitile::cuda
