// Lower.cpp - lowers the module as a whole: shared variables, callers of kernels, and attributes
// that no longer hold. FunctionLowering.cpp lowers single instructions.
#include "emulator/lowering/Lower.h"
#include "emulator/block/Block.h"
#include "emulator/lowering/FunctionLowering.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
using namespace llvm;

namespace logitile::emulator {
namespace {
constexpr unsigned kSharedSpace = 3;

Thread *runningThread() { return &Block::running().currentThread(); }

using Functions = std::set<const Function *>;

/// The functions that a kernel runs, itself included.
Functions reachedFrom(const Function &kernel) {
  Functions reached;
  std::vector<const Function *> left = {&kernel};
  while (!left.empty()) {
    const Function *function = left.back();
    left.pop_back();
    if (!reached.insert(function).second)
      continue;
    for (const llvm::Instruction &instruction : instructions(function))
      if (const auto *call = dyn_cast<CallBase>(&instruction))
        if (const Function *callee = call->getCalledFunction())
          left.push_back(callee);
  }
  return reached;
}

/// The functions that use a value, also through constant expressions.
void addUsers(const Value &value, Functions &functions) {
  for (const User *user : value.users()) {
    if (const auto *instruction = dyn_cast<llvm::Instruction>(user))
      functions.insert(instruction->getFunction());
    else if (isa<Constant>(user))
      addUsers(*user, functions);
  }
}

/// Offsets of shared variables. A function may run in several kernels, so a variable has one offset
/// in all; two that no kernel uses together may share their place. Those without a size of their
/// own, the dynamic ones, start after the others.
class SharedLayout {
public:
  explicit SharedLayout(Module &module) {
    for (const Function &function : module)
      if (function.getCallingConv() == CallingConv::PTX_Kernel)
        bytes[&function] = 0;
    for (bool isDynamic : {false, true}) // more than one dynamic variable shares its start up to alignment, as the driver has it
      for (GlobalVariable &variable : module.globals())
        if (variable.getAddressSpace() == kSharedSpace && variable.isDeclaration() == isDynamic)
          place(module, variable);
  }

  /// What a kernel's variables take, up to where its dynamic part starts.
  uint32_t bytesOf(const Function &kernel) const { return bytes.at(&kernel); }

  /// Replaces uses in a function by addresses from the running thread's shared memory.
  void replaceUses(Function &function, IRBuilder<> &builder, Value *thread) const {
    if (offsets.empty())
      return;
    Value *start =
        builder.CreateLoad(builder.getPtrTy(), builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread, offsetof(Thread, shared)));
    for (auto [variable, offset] : offsets) {
      Value *place =
          builder.CreateAddrSpaceCast(builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), start, offset), variable->getType());
      convertUsersOfConstantsToInstructions({variable}, &function, false);
      variable->replaceUsesWithIf(place, [&](Use &use) {
        auto *user = dyn_cast<llvm::Instruction>(use.getUser());
        return user && user->getFunction() == &function;
      });
    }
  }

private:
  void place(Module &module, GlobalVariable &variable) {
    Functions users;
    addUsers(variable, users);
    std::vector<const Function *> kernels;
    uint32_t start = 0;
    for (const auto &[kernel, used] : bytes) {
      const Functions reached = reachedFrom(*kernel);
      if (std::ranges::none_of(users, [&](const Function *user) { return reached.count(user) != 0; }))
        continue;
      kernels.push_back(kernel);
      start = std::max(start, used);
    }
    const DataLayout &layout = module.getDataLayout();
    const auto offset =
        static_cast<uint32_t>(alignTo(start, layout.getValueOrABITypeAlignment(variable.getAlign(), variable.getValueType())));
    offsets.push_back({&variable, offset});
    for (const Function *kernel : kernels)
      bytes[kernel] = offset + (variable.isDeclaration() ? 0 : static_cast<uint32_t>(layout.getTypeAllocSize(variable.getValueType())));
  }
  std::map<const Function *, uint32_t> bytes; // of each kernel
  std::vector<std::pair<GlobalVariable *, uint32_t>> offsets;
};

/// That the parameter is a copy of the caller's bytes, as attributes; none where it is not.
AttrBuilder byValueOf(const Argument &parameter) {
  AttrBuilder attributes(parameter.getContext());
  if (!parameter.hasByValAttr())
    return attributes;
  attributes.addByValAttr(parameter.getParamByValType());
  attributes.addAlignmentAttr(parameter.getParamAlign());
  return attributes;
}

