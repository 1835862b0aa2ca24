// Instrument.cpp - a check before each load, store, atomic operation and copy of memory that
// threads share. Accesses of a thread's own stack and of constants need none.
#include "emulator/block/Access.h"
#include "emulator/lowering/FunctionLowering.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
using namespace llvm;

namespace logitile::emulator {
namespace {
constexpr uint64_t kMostAlignment = 1u << 31; // LLVM says 2^32 of null

bool isChecked(const Value *pointer) {
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space != unsigned(IrSpace::generic) && space != unsigned(IrSpace::global) && space != unsigned(IrSpace::shared))
    return false;
  const Value *object = getUnderlyingObject(pointer);
  if (const auto *argument = dyn_cast<Argument>(object))
    return !argument->hasByValAttr();
  if (const auto *global = dyn_cast<GlobalVariable>(object))
    return global->getAddressSpace() == unsigned(IrSpace::shared);
  return !isa<AllocaInst>(object);
}

Strength strengthOf(const llvm::Instruction &instruction, SyncScope::ID scope) {
  SmallVector<StringRef> names;
  instruction.getContext().getSyncScopeNames(names);
  if (scope == SyncScope::SingleThread)
    return Strength::weak;
  return names[scope] == "block" || names[scope] == "cluster" ? Strength::block : Strength::device;
}

MemoryOrder orderOf(const llvm::Instruction &instruction, SyncScope::ID scope, AtomicOrdering order) {
  return {strengthOf(instruction, scope), isAcquireOrStronger(order), isReleaseOrStronger(order)};
}

/// As LLVM's PTX backend has it: it makes atomicrmw relaxed, whatever its order, and volatile
/// accesses relaxed and strong.
MemoryOrder orderOf(const llvm::Instruction &instruction) {
  if (const auto *load = dyn_cast<LoadInst>(&instruction); load && load->isAtomic())
    return orderOf(instruction, load->getSyncScopeID(), load->getOrdering());
  if (const auto *store = dyn_cast<StoreInst>(&instruction); store && store->isAtomic())
    return orderOf(instruction, store->getSyncScopeID(), store->getOrdering());
  if (const auto *update = dyn_cast<AtomicRMWInst>(&instruction))
    return orderOf(instruction, update->getSyncScopeID(), AtomicOrdering::Monotonic);
  if (const auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return orderOf(instruction, exchange->getSyncScopeID(), exchange->getMergedOrdering());
  const bool isPlain = isa<LoadInst, StoreInst>(instruction);
  return {isPlain && instruction.isVolatile() ? Strength::device : Strength::weak};
}

std::string nameOf(const llvm::Instruction &instruction, unsigned space) {
  const char *where = space == unsigned(IrSpace::shared) ? " shared" : space == unsigned(IrSpace::global) ? " global" : "";
  return std::string(instruction.getOpcodeName()) + where;
}
} // namespace

bool FunctionLowering::accessesUnknownMemory(const llvm::Instruction &instruction) {
  auto isUnknown = [](const Value *pointer) {
    const unsigned space = pointer->getType()->getPointerAddressSpace();
    return space > unsigned(IrSpace::shared) && !isa<AllocaInst, GlobalVariable>(getUnderlyingObject(pointer));
  };
  if (const auto *atomic = dyn_cast<AtomicRMWInst>(&instruction))
    return isUnknown(atomic->getPointerOperand());
  if (const auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return isUnknown(exchange->getPointerOperand());
  if (const auto *transfer = dyn_cast<AnyMemTransferInst>(&instruction))
    return isUnknown(transfer->getRawSource()) || isUnknown(transfer->getRawDest());
  if (const auto *memory = dyn_cast<AnyMemIntrinsic>(&instruction))
    return isUnknown(memory->getRawDest());
  const Value *pointer = getLoadStorePointerOperand(&instruction);
  return pointer && isUnknown(pointer);
}

/// A variable of fixed size that a pointer points into, and its size; null where it is not known.
static const Value *variableOf(const Value *pointer, const DataLayout &layout, uint64_t &bytes) {
  const Value *object = getUnderlyingObject(pointer, 0);
  if (const auto *local = dyn_cast<AllocaInst>(object); local && local->isStaticAlloca()) {
    bytes = local->getAllocationSize(layout)->getFixedValue();
    return object;
  }
  const auto *global = dyn_cast<GlobalVariable>(object);
  if (!global || global->isDeclaration() || global->getAddressSpace() != unsigned(IrSpace::shared))
    return nullptr;
  bytes = layout.getTypeAllocSize(global->getValueType());
  return object;
}

/// An access through a variable stays inside of it, also where other variables lie beside it.
void FunctionLowering::checkVariableBounds(llvm::Instruction &instruction, Value *pointer, Value *bytes) {
  uint64_t size = 0;
  const DataLayout &layout = function.getDataLayout();
  const Value *variable = variableOf(pointer, layout, size);
  if (!variable)
    return;
  APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const Value *start = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  const auto *known = dyn_cast<ConstantInt>(bytes);
  if (start == variable && known && offset.isNonNegative() && offset.getZExtValue() + known->getZExtValue() <= size)
    return;
  IRBuilder<> builder(&instruction);
  auto generic = [&](Value *value) { return builder.CreateAddrSpaceCast(value, builder.getPtrTy()); };
  const Op &op = addOp(nameOf(instruction, pointer->getType()->getPointerAddressSpace()), instruction, {});
  callHost(builder, reinterpret_cast<const void *>(&checkWithin),
           {thread, address(&op), generic(pointer), builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty()),
            generic(const_cast<Value *>(variable)), builder.getInt64(size)});
}

/// A store whose value the check can have a look at.
static StoreInst *plainStore(llvm::Instruction &instruction) {
  auto *store = dyn_cast<StoreInst>(&instruction);
  constexpr uint64_t kMostBytes = FunctionLowering::kFrameSlots * sizeof(Slot);
  if (!store || !store->isSimple() || instruction.getDataLayout().getTypeAllocSize(store->getValueOperand()->getType()) > kMostBytes)
    return nullptr;
  return store;
}

void FunctionLowering::checkPointer(llvm::Instruction &instruction, Value *pointer, Value *bytes, AccessKind kind, uint64_t alignment) {
  checkVariableBounds(instruction, pointer, bytes);
  if (!isChecked(pointer))
    return;
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  logitile::emulator::Instruction access;
  const uint64_t checked = std::min(alignment, kMostAlignment);
  access.modifiers = {static_cast<uint32_t>(kind), space, static_cast<uint32_t>(checked), orderOf(instruction).pack()};
  const Op &op = addOp(nameOf(instruction, space), instruction, access);
  IRBuilder<> builder(&instruction);
  Value *generic = builder.CreateAddrSpaceCast(pointer, builder.getPtrTy());
  Value *length = builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty());
  if (StoreInst *store = plainStore(instruction)) { // what was pending has been flushed, so the frame is free
    builder.CreateStore(store->getValueOperand(), frame);
    callHost(builder, reinterpret_cast<const void *>(&checkStore), {thread, address(&op), generic, length, frame});
    return;
  }
  callHost(builder, reinterpret_cast<const void *>(&checkAccess), {thread, address(&op), generic, length});
}

