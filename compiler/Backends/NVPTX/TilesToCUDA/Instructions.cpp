// Instructions.cpp - every op of the nvvm dialect that kernels use. No other file includes that
// dialect: its header is the slowest of all.
#include "compiler/Backends/NVPTX/TilesToCUDA/Emitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
using namespace mlir;

namespace logitile::cuda {
// ---- structures ---------------------------------------------------------------------------------

Emitter::Values Emitter::unpack(Value structure) {
  Values fields;
  for (int64_t i = 0, count = cast<LLVM::LLVMStructType>(structure.getType()).getBody().size(); i < count; ++i)
    fields.push_back(LLVM::ExtractValueOp::create(*this, structure, i));
  return fields;
}

Value Emitter::pack(ValueRange fields) {
  Type type = LLVM::LLVMStructType::getLiteral(getContext(), SmallVector<Type>(fields.getTypes()));
  Value structure = LLVM::PoisonOp::create(*this, type);
  for (auto [i, field] : llvm::enumerate(fields))
    structure = LLVM::InsertValueOp::create(*this, structure, field, i);
  return structure;
}

// ---- inline PTX ---------------------------------------------------------------------------------

static constexpr struct {
  llvm::StringLiteral text, constraints;
} kInlinePtx[] = {
#define INLINE_PTX(name, text, constraints) {text, constraints},
#include "compiler/Backends/NVPTX/TilesToCUDA/InlinePtx.def"
};
void Emitter::emitPtx(InlinePtx ptx, ValueRange operands) {
  auto [text, constraints] = kInlinePtx[static_cast<int>(ptx)];
  emitPtx(TypeRange(), text, constraints, operands);
}
Operation *Emitter::emitPtx(TypeRange results, StringRef text, StringRef constraints, ValueRange operands) {
  return LLVM::InlineAsmOp::create(*this, results, operands, getStringAttr(text), getStringAttr(constraints),
                                   /*has_side_effects=*/getUnitAttr(), /*is_align_stack=*/UnitAttr(),
                                   LLVM::TailCallKindAttr::get(getContext(), LLVM::TailCallKind::None),
                                   LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), /*operand_attrs=*/ArrayAttr());
}

constexpr unsigned kClusterSpace = 7; // of addresses

// ---- ops of the dialect -------------------------------------------------------------------------

static Type fourOf(Type type) { return LLVM::LLVMStructType::getLiteral(type.getContext(), SmallVector<Type>(4, type)); }

LLVM::LLVMFuncOp Emitter::beginKernel(StringRef name, ArrayRef<Type> arguments, int64_t threads, int64_t cluster) {
  setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), arguments);
  auto kernel = LLVM::LLVMFuncOp::create(*this, name, type);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), getI32IntegerAttr(1));
  if (cluster > 1)
    kernel->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(), getDenseI32ArrayAttr({static_cast<int32_t>(cluster), 1, 1}));
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
void Emitter::syncWarp() { NVVM::SyncWarpOp::create(*this, word(-1)); }

Value Emitter::vote(Value condition) {
  Value all = word(-1);
  return NVVM::VoteSyncOp::create(*this, i32, all, condition, NVVM::VoteSyncKind::ballot);
}

static Value shuffle(Emitter &e, NVVM::ShflKind kind, Value value, Value lane) {
  Value all = e.word(-1), last = e.word(kWarp - 1);
  return NVVM::ShflOp::create(e, value.getType(), all, value, lane, last, kind, UnitAttr());
}
Value Emitter::exchange(Value value, int64_t mask) {
  return shuffle(*this, NVVM::ShflKind::bfly, value, word(mask));
}
Value Emitter::valueOf(Int lane, Value value) { return shuffle(*this, NVVM::ShflKind::idx, value, narrow(lane)); }

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
  return unpack(four);
}

void Emitter::storeMatrices(ValueRange values, Place row) {
  SmallVector<Value, 4> pairs;
  for (size_t i = 0; i < values.size(); i += 2) {
    Value pair = vector::FromElementsOp::create(*this, widen(values[i].getType(), 2), values.slice(i, 2));
    if (values[i].getType() != row.element)
      pair = arith::TruncFOp::create(*this, widen(row.element, 2), pair);
    pairs.push_back(LLVM::BitcastOp::create(*this, i32, pair));
  }
  NVVM::StMatrixOp::create(*this, row.pointer, pairs, NVVM::MMALayoutAttr::get(getContext(), NVVM::MMALayout::row),
                           NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
                           NVVM::LdStMatrixEltTypeAttr::get(getContext(), NVVM::LdStMatrixEltType::B16));
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
  return unpack(four);
}

Int Emitter::uniform(Int value) {
  Value all = word(-1), first = word(0), last = word(kWarp - 1);
  return extend(NVVM::ShflOp::create(*this, i32, all, narrow(value), first, last, NVVM::ShflKind::idx, UnitAttr()));
}

// ---- instructions of a warpgroup ----------------------------------------------------------------