/// Handlers write memory in ways that attributes and metadata of the kernel rule out.
/// What is passed by value remains: it says how a caller passes it.
void dropPromises(Function &function) {
  std::vector<AttrBuilder> byValue;
  for (const Argument &parameter : function.args())
    byValue.push_back(byValueOf(parameter));
  function.setAttributes(AttributeList());
  for (Argument &parameter : function.args())
    parameter.addAttrs(byValue[parameter.getArgNo()]);
  function.setCallingConv(CallingConv::C);
  function.setLinkage(GlobalValue::InternalLinkage);
  function.setComdat(nullptr);
  function.setDSOLocal(true);
  for (BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      instruction.dropUnknownNonDebugMetadata();
}

/// Three numbers of an attribute; zeros where it is not there.
std::array<uint32_t, 3> numbersOf(const Function &function, StringRef attribute) {
  std::array<uint32_t, 3> numbers = {0, 0, 0};
  StringRef text = function.getFnAttribute(attribute).getValueAsString();
  if (text.empty())
    return numbers;
  numbers = {1, 1, 1};
  for (uint32_t &count : numbers) {
    auto [first, rest] = text.split(',');
    if (!first.empty() && first.trim().getAsInteger(10, count))
      count = 0;
    text = rest;
  }
  return numbers;
}

/// Registers that each thread of a kernel has at its start, where setmaxnreg can know them: PTX
/// ISA, "setmaxnreg".
uint32_t registersOf(const Function &function) {
  uint32_t given = 0;
  if (!function.getFnAttribute("nvvm.maxnreg").getValueAsString().getAsInteger(10, given) && given)
    return given;
  constexpr uint32_t kOfBlock = 65536, kStep = 8, kMost = 256;
  for (const char *attribute : {"nvvm.reqntid", "nvvm.maxntid"}) {
    const auto [x, y, z] = numbersOf(function, attribute);
    if (const uint32_t threads = x * y * z)
      return std::min(kMost, kOfBlock / threads / kStep * kStep);
  }
  return 0;
}

/// A function void(const void *const *arguments) that calls a kernel. Each thread has a copy of its
/// own of what is passed by value.
KernelFacts addCaller(Function &kernel) {
  Module &module = *kernel.getParent();
  LLVMContext &context = module.getContext();
  KernelFacts facts;
  facts.caller = ("emulate_" + kernel.getName()).str();
  facts.parameters = static_cast<uint32_t>(kernel.arg_size());
  auto *pointer = PointerType::get(context, 0);
  auto *caller =
      Function::Create(FunctionType::get(Type::getVoidTy(context), {pointer}, false), GlobalValue::ExternalLinkage, facts.caller, module);
  IRBuilder<> builder(BasicBlock::Create(context, "", caller));
  std::vector<Value *> arguments;
  for (Argument &parameter : kernel.args()) {
    Value *where = builder.CreateLoad(pointer, builder.CreateConstGEP1_64(pointer, caller->getArg(0), parameter.getArgNo()));
    arguments.push_back(parameter.hasByValAttr() ? where : builder.CreateLoad(parameter.getType(), where));
  }
  CallInst *call = builder.CreateCall(&kernel, arguments);
  for (const Argument &parameter : kernel.args())
    call->setAttributes(call->getAttributes().addParamAttributes(context, parameter.getArgNo(), byValueOf(parameter)));
  builder.CreateRetVoid();
  return facts;
}

bool lowerFunction(Function &function, const SharedLayout &shared, Lowered &lowered, std::string &error) {
  if (const uint64_t bytes = localBytesOf(function); bytes > FiberStacks::kLocalBytes) {
    error = "'" + function.getName().str() + "' has variables of " + std::to_string(bytes) + " bytes, more than the " +
            std::to_string(FiberStacks::kLocalBytes) + " of a thread's local memory";
    return false;
  }
  FunctionLowering lowering(function, lowered);
  IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  auto *frame = builder.CreateAlloca(ArrayType::get(builder.getInt64Ty(), FunctionLowering::kFrameSlots));
  frame->setAlignment(Align(64));
  Value *running = builder.CreateIntToPtr(builder.getInt64(reinterpret_cast<uintptr_t>(&runningThread)), builder.getPtrTy());
  Value *thread = builder.CreateCall(FunctionType::get(builder.getPtrTy(), false), running);
  if (!lowering.run(thread, frame, error)) // which has to see the variables themselves
    return false;
  IRBuilder<> start(cast<llvm::Instruction>(thread)->getNextNode());
  shared.replaceUses(function, start, thread);
  return true;
}

void lowerOne(Function &function, const SharedLayout &shared, Lowered &lowered, std::string &error) {
  if (!lowerFunction(function, shared, lowered, error))
    return;
  const bool isKernel = function.getCallingConv() == CallingConv::PTX_Kernel;
  const std::array<uint32_t, 3> threads = numbersOf(function, "nvvm.reqntid");
  const std::array<uint32_t, 3> cluster = numbersOf(function, "nvvm.cluster_dim");
  const uint32_t registers = registersOf(function);
  dropPromises(function);
  if (!isKernel)
    return;
  KernelFacts facts = addCaller(function);
  facts.threads = threads;
  if (cluster[0])
    facts.cluster = cluster;
  facts.registers = registers;
  facts.sharedBytes = shared.bytesOf(function);
  lowered.kernels[function.getName().str()] = facts;
}
} // namespace

bool lowerModule(Module &module, Lowered &lowered, std::string &error) {
  SharedLayout shared(module);
  std::vector<Function *> functions;
  for (Function &function : module)
    if (!function.isDeclaration())
      functions.push_back(&function);
  for (Function *function : functions) {
    lowerOne(*function, shared, lowered, error);
    if (!error.empty())
      return false;
  }
  for (GlobalVariable &variable : make_early_inc_range(module.globals())) {
    variable.removeDeadConstantUsers();
    if (variable.getAddressSpace() == kSharedSpace && variable.use_empty())
      variable.eraseFromParent();
  }
  for (Function &function : make_early_inc_range(module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  raw_string_ostream stream(error);
  return !verifyModule(module, &stream);
}
} // namespace logitile::emulator
