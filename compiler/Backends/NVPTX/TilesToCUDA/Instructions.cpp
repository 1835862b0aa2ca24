// Instructions.cpp - every op of the nvvm dialect that kernels use. No other file includes that dialect: its header is the
// slowest of all.
#include "compiler/Backends/NVPTX/TilesToCUDA/Emitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
using namespace mlir;

namespace logitile::cuda {
static Emitter::Values fieldsOf(Emitter &e, Value structure, int64_t count) {
  Emitter::Values fields;
  for (int64_t i = 0; i < count; ++i)
    fields.push_back(LLVM::ExtractValueOp::create(e, structure, i));
  return fields;
}

// ---- inline PTX -----------------------------------------------------------------------------------------------------

static constexpr struct {
  llvm::StringLiteral text, constraints;
} kInlinePtx[] = {
#define INLINE_PTX(name, text, constraints) {text, constraints},
#include "compiler/Backends/NVPTX/TilesToCUDA/InlinePtx.def"
};
void Emitter::emitPtx(InlinePtx ptx, ValueRange operands) {
  auto [text, constraints] = kInlinePtx[static_cast<int>(ptx)];
  LLVM::InlineAsmOp::create(*this, TypeRange(), operands, getStringAttr(text), getStringAttr(constraints), /*has_side_effects=*/getUnitAttr(),
                            /*is_align_stack=*/UnitAttr(), LLVM::TailCallKindAttr::get(getContext(), LLVM::TailCallKind::None),
                            LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), /*operand_attrs=*/ArrayAttr());
}

// ---- ops of the dialect ---------------------------------------------------------------------------------------------

static Type fourOf(Type type) { return LLVM::LLVMStructType::getLiteral(type.getContext(), SmallVector<Type>(4, type)); }

LLVM::LLVMFuncOp Emitter::beginKernel(StringRef name, ArrayRef<Type> arguments, int64_t threads) {
  setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), arguments);
  auto kernel = LLVM::LLVMFuncOp::create(*this, name, type);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), getI32IntegerAttr(1));
  enter(kernel.addEntryBlock(*this));
  sharedBase = LLVM::AddressOfOp::create(*this, sharedPointer, kSharedName);
  threadNumber = Int(*this, readThread());
  laneNumber = *threadNumber % kWarp;
  warpNumber = *threadNumber / kWarp;
  return kernel;
}

Value Emitter::readThread() { return arith::ExtUIOp::create(*this, i64, NVVM::ThreadIdXOp::create(*this, i32)); }
Value Emitter::readBlock() { return arith::ExtUIOp::create(*this, i64, NVVM::BlockIdXOp::create(*this, i32)); }
void Emitter::barrier() { NVVM::Barrier0Op::create(*this); }

Value Emitter::vote(Value condition) {
  Value all = constant(getI32IntegerAttr(-1));
  return NVVM::VoteSyncOp::create(*this, i32, all, condition, NVVM::VoteSyncKind::ballot);
}

Value Emitter::exchange(Value value, int64_t mask) {
  Value all = constant(getI32IntegerAttr(-1)), by = constant(getI32IntegerAttr(mask)), last = constant(getI32IntegerAttr(kWarp - 1));
  return NVVM::ShflOp::create(*this, value.getType(), all, value, by, last, NVVM::ShflKind::bfly, UnitAttr());
}

// The dialect has no copy with a hint to fetch the rest of the line.
void Emitter::copyAsync(Place to, Place from, Value bytes) {
  SmallVector<Value> operands{LLVM::PtrToIntOp::create(*this, i32, to.pointer), from.pointer};
  if (bytes)
    operands.push_back(bytes);
  emitPtx(bytes ? InlinePtx::CopyPart : InlinePtx::CopyWhole, operands);
}
void Emitter::commitCopies() { NVVM::CpAsyncCommitGroupOp::create(*this); }
void Emitter::waitForCopies(int64_t pending) { NVVM::CpAsyncWaitGroupOp::create(*this, pending); }

Emitter::Values Emitter::loadMatrices(Place row, bool transposed) {
  auto shape = NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8);
  Value four = NVVM::LdMatrixOp::create(*this, fourOf(i32), row.pointer, getI32IntegerAttr(4),
                                        NVVM::MMALayoutAttr::get(getContext(), transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row),
                                        shape, NVVM::LdStMatrixEltTypeAttr::get(getContext(), NVVM::LdStMatrixEltType::B16));
  return fieldsOf(*this, four, 4);
}

Emitter::Values Emitter::multiply(MmaType type, ValueRange left, ValueRange right, ValueRange sum) {
  bool isHalf = type == MmaType::F16; // f16 operands are vectors, bf16 operands are bits
  auto operands = [&](ValueRange pairs) {
    return llvm::map_to_vector(pairs, [&](Value pair) -> Value {
      return isHalf ? Value(LLVM::BitcastOp::create(*this, VectorType::get(2, getF16Type()), pair)) : pair;
    });
  };
  NVVM::MMATypes element = isHalf ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Value four = NVVM::MmaOp::create(*this, fourOf(f32), operands(left), operands(right), sum, ArrayRef<int64_t>{16, 8, 16}, std::nullopt,
                                   std::nullopt, std::array<NVVM::MMATypes, 2>{element, element},
                                   std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return fieldsOf(*this, four, 4);
}
} // namespace logitile::cuda
