// CentreLogits.cpp - the pass that keeps 16-bit logits relative to a centre: for each tile and token, the logit that weighs
// most. Which logits have 16 bits is decided by choose-schedule.
#include "compiler/LaunchShape.h"
#include "compiler/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include <cfloat>
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CENTRELOGITSPASS
#include "compiler/Passes.h.inc"

namespace {
Location named(Location loc, const Twine &name) { return NameLoc::get(StringAttr::get(loc.getContext(), name), loc); }
Value number(OpBuilder &b, Location loc, float value) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value)); }

/// Rounded to f16, numbers stay finite: an exponent of a masked entry must not become infinity less infinity.
Value clampToHalf(OpBuilder &b, Location loc, Value value) {
  constexpr float kLargest = 65504;
  auto bounded = [&](Value value, arith::CmpFPredicate isBeyond, float limit) -> Value {
    Value bound = number(b, loc, limit);
    return arith::SelectOp::create(b, loc, arith::CmpFOp::create(b, loc, isBeyond, value, bound), bound, value); // NaN stays
  };
  return bounded(bounded(value, arith::CmpFPredicate::OGT, kLargest), arith::CmpFPredicate::OLT, -kLargest);
}

/// One view of kept logits and that of their centres, in one kernel.
class Centring {
public:
  Centring(BlockArgument kept, BlockArgument centres) : kept(kept), centres(centres) {}

  LogicalResult run() {
    for (Operation *user : llvm::to_vector(kept.getUsers())) {
      auto store = dyn_cast<StoreOp>(user);
      if (failed(store ? centre(store) : restore(cast<LoadOp>(user))))
        return failure();
    }
    return success();
  }

private:
  /// Which tile lies at the column of 'at': the row of the view of centres.
  static Value tileAt(OpBuilder &b, Location loc, ValueRange at, TileType type) {
    return arith::DivUIOp::create(b, loc, at[1], arith::ConstantIndexOp::create(b, loc, type.getExtent(1)));
  }
  static TileType oneColumn(TileType type) {
    return TileType::get(type.getContext(), {type.getDims()[0], dimension(type.getContext(), 1)}, type.getElement());
  }

  /// Stores behind the update of the row state, which knows the running maximum.
  LogicalResult centre(StoreOp store) {
    Value z = store.getValue();
    UpdateRowsOp update;
    for (Operation *user : z.getUsers())
      if (auto sweep = dyn_cast<UpdateRowsOp>(user))
        update = sweep;
    if (!update || update.getBound().front().getTerminator()->getNumOperands() != 1)
      return store.emitOpError() << "keeps logits in 16 bits; they need one running maximum to be relative to";
    Location loc = named(store.getLoc(), "near");
    OpBuilder b(update);
    b.setInsertionPointAfter(update);
    auto type = cast<TileType>(z.getType());
    Value largest = largestOf(b, update, z);
    auto near = MapOp::create(b, loc, TypeRange(type), ValueRange{z, largest}, Value());
    Block &block = near.getBody().emplaceBlock();
    block.addArguments({type.getElement(), type.getElement()}, {loc, loc});
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    Value distance = arith::SubFOp::create(inside, loc, block.getArgument(0), block.getArgument(1));
    YieldOp::create(inside, loc, clampToHalf(inside, loc, distance));
    StoreOp::create(b, loc, largest, centres, ValueRange{tileAt(b, loc, store.getAt(), type), store.getAt()[0]}, Value());
    StoreOp::create(b, loc, near.getResult(0), kept, store.getAt(), Value());
    store.erase();
    return success();
  }

  /// The logit at the running maximum. Where that is of the logits themselves, the row state has it already.
  static Value largestOf(OpBuilder &b, UpdateRowsOp sweep, Value z) {
    unsigned number = llvm::find(sweep.getInputs(), z) - sweep.getInputs().begin();
    Block &bound = sweep.getBound().front();
    if (bound.getTerminator()->getOperand(0) == bound.getArgument(number))
      return sweep.getResult(0);
    return largestOfTile(b, sweep, cast<TileType>(z.getType()), number);
  }