Value Emitter::startProduct(MmaType type, SharedOperand left, SharedOperand right, int64_t columns, Value sums) {
  MLIRContext *context = getContext();
  auto element = NVVM::WGMMATypesAttr::get(context, type == MmaType::F16 ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16);
  auto layout = [&](bool isRow) { return NVVM::MMALayoutAttr::get(context, isRow ? NVVM::MMALayout::row : NVVM::MMALayout::col); };
  auto keepsSign = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
  auto added = NVVM::WGMMAScaleOutAttr::get(context, sums ? NVVM::WGMMAScaleOut::one : NVVM::WGMMAScaleOut::zero);
  if (!sums) {
    SmallVector<Type> registers(kWarpgroupRows * columns / kWarpgroup, f32);
    sums = LLVM::PoisonOp::create(*this, LLVM::LLVMStructType::getLiteral(context, registers));
  }
  return NVVM::WgmmaMmaAsyncOp::create(
      *this, sums.getType(), sums, left.descriptor, right.descriptor, NVVM::MMAShapeAttr::get(context, 64, columns, 16), element, element,
      NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::f32), added, keepsSign, keepsSign, layout(left.isInnerShared),
      layout(!right.isInnerShared), NVVM::MMAIntOverflowAttr());
}
void Emitter::fenceProducts() { NVVM::WgmmaFenceAlignedOp::create(*this); }
void Emitter::commitProducts() { NVVM::WgmmaGroupSyncAlignedOp::create(*this); }
void Emitter::waitForProducts(int64_t pending) { NVVM::WgmmaWaitGroupSyncOp::create(*this, pending); }

// The dialect's wait has no sums: code that uses them could be moved to before it.
Value Emitter::waitForSums(Value sums) {
  Values fields = unpack(sums);
  std::string constraints;
  for (size_t i = 0; i < fields.size(); ++i)
    constraints += "=f,";
  for (size_t i = 0; i < fields.size(); ++i)
    constraints += (i == 0 ? "" : ",") + std::to_string(i);
  return emitPtx(sums.getType(), kInlinePtx[static_cast<int>(InlinePtx::WaitForSums)].text, constraints, fields)->getResult(0);
}

// ---- copies of boxes ----------------------------------------------------------------------------

void Emitter::passByValue(LLVM::LLVMFuncOp kernel, unsigned number, int64_t bytes) {
  kernel.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(LLVM::LLVMArrayType::get(getI8Type(), bytes)));
  kernel.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(), getI64IntegerAttr(bytes));
  // Else it is copied to local memory, from where tensor copies cannot read it.
  kernel.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(), getUnitAttr());
}

Place Emitter::variable() {
  Type pointer = LLVM::LLVMPointerType::get(getContext());
  return {LLVM::AllocaOp::create(*this, pointer, i64, word(1), /*alignment=*/8), i64};
}

void Emitter::startMbarrier(Place mbarrier, int64_t arrivals) {
  NVVM::MBarrierInitOp::create(*this, mbarrier.pointer, word(arrivals), /*predicate=*/Value());
}
void Emitter::fenceMbarriers() { NVVM::FenceMbarrierInitOp::create(*this); }
void Emitter::arrive(Place mbarrier) {
  NVVM::MBarrierArriveOp::create(*this, i64, mbarrier.pointer, /*count=*/Value(), NVVM::MemScopeKind::CTA, /*relaxed=*/false);
}
void Emitter::arriveExpecting(Place mbarrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(*this, i64, mbarrier.pointer, word(bytes), NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, /*predicate=*/Value());
}
void Emitter::waitForPhase(Place mbarrier, Value parity) {
  auto attempt = [&](OpBuilder &, Location, ValueRange) {
    Value isOver = NVVM::MBarrierTryWaitOp::create(*this, i1, mbarrier.pointer, parity, /*ticks=*/Value(), NVVM::MemScopeKind::CTA,
                                                   /*relaxed=*/false);
    scf::ConditionOp::create(*this, arith::XOrIOp::create(*this, isOver, truth(true)), ValueRange());
  };
  scf::WhileOp::create(*this, TypeRange(), ValueRange(), attempt, [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(*this); });
}
void Emitter::copyBox(Place to, Value map, Int row, Int column, Place mbarrier, Value blocks) {
  Value inCluster = LLVM::AddrSpaceCastOp::create(*this, LLVM::LLVMPointerType::get(getContext(), kClusterSpace), to.pointer);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      *this, inCluster, map, ValueRange{narrow(column), narrow(row)}, mbarrier.pointer, /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/blocks, /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, /*group=*/nullptr,
      /*predicate=*/Value());
}
void Emitter::storeBox(Place from, Value map, Int row, Int column) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(*this, map, from.pointer, ValueRange{narrow(column), narrow(row)},
                                                     /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
}
void Emitter::commitStores() { NVVM::CpAsyncBulkCommitGroupOp::create(*this); }
void Emitter::waitForStores() { NVVM::CpAsyncBulkWaitGroupOp::create(*this, getI32IntegerAttr(0), /*read=*/getUnitAttr()); }
Value Emitter::elect() { return NVVM::ElectSyncOp::create(*this, i1, /*membermask=*/Value()); }

// ---- clusters -----------------------------------------------------------------------------------

void Emitter::clusterBarrier() {
  NVVM::ClusterArriveOp::create(*this, /*aligned=*/getUnitAttr());
  NVVM::ClusterWaitOp::create(*this, /*aligned=*/getUnitAttr());
}
Value Emitter::mapShared(Place place, Value rank) {
  Value there = NVVM::MapaOp::create(*this, LLVM::LLVMPointerType::get(getContext(), kClusterSpace), place.pointer, rank);
  return LLVM::PtrToIntOp::create(*this, i32, there);
}
// The dialect's arrive is a release for the whole cluster, for which the assembler waits for all
// writes of the thread, those to global memory too. Here threads have only read.
void Emitter::arriveAt(Value mbarrier) { emitPtx(InlinePtx::ArriveInCluster, mbarrier); }

// ---- proxies ------------------------------------------------------------------------------------

void Emitter::fenceProxy() {
  NVVM::FenceProxyOp::create(*this, NVVM::ProxyKindAttr::get(getContext(), NVVM::ProxyKind::async_shared),
                             NVVM::SharedSpaceAttr::get(getContext(), NVVM::SharedSpace::shared_cta));
}
} // namespace logitile::cuda
