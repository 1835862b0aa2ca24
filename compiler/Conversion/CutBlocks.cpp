// CutBlocks.cpp - long blocks become calls of functions. Register allocation, instruction selection
// and scheduling take more than linear time for a block; parts of one size take a time in
// proportion to their number.
#include "compiler/Passes.h"
#include "llvm/ADT/DenseMap.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CUTBLOCKSPASS
#include "compiler/Passes.h.inc"

namespace {
/// Values that one part of a block makes and another one reads, each at its place in memory of the
/// function.
class Slots {
public:
  /// Whether 'type' can lie in memory as it is.
  static bool holds(Type type) { return LLVM::isCompatibleType(type) && bitsOf(type) > 0; }

  void add(Value value) {
    int64_t bytes = llvm::divideCeil(bitsOf(value.getType()), 8);
    size = llvm::alignTo(size, alignmentOf(value.getType()));
    offsets[value] = size;
    size += bytes;
  }
  bool contains(Value value) const { return offsets.contains(value); }
  int64_t bytes() const { return size; }

  Value load(OpBuilder &b, Value memory, Value value) const {
    return LLVM::LoadOp::create(b, value.getLoc(), value.getType(), place(b, memory, value), alignmentOf(value.getType()));
  }
  void store(OpBuilder &b, Value memory, Value value) const {
    LLVM::StoreOp::create(b, value.getLoc(), value, place(b, memory, value), alignmentOf(value.getType()));
  }

private:
  static int64_t bitsOf(Type type) {
    if (isa<LLVM::LLVMPointerType>(type))
      return 64;
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.getNumElements() * bitsOf(vector.getElementType());
    return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  }
  static unsigned alignmentOf(Type type) {
    int64_t bytes = llvm::divideCeil(bitsOf(type), 8);
    return std::min<uint64_t>(llvm::PowerOf2Ceil(bytes), 64);
  }
  Value place(OpBuilder &b, Value memory, Value value) const {
    LLVM::GEPArg offset(static_cast<int32_t>(offsets.lookup(value)));
    return LLVM::GEPOp::create(b, value.getLoc(), memory.getType(), b.getI8Type(), memory, ArrayRef(offset));
  }

  llvm::DenseMap<Value, int64_t> offsets;
  int64_t size = 0;
};

bool staysInPlace(Operation *op);

/// Constants, and addresses in memory that is known before their block: every part makes its own.
bool isMadeAgain(Operation *op) {
  auto isKnownBefore = [&](Value operand) {
    Operation *made = operand.getDefiningOp();
    return !made || made->getBlock() != op->getBlock() || staysInPlace(made);
  };
  return op->hasTrait<OpTrait::ConstantLike>() || (isa<LLVM::GEPOp>(op) && llvm::all_of(op->getOperands(), isKnownBefore));
}
bool staysInPlace(Operation *op) { return isMadeAgain(op) || isa<LLVM::AllocaOp>(op); }

/// The function of one part while ops move into it.
struct Body {
  Body(Block &block, const Slots &slots, Value memory) : block(block), slots(slots) {
    arguments.push_back(memory);
    known[memory] = inside = block.addArgument(memory.getType(), memory.getLoc());
  }

  void take(Operation *op) {
    op->moveBefore(&block, block.end());
    op->walk([&](Operation *user) {
      for (OpOperand &operand : user->getOpOperands())
        operand.set(bring(operand.get(), op));
    });
    OpBuilder after(op->getContext());
    after.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      if (slots.contains(result))
        slots.store(after, inside, result);
  }

  Block &block;
  SmallVector<Value> arguments; // of the call

private:
  /// 'value' in front of 'user'. From outside it is made again, loaded from its slot, or an
  /// argument.
  Value bring(Value value, Operation *user) {
    Operation *made = value.getDefiningOp();
    if (block.findAncestorOpInBlock(made ? *made : *value.getParentBlock()->getParentOp()))
      return value;
    if (Value replaced = known.lookup(value))
      return replaced;
    OpBuilder b(user);
    Value replaced;
    if (made && isMadeAgain(made)) {
      SmallVector<Value> operands = llvm::map_to_vector(made->getOperands(), [&](Value operand) { return bring(operand, user); });
      Operation *copy = b.clone(*made);
      copy->setOperands(operands);
      replaced = copy->getResult(0);
    } else if (slots.contains(value)) {
      replaced = slots.load(b, inside, value);
    } else {
      arguments.push_back(value);
      replaced = block.addArgument(value.getType(), value.getLoc());
    }
    return known[value] = replaced;
  }

