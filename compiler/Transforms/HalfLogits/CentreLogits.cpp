// CentreLogits.cpp - the pass that keeps of 16-bit logits what their exponential is made of, relative to its maximum. Which
// logits have 16 bits is decided by choose-schedule.
#include "compiler/Passes.h"
#include "compiler/Schedule/LaunchShape.h"
#include "compiler/Transforms/HalfLogits/KeptBase.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace logitile {
#define GEN_PASS_DEF_CENTRELOGITSPASS
#include "compiler/Passes.h.inc"
} // namespace logitile
using namespace mlir;
using namespace logitile;

namespace {
Location named(Location loc, const Twine &name) { return NameLoc::get(StringAttr::get(loc.getContext(), name), loc); }

Value atLeast(OpBuilder &b, Location loc, Value value, float limit) {
  Value least = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(limit));
  Value isLess = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, value, least); // NaN stays
  return arith::SelectOp::create(b, loc, isLess, least, value);
}
/// The buffer that a tile was loaded from; null where it was not.
StringAttr sourceOf(Value tile) {
  auto load = tile.getDefiningOp<LoadOp>();
  auto view = load ? dyn_cast<BlockArgument>(load.getView()) : BlockArgument();
  auto kernel = view ? dyn_cast<KernelOp>(view.getOwner()->getParentOp()) : KernelOp();
  return kernel ? kernel.bufferOf(view) : StringAttr();
}