  /// A sweep over the tile alone, with the same maximum and beside it the logit there.
  static Value largestOfTile(OpBuilder &b, UpdateRowsOp sweep, TileType type, unsigned z) {
    Location loc = sweep.getLoc();
    SmallVector<Type> state(2, oneColumn(type)), elements(2, type.getElement()), inputs;
    for (Type input : sweep.getInputs().getTypes())
      inputs.push_back(cast<TileType>(input).getElement());
    auto start = InitRowsOp::create(b, loc, state);
    fillStart(start.getInit(), loc);
    auto update = UpdateRowsOp::create(b, loc, state, start.getRows(), sweep.getInputs(), sweep.getColumn(), sweep.getLimit());
    fillStart(update.getInit(), loc);
    IRMapping none;
    sweep.getBound().cloneInto(&update.getBound(), none);

    auto begin = [&](Region &region, unsigned states) -> Block & {
      Block &block = region.emplaceBlock();
      for (unsigned i = 0; i < states; ++i)
        block.addArguments(elements, SmallVector<Location>(2, loc));
      block.addArguments(inputs, SmallVector<Location>(inputs.size(), loc));
      return block;
    };
    Block &fold = begin(update.getUpdate(), 1);
    OpBuilder inside = OpBuilder::atBlockEnd(&fold);
    Block &bound = sweep.getBound().front();
    IRMapping mapping;
    mapping.map(bound.getArguments(), fold.getArguments().drop_front(2));
    for (Operation &op : bound.without_terminator())
      inside.clone(op, mapping);
    Value value = mapping.lookup(bound.getTerminator()->getOperand(0)), largest = fold.getArgument(0);
    Value isLargest = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OEQ, value, largest);
    Value logit = arith::SelectOp::create(inside, loc, isLargest, fold.getArgument(2 + z), fold.getArgument(1));
    YieldOp::create(inside, loc, ValueRange{largest, logit});

    Block &join = begin(update.getMerge(), 2);
    inside = OpBuilder::atBlockEnd(&join);
    Value isLarger = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OGT, join.getArgument(2), join.getArgument(0));
    Value joined = arith::SelectOp::create(inside, loc, isLarger, join.getArgument(2), join.getArgument(0));
    Value beside = arith::SelectOp::create(inside, loc, isLarger, join.getArgument(3), join.getArgument(1));
    YieldOp::create(inside, loc, ValueRange{joined, beside});
    return update.getResult(1);
  }
  static void fillStart(Region &region, Location loc) {
    OpBuilder b = OpBuilder::atBlockEnd(&region.emplaceBlock());
    YieldOp::create(b, loc, ValueRange{number(b, loc, -FLT_MAX), number(b, loc, 0)});
  }

  /// Whoever reads the logits adds their centre.
  LogicalResult restore(LoadOp load) {
    Location loc = named(load.getLoc(), "centre");
    OpBuilder b(load);
    auto type = cast<TileType>(load.getType());
    Value centre = LoadOp::create(b, loc, oneColumn(type), centres, ValueRange{tileAt(b, loc, load.getAt(), type), load.getAt()[0]}, Value());
    for (OpOperand &use : llvm::make_early_inc_range(load.getResult().getUses())) {
      auto map = dyn_cast<MapOp>(use.getOwner());
      if (!map)
        return load.emitOpError() << "reads logits of 16 bits for '" << use.getOwner()->getName() << "'; only maps add their centre";
      Block &block = map.getBody().front();
      BlockArgument near = block.getArgument(use.getOperandNumber());
      map.getInputsMutable().append(centre);
      BlockArgument middle = block.addArgument(type.getElement(), loc);
      OpBuilder inside = OpBuilder::atBlockBegin(&block);
      Value z = arith::AddFOp::create(inside, loc, near, middle);
      near.replaceAllUsesExcept(z, z.getDefiningOp());
    }
    return success();
  }

  BlockArgument kept, centres;
};

struct CentreLogitsPass : impl::CentreLogitsPassBase<CentreLogitsPass> {
  /// The type of a buffer of the module's schedule, or null.
  Type bufferType(StringRef name) {
    Type type;
    getOperation().walk([&](BufferOp buffer) {
      if (buffer.getName() == name)
        type = buffer.getType();
    });
    return type;
  }
  LogicalResult centre(KernelOp kernel) {
    Builder b(&getContext());
    SmallVector<Attribute> roles(kernel.getRoles().begin(), kernel.getRoles().end());
    for (BlockArgument argument : llvm::to_vector(kernel.getBody().getArguments())) {
      StringRef pair = cast<StringAttr>(roles[argument.getArgNumber()]).getValue();
      auto view = dyn_cast<ViewType>(argument.getType());
      if (!pair.consume_front(buffers::kept("")) || !view || view.getElement().isF32())
        continue;
      std::string name = buffers::centre(pair);
      Type type = bufferType(name);
      if (!type)
        return kernel.emitOpError() << "keeps logits as " << view.getElement() << ", but the schedule has no buffer '" << name << "'";
      roles.push_back(b.getStringAttr(name));
      if (failed(Centring(argument, kernel.getBody().addArgument(type, named(argument.getLoc(), "centre_" + pair))).run()))
        return failure();
    }
    kernel.setRolesAttr(b.getArrayAttr(roles));
    return success();
  }

  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (failed(centre(kernel)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace logitile
