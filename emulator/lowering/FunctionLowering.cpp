// FunctionLowering.cpp - calls of handlers in place of GPU instructions, operands and results
// through the frame. Instrumentation of plain memory accesses is in Instrument.cpp.
#include "emulator/lowering/FunctionLowering.h"
#include "emulator/block/Access.h"
#include "emulator/lowering/InlinePtx.h"
#include "emulator/block/Meetings.h"
#include "emulator/instructions/InstructionTable.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
using namespace llvm;

namespace logitile::emulator {
namespace {
constexpr StringRef kPrefix = "llvm.nvvm.";

uint32_t resultsOf(const CallInst &call) {
  Type *type = call.getType();
  return type->isVoidTy() ? 0 : type->isStructTy() ? type->getStructNumElements() : 1;
}

uint32_t slotsOf(const CallInst &call) { return call.arg_size() + resultsOf(call); }

/// Byte offset in Thread of a special register; none where it has no place there.
std::optional<size_t> registerOffset(StringRef name) {
  if (name == "laneid")
    return offsetof(Thread, lane);
  auto [vector, axis] = name.split('.');
  const std::optional<size_t> start = vector == "tid"      ? std::optional(offsetof(Thread, tid))
                                      : vector == "ntid"   ? std::optional(offsetof(Thread, ntid))
                                      : vector == "ctaid"  ? std::optional(offsetof(Thread, ctaid))
                                      : vector == "nctaid" ? std::optional(offsetof(Thread, nctaid))
                                                           : std::nullopt;
  if (!start || axis.size() != 1 || axis[0] < 'x' || axis[0] > 'z')
    return std::nullopt;
  return *start + sizeof(uint32_t) * (axis[0] - 'x');
}

/// Bits of lanes before or after one, and itself: PTX ISA, "%lanemask_le" and its like. Null for
/// an unknown name.
Value *laneMask(IRBuilderBase &builder, StringRef name, Value *own) {
  Value *before = builder.CreateSub(own, builder.getInt32(1));
  Value *upTo = builder.CreateOr(before, own);
  return name == "eq"   ? own
         : name == "lt" ? before
         : name == "le" ? upTo
         : name == "gt" ? builder.CreateNot(upTo)
         : name == "ge" ? builder.CreateNot(before)
                        : nullptr;
}

/// Inputs of inline PTX, and which of them its outputs start from.
PtxOperands ptxOperandsOf(const CallInst &call) {
  PtxOperands operands(call.arg_size());
  const InlineAsm::ConstraintInfoVector constraints = cast<InlineAsm>(call.getCalledOperand())->ParseConstraints();
  std::vector<uint32_t> inputs; // by constraint
  uint32_t count = 0;
  for (const InlineAsm::ConstraintInfo &constraint : constraints) {
    inputs.push_back(count);
    count += constraint.Type == InlineAsm::isInput;
  }
  for (const InlineAsm::ConstraintInfo &constraint : constraints)
    if (constraint.Type == InlineAsm::isOutput)
      operands.ties.push_back(constraint.MatchingInput < 0 ? PtxOperands::kNone : inputs[constraint.MatchingInput]);
  return operands;
}

/// Of a text of several statements, the opcode that matters.
std::string shortened(StringRef text) {
  return text.contains('\n') ? text.substr(text.find("wgmma.")).take_until([](char c) { return c == ' ' || c == ';'; }).str() : text.str();
}

std::string refuse(const llvm::Instruction &at, const Twine &what) {
  return (what + " at " + sourceOf(at).text() + " in '" + at.getFunction()->getName() +
          "'; the emulator knows only its closed list of instructions")
      .str();
}
} // namespace

Source sourceOf(const llvm::Instruction &instruction) {
  Source source;
  const DILocation *first = instruction.getDebugLoc().get();
  for (const DILocation *place = first; place; place = place->getInlinedAt())
    source.places.push_back({place->getFilename().str(), place->getLine(), place->getColumn()});
  // An operation on tiles is told as a function that was inlined into the kernel.
  if (first && first->getInlinedAt() && first->getScope()->getSubprogram() != instruction.getFunction()->getSubprogram())
    source.operation = first->getScope()->getSubprogram()->getName().str();
  return source;
}

FunctionLowering::FunctionLowering(Function &function, Lowered &lowered) : function(function), lowered(lowered) {
  for (BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      originals.push_back(&instruction);
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>> jumpsBack;
  FindFunctionBackedges(function, jumpsBack);
  for (const auto &[from, to] : jumpsBack)
    loopEnds.insert(from->getTerminator());
}

bool FunctionLowering::run(Value *runningThread, Value *operandFrame, std::string &error) {
  thread = runningThread;
  frame = operandFrame;
  if (!resolveSums(error))
    return false;
  for (llvm::Instruction *instruction : originals)
    if (!lowerInstruction(*instruction, error))
      return false;
  return true;
}

bool FunctionLowering::lowerInstruction(llvm::Instruction &instruction, std::string &error) {
  if (waitsForPending(instruction))
    return true;
  if (instruction.isTerminator() || usesPending(instruction))
    flush(instruction);
  if (loopEnds.count(&instruction))
    countTurn(instruction);
  if (auto *call = dyn_cast<CallInst>(&instruction); call && !isa<AnyMemIntrinsic>(call))
    return lowerCall(*call, error);
  if (isa<UnreachableInst>(instruction)) {
    reportTrap(instruction, "unreachable");
    return true;
  }
  if (accessesUnknownMemory(instruction)) {
    error = refuse(instruction, Twine("'") + instruction.getOpcodeName() + "' in an address space that is neither global nor shared memory");
    return false;
  }
  if (instruction.mayWriteToMemory())
    flush(instruction);
  if (auto *fence = dyn_cast<FenceInst>(&instruction)) {
    lowerFence(*fence);
    return true;
  }
  if (convertAsGpu(instruction))
    return true;
  checkDivision(instruction);
  checkVariable(instruction);
  checkMemory(instruction);
  return true;
}

bool FunctionLowering::lowerCall(CallInst &call, std::string &error) {
  if (call.isInlineAsm()) {
    const std::string text(cast<InlineAsm>(call.getCalledOperand())->getAsmString());
    if (const std::optional<Instruction> known = readPtx(text, ptxOperandsOf(call))) {
      lowerKnown(call, addOp(shortened(text), call, *known));
      return true;
    }
    error = refuse(call, "unknown inline PTX '" + Twine(text) + "'");
    return false;
  }
  const Function *callee = call.getCalledFunction();
  if (!callee) {
    error = refuse(call, "call through a pointer");
    return false;
  }
  StringRef name = callee->getName();
  const Intrinsic::ID known = callee->getIntrinsicID();
  if (known == Intrinsic::trap || known == Intrinsic::debugtrap || known == Intrinsic::ubsantrap) {
    flush(call);
    reportTrap(call, name.str());
    call.eraseFromParent();
    return true;
  }
  if (!callee->isDeclaration()) {
    call.setCallingConv(CallingConv::C); // as all functions have it
    flush(call);
    checkCall(call, *callee);
  }
  if (!callee->isDeclaration() || (callee->isIntrinsic() && !name.starts_with(kPrefix))) {
    if (!isa<DbgInfoIntrinsic>(call) && call.mayWriteToMemory())
      flush(call);
    return true;
  }
  const std::string full = name.str();
  if (name.consume_front(kPrefix)) {
    if (lowerRegister(call, name))
      return true;
    if (const std::optional<Instruction> known = findInstruction(name)) {
      lowerKnown(call, addOp(full, call, *known));
      return true;
    }
  }
  error = refuse(call, "unknown function '" + Twine(full) + "'");
  return false;
}

void FunctionLowering::reportTrap(llvm::Instruction &instruction, std::string name) {
  IRBuilder<> builder(&instruction);
  callHost(builder, reinterpret_cast<const void *>(&emulator::trap), {thread, address(&addOp(std::move(name), instruction, {}))});
}

void FunctionLowering::countTurn(llvm::Instruction &end) {
  IRBuilder<> builder(&end);
  callHost(builder, reinterpret_cast<const void *>(&emulator::countTurn), {thread, address(&addOp("loop", end, {}))});
}

bool FunctionLowering::lowerRegister(CallInst &call, std::string_view text) {
  StringRef name = text;
  if (!name.consume_front("read.ptx.sreg."))
    return false;
  IRBuilder<> builder(&call);
  if (name == "warpsize") {
    call.replaceAllUsesWith(builder.getInt32(32));
  } else if (name.consume_front("lanemask.")) {
    Value *lane = builder.CreateLoad(builder.getInt32Ty(), builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread, offsetof(Thread, lane)));
    Value *mask = laneMask(builder, name, builder.CreateShl(builder.getInt32(1), lane));
    if (!mask)
      return false;
    call.replaceAllUsesWith(mask);
  } else {
    const std::optional<size_t> offset = registerOffset(name);
    if (!offset)
      return false;
    call.replaceAllUsesWith(
        builder.CreateLoad(builder.getInt32Ty(), builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread, *offset)));
  }
  call.eraseFromParent();
  return true;
}

