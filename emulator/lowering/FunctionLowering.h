// FunctionLowering.h - lowers one function. Calls of intrinsics and of inline PTX become calls of
// handlers, and a check is inserted before each access of memory. Lower.cpp handles the module.
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
  /// Records the instructions of the function. Only they are lowered: instructions that are
  /// inserted later belong to the emulator.
  FunctionLowering(llvm::Function &function, Lowered &lowered);
  /// The number of slots of the frame.
  static constexpr uint32_t kFrameSlots = 1024;
  /// Lowers the function. False, with 'error', if the emulator does not know one of its
  /// instructions. 'runningThread' and 'operandFrame' are values of the entry block: the emulated
  /// thread that runs, and the memory for operands and results of instructions.
  bool run(llvm::Value *runningThread, llvm::Value *operandFrame, std::string &error);

private:
  /// A warp-wide instruction for which no call of 'meet' has been inserted yet. The code that
  /// stores its operands in the frame has been inserted.
  struct Pending {
    llvm::CallInst *call;
    const Op *op;
    uint32_t firstSlot;
    std::vector<llvm::ExtractValueInst *> parts; // instructions that extract parts of its result, also pending
  };

  bool lowerInstruction(llvm::Instruction &instruction, std::string &error);
  bool lowerCall(llvm::CallInst &call, std::string &error);
  void lowerKnown(llvm::CallInst &call, const Op &op);
  /// Finds the uses of sums of wgmma in the kernel. Inserts code before them that replaces marks by
  /// the sums (Products.h).
  bool resolveSums(std::string &error);
  bool lowerRegister(llvm::CallInst &call, std::string_view name);
  /// Inserts the report of a fault before an instruction that ends the kernel.
  void reportTrap(llvm::Instruction &instruction, std::string name);
  /// Inserts code that counts an iteration of a loop, before the jump back to the loop's start.
  void countTurn(llvm::Instruction &end);
  /// Whether an instruction accesses memory that the emulator does not have: the address spaces of
  /// parameters, constants and stacks. Accesses of variables are known in any address space.
  static bool accessesUnknownMemory(const llvm::Instruction &instruction);
  void checkMemory(llvm::Instruction &instruction);
  void checkVariableBounds(llvm::Instruction &instruction, llvm::Value *pointer, llvm::Value *bytes);
  void lowerFence(llvm::FenceInst &instruction);
  /// Replaces a conversion of a floating-point number to an integer by code with the GPU's results.
  /// False if the instruction is another one.
  bool convertAsGpu(llvm::Instruction &instruction);
  void checkDivision(llvm::Instruction &instruction);
  void checkCall(llvm::CallInst &call, const llvm::Function &callee);
  void checkVariable(llvm::Instruction &instruction);
  void checkPointer(llvm::Instruction &instruction, llvm::Value *pointer, llvm::Value *bytes, AccessKind kind, uint64_t alignment);

  // ---- meetings: neighbouring instructions share one if they do not depend on each other
  bool usesPending(const llvm::Instruction &instruction) const;
  /// Whether the instruction only extracts a part of a pending result. If so, it becomes pending,
  /// too.
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
  std::set<const llvm::Instruction *> loopEnds; // instructions that may jump back to the start of a loop
  llvm::Value *thread = nullptr, *frame = nullptr;
  std::vector<Pending> pending;
  uint32_t pendingSlots = 0;
};

/// The bytes of the variables in a function's stack frame.
uint64_t localBytesOf(const llvm::Function &function);
/// Where an instruction comes from, according to its debug location.
Source sourceOf(const llvm::Instruction &instruction);
} // namespace logitile::emulator
