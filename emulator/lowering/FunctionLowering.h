// FunctionLowering.h - lowers one function: calls of intrinsics and inline PTX become calls of
// handlers, and each access of memory is checked first. Lower.cpp handles the module.
#pragma once
#include "emulator/lowering/Lower.h"
#include <memory>
#include <set>

namespace llvm {
class CallInst;
class ExtractValueInst;
class FenceInst;
class Function;
class Instruction;
class IRBuilderBase;
class Type;
class Value;
} // namespace llvm

namespace logitile::emulator {
class FunctionLowering {
public:
  /// Takes note of the function's own instructions: those that come later are the emulator's.
  FunctionLowering(llvm::Function &function, Lowered &lowered);
  /// Slots of the frame.
  static constexpr uint32_t kFrameSlots = 1024;
  /// 'runningThread' and 'operandFrame' are values of the first block: who runs, and room for
  /// operands.
  bool run(llvm::Value *runningThread, llvm::Value *operandFrame, std::string &error);

private:
  /// A warp-wide instruction whose lanes have not met yet: its operands are in the frame already.
  struct Pending {
    llvm::CallInst *call;
    const Op *op;
    uint32_t firstSlot;
    std::vector<llvm::ExtractValueInst *> parts; // of its result, which wait with it
  };

  bool lowerInstruction(llvm::Instruction &instruction, std::string &error);
  bool lowerCall(llvm::CallInst &call, std::string &error);
  void lowerKnown(llvm::CallInst &call, const Op &op);
  /// Has the numbers come in place of marks where the kernel uses sums of wgmma.
  bool resolveSums(std::string &error);
  bool lowerRegister(llvm::CallInst &call, std::string_view name);
  /// A report in place of an instruction that ends the kernel.
  void reportTrap(llvm::Instruction &instruction, std::string name);
  /// Counts a turn before the jump back to the start of a loop.
  void countTurn(llvm::Instruction &end);
  /// Whether an instruction accesses memory that the emulator does not have: parameters, constants
  /// and stacks by their numbers.
  static bool accessesUnknownMemory(const llvm::Instruction &instruction);
  void checkMemory(llvm::Instruction &instruction);
  void checkVariableBounds(llvm::Instruction &instruction, llvm::Value *pointer, llvm::Value *bytes);
  void lowerFence(llvm::FenceInst &instruction);
  /// Replaces a conversion of a number to an integer; false where the instruction is none.
  bool convertAsGpu(llvm::Instruction &instruction);
  void checkDivision(llvm::Instruction &instruction);
  void checkCall(llvm::CallInst &call, const llvm::Function &callee);
  void checkVariable(llvm::Instruction &instruction);
  void checkPointer(llvm::Instruction &instruction, llvm::Value *pointer, llvm::Value *bytes, AccessKind kind, uint64_t alignment);

  // ---- meetings: independent neighbours share one
  bool usesPending(const llvm::Instruction &instruction) const;
  /// Whether the instruction only takes a part of a pending result, and then has it wait too.
  bool waitsForPending(llvm::Instruction &instruction);
  bool fitsPending(const llvm::CallInst &call, const Op &op, uint32_t slots) const;
  void flush(llvm::Instruction &before);
  void replaceResults(llvm::IRBuilderBase &builder, const Pending &waiting);

  void storeOperands(llvm::IRBuilderBase &builder, llvm::CallInst &call, uint32_t firstSlot);
  llvm::Value *loadResults(llvm::IRBuilderBase &builder, llvm::CallInst &call, uint32_t firstSlot);
  llvm::Value *loadResult(llvm::IRBuilderBase &builder, llvm::Type *type, uint32_t slot);
  llvm::Value *slotAddress(llvm::IRBuilderBase &builder, uint32_t slot);
  llvm::Value *address(const void *host);
  void callHost(llvm::IRBuilderBase &builder, const void *host, const std::vector<llvm::Value *> &arguments);
  Op &addOp(std::string name, const llvm::Instruction &at, const Instruction &instruction);

  llvm::Function &function;
  Lowered &lowered;
  std::vector<llvm::Instruction *> originals;
  std::set<const llvm::Instruction *> loopEnds; // which may jump back
  llvm::Value *thread = nullptr, *frame = nullptr;
  std::vector<Pending> pending;
  uint32_t pendingSlots = 0;
};

/// What the variables in a function's frame take.
uint64_t localBytesOf(const llvm::Function &function);
/// Where an instruction comes from, from its debug location.
Source sourceOf(const llvm::Instruction &instruction);
} // namespace logitile::emulator
