// Emitter.cpp - functions and vectors. Conversion between element types is Convert.cpp.
#include "compiler/Backends/CPU/TilesToCPU/Emitter.h"
using namespace mlir;
using namespace logitile;

cpu::Emitter::Emitter(ModuleOp module, CpuTier tier)
    : CodeBuilder(module), tier(getTierInfo(tier)), pointerType(LLVM::LLVMPointerType::get(module.getContext())),
      lanes(this->tier.lanes), width(this->tier.panelWidth()) {}

func::FuncOp cpu::Emitter::beginFunction(StringRef name, ArrayRef<Type> arguments) {
  setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(*this, name, getFunctionType(arguments, {}));
  enter(function.addEntryBlock());
  return function;
}
void cpu::Emitter::endFunction() { func::ReturnOp::create(*this); }

Value cpu::Emitter::lanesBelow(Int first, Int count, int64_t lanes) {
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value lane = constant(getI64VectorAttr(numbers));
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, lane, spread(count - first, lanes));
}
Value cpu::Emitter::isAnyLane(Value lanes) { return vector::ReductionOp::create(*this, vector::CombiningKind::OR, lanes); }

Value cpu::Emitter::multiplyAdd(Value left, Value right, Value sum) {
  if (!cast<VectorType>(left.getType()).getElementType().isBF16())
    return vector::FMAOp::create(*this, left, right, sum);
  return LLVM::CallIntrinsicOp::create(*this, sum.getType(), getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                       SmallVector<Value>{sum, left, right})
      .getResult(0);
}

void cpu::Emitter::onTiles(StringRef instruction, ArrayRef<int64_t> tiles, ValueRange arguments) {
  SmallVector<Value> operands;
  for (int64_t tile : tiles)
    operands.push_back(constant(getI8IntegerAttr(static_cast<int8_t>(tile))));
  llvm::append_range(operands, arguments);
  LLVM::CallIntrinsicOp::create(*this, getStringAttr("llvm.x86." + instruction), operands);
}

Value cpu::Emitter::load(Place place, int64_t lanes) { return toValue(loadBits(place, lanes), place.element); }
void cpu::Emitter::store(Value value, Place place) { storeBits(toBits(value, place.element), place); }
void cpu::Emitter::fetch(Place place, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t byte = 0; byte < bytes; byte += kLine)
    LLVM::Prefetch::create(*this, at({place.pointer, getI8Type()}, integer(byte)).pointer, /*rw=*/0, /*hint=*/2, /*cache=*/1);
}