  const Slots &slots;
  Value inside; // the memory of the slots
  llvm::DenseMap<Value, Value> known;
};

/// One function while its blocks are cut, the innermost first.
class Cutter {
public:
  Cutter(func::FuncOp function, int64_t longest, int64_t part) : function(function), longest(longest), partSize(part) {}

  void run() { cutRegion(function.getBody()); }

private:
  using Part = SmallVector<Operation *>;

  /// Ops of the region that are left in this function.
  int64_t cutRegion(Region &region) {
    int64_t count = 0;
    for (Block &block : region)
      count += cutBlock(block);
    return count;
  }

  int64_t cutBlock(Block &block) {
    SmallVector<std::pair<Operation *, int64_t>> counts;
    int64_t total = 0;
    for (Operation &op : block.without_terminator()) {
      int64_t count = 1;
      for (Region &region : op.getRegions())
        count += cutRegion(region);
      counts.push_back({&op, count});
      total += count;
    }
    if (total <= longest || !mayLieInMemory(block))
      return total;
    SmallVector<Part> parts = deal(counts);
    if (parts.size() < 2)
      return total;
    Slots slots = findSlots(block, parts);
    Value memory = allocate(slots.bytes());
    for (Part &part : parts)
      outline(part, slots, memory);
    OpBuilder end(block.getTerminator());
    for (OpOperand &operand : block.getTerminator()->getOpOperands())
      if (slots.contains(operand.get()))
        operand.set(slots.load(end, memory, operand.get()));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isMadeAgain(&op) && op.use_empty())
        op.erase();
    return std::distance(block.begin(), block.end());
  }

  static bool mayLieInMemory(Block &block) {
    return llvm::all_of(block, [](Operation &op) { return staysInPlace(&op) || llvm::all_of(op.getResultTypes(), Slots::holds); });
  }

  /// Neighbours, about as many ops in each part.
  SmallVector<Part> deal(ArrayRef<std::pair<Operation *, int64_t>> counts) const {
    SmallVector<Part> parts;
    int64_t room = 0;
    for (auto [op, count] : counts) {
      if (staysInPlace(op))
        continue;
      if (room <= 0) {
        parts.emplace_back();
        room = partSize;
      }
      parts.back().push_back(op);
      room -= count;
    }
    return parts;
  }

  Slots findSlots(Block &block, ArrayRef<Part> parts) const {
    llvm::DenseMap<Operation *, unsigned> partOf;
    for (auto [i, part] : llvm::enumerate(parts))
      for (Operation *op : part)
        partOf[op] = i;
    Slots slots;
    for (auto [i, part] : llvm::enumerate(parts))
      for (Operation *op : part)
        for (Value result : op->getResults()) {
          auto isElsewhere = [&, own = i](Operation *user) {
            auto it = partOf.find(block.findAncestorOpInBlock(*user));
            return it == partOf.end() || it->second != own;
          };
          if (llvm::any_of(result.getUsers(), isElsewhere))
            slots.add(result);
        }
    return slots;
  }

  Value allocate(int64_t bytes) {
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    Location loc = function.getLoc();
    Value count = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(std::max<int64_t>(bytes, 1)));
    return LLVM::AllocaOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(), count, /*alignment=*/64);
  }

  /// The ops of 'part' become a function, and the last of them its call.
  void outline(Part &part, const Slots &slots, Value memory) {
    OpBuilder b(function->getContext());
    b.setInsertionPointAfter(function);
    Location loc = part.back()->getLoc();
    std::string name = (function.getSymName() + "$part" + Twine(numberOfParts++)).str();
    auto outlined = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
    outlined.setPrivate();
    Body body(*outlined.addEntryBlock(), slots, memory);
    b.setInsertionPointAfter(part.back());
    for (Operation *op : part)
      body.take(op);
    OpBuilder end = OpBuilder::atBlockEnd(&body.block);
    func::ReturnOp::create(end, loc);
    outlined.setFunctionType(b.getFunctionType(body.block.getArgumentTypes(), {}));
    func::CallOp::create(b, loc, outlined, body.arguments);
  }

  func::FuncOp function;
  const int64_t longest, partSize;
  unsigned numberOfParts = 0;
};

struct CutBlocksPass : impl::CutBlocksPassBase<CutBlocksPass> {
  using CutBlocksPassBase::CutBlocksPassBase;

  void runOnOperation() override {
    for (func::FuncOp function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal())
        Cutter(function, longest, part).run();
  }
};
} // namespace
} // namespace logitile
