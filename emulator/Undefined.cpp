// Undefined.cpp - arithmetic that LLVM leaves undefined and a GPU does not: conversions out of range get the GPU's numbers, and
// divisions that would end the host's process are reported.
#include "emulator/Access.h"
#include "emulator/FunctionLowering.h"
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

/// PTX ISA, "cvt": integers saturate. A NaN becomes zero, or the lowest bit pattern of its sign where 64 bits take part.
/// There are no registers of 8 bits: narrow results are the low bits of 16.
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

void checkDivision(Thread *thread, const Op *op, uint32_t isUndefined) {
  if (!isUndefined)
    return;
  Block &block = *thread->block;
  block.fail(block.describe(Fault::trap, *thread, *op, "divides",
                            "the quotient is undefined: the divisor is zero, or the lowest number is divided by -1"));
}
} // namespace logitile::emulator