/// Ops of 'block' that nothing uses any more.
void eraseUnused(Block &block) {
  SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

/// Logits of one projection that are kept in 16 bits: who stores them, and who reads them.
class HalfLogits {
public:
  HalfLogits(BufferOp kept, BufferOp centres) : kept(kept), centres(centres) {}

  LogicalResult add(BlockArgument view) {
    for (Operation *user : view.getUsers()) {
      if (auto load = dyn_cast<LoadOp>(user)) {
        loads.push_back(load);
        continue;
      }
      auto stored = dyn_cast<StoreOp>(user);
      if (!stored)
        return user->emitOpError() << "uses a buffer of 16-bit logits; only loads and stores know their base";
      if (failed(setStore(stored)))
        return failure();
    }
    return success();
  }
  LogicalResult run() {
    if (!store)
      return success();
    bool isCapped = KeptBase::tanhOf(sweep.getBound().front());
    if (!isCapped && !centres)
      return store.emitOpError() << "keeps logits in 16 bits, but the schedule has no buffer for "
                                 << describeBuffer(BufferRole::Centre, kept.getOwnerName(), std::nullopt);
    logits = store.getValue();
    storeBase(isCapped ? Value() : centresOf(store));
    for (LoadOp load : loads)
      if (failed(readBase(load, isCapped ? Value() : loadCentre(load))))
        return failure();
    return success();
  }

private:
  LogicalResult setStore(StoreOp op) {
    for (Operation *user : op.getValue().getUsers())
      if (auto update = dyn_cast<UpdateRowsOp>(user); update && update.getBound().front().getTerminator()->getNumOperands() == 1)
        sweep = update;
    if (!sweep)
      return op.emitOpError() << "keeps logits in 16 bits; they need one running maximum to be relative to";
    store = op;
    return success();
  }

  // ---- centres --------------------------------------------------------------------------------------------------------

  /// The view of centres in the kernel of 'user'.
  Value centresOf(Operation *user) {
    auto kernel = user->getParentOfType<KernelOp>();
    SmallVector<Attribute> roles(kernel.getRoles().begin(), kernel.getRoles().end());
    Attribute role = FlatSymbolRefAttr::get(centres);
    if (auto known = llvm::find(roles, role); known != roles.end())
      return kernel.getBody().getArgument(known - roles.begin());
    roles.push_back(role);
    kernel.setRolesAttr(ArrayAttr::get(kernel.getContext(), roles));
    return kernel.getBody().addArgument(centres.getType(), named(kernel.getLoc(), centres.getSymName()));
  }
  /// Where the centre of a tile lies: the row is the number of the tile.
  static SmallVector<Value> placeOf(OpBuilder &b, Location loc, ValueRange at, Type tile) {
    Value width = arith::ConstantIndexOp::create(b, loc, cast<TileType>(tile).getExtent(1));
    return {arith::DivUIOp::create(b, loc, at[1], width), at[0]};
  }
  Value loadCentre(LoadOp load) {
    OpBuilder b(load);
    Location loc = named(load.getLoc(), "centre");
    auto type = cast<TileType>(load.getType());
    auto column = TileType::get(type.getContext(), {type.getDims()[0], dimension(type.getContext(), 1)}, type.getElement());
    return LoadOp::create(b, loc, column, centresOf(load), placeOf(b, loc, load.getAt(), type), Value());
  }

  // ---- the base ---------------------------------------------------------------------------------------------------------

  /// Behind the update of the row state, which knows the running maximum.
  void storeBase(Value view) {
    Location loc = named(store.getLoc(), "near");
    OpBuilder b(sweep);
    b.setInsertionPointAfter(sweep);
    SmallVector<Value> inputs(sweep.getInputs());
    if (view)
      inputs.push_back(sweep.getResult(0));
    auto near = MapOp::create(b, loc, TypeRange(logits.getType()), inputs, sweep.getColumn());
    Block &block = near.getBody().emplaceBlock(), &bound = sweep.getBound().front();
    for (Value input : inputs)
      block.addArgument(cast<TileType>(input.getType()).getElement(), loc);
    IRMapping mapping;
    mapping.map(bound.getArguments(), block.getArguments().take_front(bound.getNumArguments()));
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    for (Operation &op : bound.without_terminator())
      inside.clone(op, mapping);
    math::TanhOp tanh = KeptBase::tanhOf(bound);
    Value base = mapping.lookup(tanh ? tanh.getOperand() : bound.getTerminator()->getOperand(0));
    YieldOp::create(inside, loc, tanh ? clamped(inside, loc, base) : distance(inside, loc, base, block.getArguments().back()));
    eraseUnused(block);
    if (view)
      StoreOp::create(b, loc, sweep.getResult(0), view, placeOf(b, loc, store.getAt(), logits.getType()), Value());
    StoreOp::create(b, loc, near.getResult(0), store.getView(), store.getAt(), Value());
    store.erase();
  }
  static Value clamped(OpBuilder &b, Location loc, Value base) {
    Value low = atLeast(b, loc, base, -KeptBase::kCap);
    Value high = atLeast(b, loc, arith::NegFOp::create(b, loc, low), -KeptBase::kCap);
    return arith::NegFOp::create(b, loc, high);
  }
  /// A finite number in f16: far below the maximum, the gradient multiplies it with 0.
  static Value distance(OpBuilder &b, Location loc, Value base, Value maximum) {
    constexpr float kLargestHalf = 65504;
    return atLeast(b, loc, arith::SubFOp::create(b, loc, base, maximum), -kLargestHalf);
  }

  LogicalResult readBase(LoadOp load, Value centre) {
    for (Operation *user : llvm::to_vector(load.getResult().getUsers())) {
      auto map = dyn_cast<MapOp>(user);
      if (auto update = dyn_cast<UpdateRowsOp>(user); update && dropUnused(update, load))
        continue;
      if (!map)
        return load.emitOpError() << "reads logits of 16 bits for '" << user->getName() << "'; only maps know their base";
      if (failed(readBase(map, llvm::find(map.getInputs(), load.getResult()) - map.getInputs().begin(), centre)))
        return failure();
    }
    return success();
  }
  /// Whether 'update', which has the inputs of a gradient beside it, does not read the logits that it takes; then they go.
  static bool dropUnused(UpdateRowsOp update, Value logits) {
    unsigned number = llvm::find(update.getInputs(), logits) - update.getInputs().begin(), state = update.getRows().size();
    std::pair<Region *, unsigned> arguments[] = {{&update.getBound(), number},
                                                 {&update.getUpdate(), state + number},
                                                 {&update.getMerge(), 2 * state + number}};
    if (llvm::any_of(arguments, [](auto &argument) { return !argument.first->getArgument(argument.second).use_empty(); }))
      return false;
    for (auto [region, argument] : arguments)
      region->eraseArgument(argument);
    update.getInputsMutable().erase(number);
    return true;
  }
  /// A map that made the base of argument 'number' takes what was kept of it instead.
  LogicalResult readBase(MapOp map, unsigned number, Value centre) {
    Block &block = map.getBody().front();
    Location loc = map.getLoc();
    OpBuilder b = OpBuilder::atBlockBegin(&block);
    map.getInputsMutable().append(map.getInputs()[number]);
    Value value = block.addArgument(b.getF32Type(), named(loc, "near"));
    if (centre) {
      map.getInputsMutable().append(centre);
      value = arith::AddFOp::create(b, loc, value, block.addArgument(b.getF32Type(), named(loc, "centre")));
    }
    KeptBase base(sweep.getBound().front(), block, argumentsOf(map, number));
    if (Value made = base.inReader())
      made.replaceAllUsesWith(value);
    eraseUnused(block);
    if (!block.getArgument(number).use_empty())
      return map.emitOpError() << "reads logits that are kept in 16 bits, but not only for the base of their exponential";
    map.getInputsMutable().erase(number);
    block.eraseArgument(number);
    return success();
  }
  /// Arguments of the sweep's bound, to those of the map that come from the same memory.
  IRMapping argumentsOf(MapOp map, unsigned number) {
    IRMapping same;
    for (auto [argument, tile] : llvm::zip_equal(sweep.getBound().getArguments(), sweep.getInputs())) {
      if (tile == logits)
        same.map(argument, map.getBody().getArgument(number));
      else if (StringAttr source = sourceOf(tile))
        if (auto input = llvm::find_if(map.getInputs(), [&](Value input) { return sourceOf(input) == source; });
            input != map.getInputs().end())
          same.map(argument, map.getBody().getArgument(input - map.getInputs().begin()));
    }
    return same;
  }

  BufferOp kept, centres; // centres: null where there are none
  StoreOp store;
  UpdateRowsOp sweep;
  Value logits; // that are stored
  SmallVector<LoadOp> loads;
};

struct CentreLogitsPass : logitile::impl::CentreLogitsPassBase<CentreLogitsPass> {
  void runOnOperation() override {
    auto programs = getOperation().getOps<ProgramOp>();
    if (programs.empty())
      return;
    for (ScheduleOp schedule : (*programs.begin()).getBody().getOps<ScheduleOp>())
      for (BufferOp kept : schedule.getBody().getOps<BufferOp>())
        if (kept.getRole() == BufferRole::Kept && !cast<ViewType>(kept.getType()).getElement().isF32())
          if (failed(centre(kept, schedule.findBuffer(BufferRole::Centre, kept.getOwnerName()))))
            return signalPassFailure();
  }
  LogicalResult centre(BufferOp kept, BufferOp centres) {
    HalfLogits logits(kept, centres);
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      for (BlockArgument argument : kernel.getBody().getArguments())
        if (kernel.bufferOf(argument) == kept.getSymNameAttr() && failed(logits.add(argument)))
          return failure();
    return logits.run();
  }
};
} // namespace
