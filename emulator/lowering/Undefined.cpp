// Undefined.cpp - operations that would end the host's process or differ there: conversions out of
// range get the GPU's results, undefined divisions and stacks that overflow are reported.
#include "emulator/block/Access.h"
#include "emulator/lowering/FunctionLowering.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
using namespace llvm;

namespace logitile::emulator {
namespace {
/// The same with other elements.
Type *withElements(Type *type, Type *element) {
  const auto *vector = dyn_cast<VectorType>(type);
  return vector ? VectorType::get(element, vector->getElementCount()) : element;
}
} // namespace

/// PTX ISA, "cvt": integers saturate. A NaN becomes zero, or the lowest bit pattern of its sign
/// where 64 bits take part. There are no registers of 8 bits: narrow results are the low bits of
/// 16.
bool FunctionLowering::convertAsGpu(llvm::Instruction &instruction) {
  if (!isa<FPToSIInst, FPToUIInst>(instruction))
    return false;
  IRBuilder<> builder(&instruction);
  Value *number = instruction.getOperand(0);
  if (number->getType()->getScalarSizeInBits() < 32)
    number = builder.CreateFPExt(number, withElements(number->getType(), builder.getFloatTy()));
  Type *result = instruction.getType();
  const unsigned bits = std::max(16u, result->getScalarSizeInBits());
  Type *type = withElements(result, builder.getIntNTy(bits));
  const bool isSigned = isa<FPToSIInst>(instruction);
  Value *integer = builder.CreateIntrinsic(isSigned ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat, {type, number->getType()}, {number});
  if (bits == 64 || number->getType()->getScalarSizeInBits() == 64) {
    Value *isNan = builder.CreateFCmpUNO(number, number);
    integer = builder.CreateSelect(isNan, ConstantInt::get(type, APInt::getSignMask(bits)), integer);
  }
  instruction.replaceAllUsesWith(builder.CreateTrunc(integer, result));
  instruction.eraseFromParent();
  return true;
}

void FunctionLowering::checkDivision(llvm::Instruction &instruction) {
  const unsigned opcode = instruction.getOpcode();
  const bool isSigned = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
  if (!isSigned && opcode != llvm::Instruction::UDiv && opcode != llvm::Instruction::URem)
    return;
  Value *divisor = instruction.getOperand(1);
  if (const auto *known = dyn_cast<ConstantInt>(divisor); known && !known->isZero() && !known->isMinusOne())
    return;
  IRBuilder<> builder(&instruction);
  Type *type = divisor->getType();
  Value *isUndefined = builder.CreateICmpEQ(divisor, Constant::getNullValue(type));
  if (isSigned) {
    Value *isLowest = builder.CreateICmpEQ(instruction.getOperand(0),
                                           ConstantInt::get(type, APInt::getSignedMinValue(type->getScalarSizeInBits())));
    Value *isNegated = builder.CreateICmpEQ(divisor, Constant::getAllOnesValue(type));
    isUndefined = builder.CreateOr(isUndefined, builder.CreateAnd(isLowest, isNegated));
  }
  if (type->isVectorTy())
    isUndefined = builder.CreateOrReduce(isUndefined);
  callHost(builder, reinterpret_cast<const void *>(&emulator::checkDivision),
           {thread, address(&addOp(instruction.getOpcodeName(), instruction, {})), builder.CreateZExt(isUndefined, builder.getInt32Ty())});
}

namespace {
/// Bytes of a local variable; none where its length is known only when it runs.
std::optional<uint64_t> bytesOf(const AllocaInst &variable) {
  const std::optional<TypeSize> size = variable.getAllocationSize(variable.getDataLayout());
  return size ? std::optional(size->getFixedValue()) : std::nullopt;
}
} // namespace

uint64_t localBytesOf(const Function &function) {
  uint64_t bytes = 0;
  for (const llvm::Instruction &instruction : function.getEntryBlock())
    if (const auto *variable = dyn_cast<AllocaInst>(&instruction))
      bytes += bytesOf(*variable).value_or(0);
  return bytes;
}

void FunctionLowering::checkCall(CallInst &call, const Function &callee) {
  IRBuilder<> builder(&call);
  callHost(builder, reinterpret_cast<const void *>(&emulator::checkStack),
           {thread, address(&addOp("call of " + callee.getName().str(), call, {})), builder.getInt64(localBytesOf(callee))});
}

/// Variables that are not part of their function's frame.
void FunctionLowering::checkVariable(llvm::Instruction &instruction) {
  auto *variable = dyn_cast<AllocaInst>(&instruction);
  if (!variable || variable->isStaticAlloca())
    return;
  IRBuilder<> builder(&instruction);
  const uint64_t one = function.getDataLayout().getTypeAllocSize(variable->getAllocatedType());
  Value *count = builder.CreateZExtOrTrunc(variable->getArraySize(), builder.getInt64Ty());
  callHost(builder, reinterpret_cast<const void *>(&emulator::checkStack),
           {thread, address(&addOp("alloca", instruction, {})), builder.CreateMul(count, builder.getInt64(one))});
}

void checkStack(Thread *thread, const Op *op, uint64_t bytes) {
  Block &block = *thread->block;
  if (bytes <= block.stacks.left(thread->fiber, __builtin_frame_address(0)))
    return;
  block.fail(block.describe(Fault::trap, *thread, *op, "runs", "its stack would be larger than the 512 KiB of a thread's local memory"));
}

void checkDivision(Thread *thread, const Op *op, uint32_t isUndefined) {
  if (!isUndefined)
    return;
  Block &block = *thread->block;
  block.fail(block.describe(Fault::trap, *thread, *op, "divides",
                            "the quotient is undefined: the divisor is zero, or the lowest number is divided by -1"));
}
} // namespace logitile::emulator