void FunctionLowering::lowerKnown(CallInst &call, const Op &op) {
  const Instruction &instruction = op.instruction;
  IRBuilder<> builder(&call);
  if (instruction.meeting == Meeting::none) {
    if (instruction.hasEffects)
      flush(call);
    builder.SetInsertPoint(&call);
    const uint32_t firstSlot = pendingSlots; // operands of what is pending stay where they are
    storeOperands(builder, call, firstSlot);
    callHost(builder, reinterpret_cast<const void *>(instruction.thread), {thread, address(&op), slotAddress(builder, firstSlot)});
    if (resultsOf(call))
      call.replaceAllUsesWith(loadResults(builder, call, firstSlot));
    call.eraseFromParent();
    return;
  }
  const uint32_t slots = slotsOf(call);
  if (!fitsPending(call, op, slots))
    flush(call);
  builder.SetInsertPoint(&call);
  storeOperands(builder, call, pendingSlots);
  pending.push_back({&call, &op, pendingSlots, {}});
  pendingSlots += slots;
  if (instruction.hasEffects)
    flush(*call.getNextNode());
}

bool FunctionLowering::usesPending(const llvm::Instruction &instruction) const {
  auto isUsed = [&](const Value *value) { return is_contained(instruction.operand_values(), value); };
  for (const Pending &waiting : pending)
    if (isUsed(waiting.call) || any_of(waiting.parts, isUsed))
      return true;
  return false;
}

