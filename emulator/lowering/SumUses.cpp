// SumUses.cpp - finds where a kernel uses sums of wgmma. Before such a use, marks are replaced by
// the numbers (Products.h).
#include "emulator/lowering/FunctionLowering.h"
#include "emulator/core/Families.h"
#include "emulator/block/Meetings.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
using namespace llvm;

namespace logitile::emulator {
namespace {
/// Inline PTX that takes sums and gives them on.
bool passesSums(const llvm::Instruction &instruction) {
  const auto *call = dyn_cast<CallInst>(&instruction);
  if (!call || !call->isInlineAsm())
    return false;
  const StringRef text = cast<InlineAsm>(call->getCalledOperand())->getAsmString();
  return text.contains("wgmma.mma_async") || text.contains("wgmma.wait_group");
}

/// Whether a user of sums has them as its own value.
bool holdsSums(const Use &use) {
  const auto *user = cast<llvm::Instruction>(use.getUser());
  if (isa<PHINode, ExtractValueInst, InsertValueInst, FreezeInst>(user))
    return true;
  if (isa<SelectInst>(user))
    return use.getOperandNo() != 0;
  // Only sums are f32 operands of these; a fragment of A is integers.
  return passesSums(*user);
}
} // namespace

bool FunctionLowering::resolveSums(std::string &error) {
  std::vector<Value *> left;
  std::set<const Value *> seen;
  for (llvm::Instruction *instruction : originals)
    if (passesSums(*instruction) && !instruction->getType()->isVoidTy() && seen.insert(instruction).second)
      left.push_back(instruction);
  std::vector<Use *> uses;
  while (!left.empty()) {
    Value *sums = left.back();
    left.pop_back();
    for (Use &use : sums->uses())
      if (!holdsSums(use))
        uses.push_back(&use);
      else if (seen.insert(use.getUser()).second)
        left.push_back(use.getUser());
  }
  for (Use *use : uses) {
    auto *user = cast<llvm::Instruction>(use->getUser());
    if (!use->get()->getType()->isFloatTy()) {
      error = "'" + function.getName().str() + "' passes sums of wgmma on as a whole, with '" + user->getOpcodeName() + "' at " +
              sourceOf(*user).text() + "; the emulator knows them only one by one";
      return false;
    }
    IRBuilder<> builder(user);
    const Op &op = addOp(user->getOpcodeName(), *user, {});
    Value *sum = use->get();
    auto *type = FunctionType::get(sum->getType(), {builder.getPtrTy(), builder.getPtrTy(), sum->getType()}, false);
    CallInst *call = builder.CreateCall(type, address(reinterpret_cast<const void *>(&resolveSum)), {thread, address(&op), sum});
    call->setConvergent();
    call->setDoesNotThrow();
    use->set(call);
  }
  return true;
}
} // namespace logitile::emulator