void FunctionLowering::lowerFence(FenceInst &instruction) {
  logitile::emulator::Instruction fence;
  fence.modifiers[3] = orderOf(instruction, instruction.getSyncScopeID(), instruction.getOrdering()).pack();
  IRBuilder<> builder(&instruction);
  callHost(builder, reinterpret_cast<const void *>(&emulator::fence), {thread, address(&addOp("fence", instruction, fence)), frame});
  instruction.eraseFromParent();
}

void FunctionLowering::checkMemory(llvm::Instruction &instruction) {
  const DataLayout &layout = function.getDataLayout();
  auto sizeOf = [&](Type *type) { return ConstantInt::get(Type::getInt64Ty(function.getContext()), layout.getTypeStoreSize(type)); };
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return checkPointer(instruction, load->getPointerOperand(), sizeOf(load->getType()), AccessKind::read, load->getAlign().value());
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return checkPointer(instruction, store->getPointerOperand(), sizeOf(store->getValueOperand()->getType()), AccessKind::write,
                        store->getAlign().value());
  if (auto *atomic = dyn_cast<AtomicRMWInst>(&instruction))
    return checkPointer(instruction, atomic->getPointerOperand(), sizeOf(atomic->getType()), AccessKind::atomic,
                        atomic->getAlign().value());
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return checkPointer(instruction, exchange->getPointerOperand(), sizeOf(exchange->getNewValOperand()->getType()), AccessKind::atomic,
                        exchange->getAlign().value());
  if (auto *transfer = dyn_cast<AnyMemTransferInst>(&instruction))
    checkPointer(instruction, transfer->getRawSource(), transfer->getLength(), AccessKind::read,
                 transfer->getSourceAlign().valueOrOne().value());
  if (auto *memory = dyn_cast<AnyMemIntrinsic>(&instruction))
    checkPointer(instruction, memory->getRawDest(), memory->getLength(), AccessKind::write, memory->getDestAlign().valueOrOne().value());
}
} // namespace logitile::emulator