bool FunctionLowering::waitsForPending(llvm::Instruction &instruction) {
  auto *part = dyn_cast<ExtractValueInst>(&instruction);
  if (!part || part->getNumIndices() != 1)
    return false;
  for (Pending &waiting : pending)
    if (part->getAggregateOperand() == waiting.call) {
      waiting.parts.push_back(part);
      return true;
    }
  return false;
}

bool FunctionLowering::fitsPending(const CallInst &call, const Op &op, uint32_t slots) const {
  if (pending.empty())
    return true;
  const Pending &first = pending.front();
  const Instruction &one = first.op->instruction, &other = op.instruction;
  if (other.hasEffects || one.meeting != other.meeting || pendingSlots + slots + 16 > kFrameSlots)
    return false;
  return one.meeting == Meeting::aligned || first.call->getArgOperand(one.maskSlot) == call.getArgOperand(other.maskSlot);
}

void FunctionLowering::flush(llvm::Instruction &before) {
  if (pending.empty())
    return;
  IRBuilder<> builder(&before);
  builder.SetCurrentDebugLocation(pending.front().call->getDebugLoc());
  Meet &meet = lowered.meets.emplace_back();
  for (const Pending &waiting : pending)
    meet.members.push_back({waiting.op, waiting.firstSlot});
  const Instruction &first = pending.front().op->instruction;
  Value *mask = first.meeting == Meeting::aligned ? builder.getInt32(~0u) : pending.front().call->getArgOperand(first.maskSlot);
  callHost(builder, reinterpret_cast<const void *>(&emulator::meet), {thread, address(&meet), frame, mask});
  for (const Pending &waiting : pending)
    replaceResults(builder, waiting);
  pending.clear();
  pendingSlots = 0;
}

void FunctionLowering::replaceResults(IRBuilderBase &builder, const Pending &waiting) {
  const uint32_t first = waiting.firstSlot + waiting.call->arg_size();
  for (ExtractValueInst *part : waiting.parts) {
    part->replaceAllUsesWith(loadResult(builder, part->getType(), first + part->getIndices()[0]));
    part->eraseFromParent();
  }
  if (!waiting.call->use_empty())
    waiting.call->replaceAllUsesWith(loadResults(builder, *waiting.call, waiting.firstSlot));
  waiting.call->eraseFromParent();
}

Value *FunctionLowering::slotAddress(IRBuilderBase &builder, uint32_t slot) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), frame, slot);
}

void FunctionLowering::storeOperands(IRBuilderBase &builder, CallInst &call, uint32_t firstSlot) {
  for (uint32_t i = 0; i < call.arg_size(); ++i) {
    Value *operand = call.getArgOperand(i);
    if (operand->getType()->isIntegerTy()) // handlers may take an integer for an address
      operand = builder.CreateZExtOrTrunc(operand, builder.getInt64Ty());
    builder.CreateStore(operand, slotAddress(builder, firstSlot + i));
  }
}

Value *FunctionLowering::loadResult(IRBuilderBase &builder, Type *type, uint32_t slot) {
  if (!type->isIntegerTy(1))
    return builder.CreateLoad(type, slotAddress(builder, slot));
  return builder.CreateTrunc(builder.CreateLoad(builder.getInt8Ty(), slotAddress(builder, slot)), type);
}

Value *FunctionLowering::loadResults(IRBuilderBase &builder, CallInst &call, uint32_t firstSlot) {
  const uint32_t first = firstSlot + call.arg_size();
  Type *type = call.getType();
  if (!type->isStructTy())
    return loadResult(builder, type, first);
  Value *whole = PoisonValue::get(type);
  for (uint32_t i = 0; i < type->getStructNumElements(); ++i)
    whole = builder.CreateInsertValue(whole, loadResult(builder, type->getStructElementType(i), first + i), i);
  return whole;
}

Value *FunctionLowering::address(const void *host) {
  LLVMContext &context = function.getContext();
  return ConstantExpr::getIntToPtr(ConstantInt::get(Type::getInt64Ty(context), reinterpret_cast<uintptr_t>(host)),
                                   PointerType::get(context, 0));
}

void FunctionLowering::callHost(IRBuilderBase &builder, const void *host, const std::vector<Value *> &arguments) {
  std::vector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  CallInst *call = builder.CreateCall(FunctionType::get(builder.getVoidTy(), types, false), address(host), arguments);
  call->setConvergent();
  call->setDoesNotThrow();
}

Op &FunctionLowering::addOp(std::string name, const llvm::Instruction &at, const Instruction &instruction) {
  lowered.ops.push_back({std::move(name), sourceOf(at), static_cast<uint32_t>(lowered.ops.size()), instruction});
  return lowered.ops.back();
}
} // namespace logitile::emulator
