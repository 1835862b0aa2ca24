// FillHoles.cpp - puts the scalar regions of a program into the holes of a skeleton. Cloning the
// skeleton is Instantiate.cpp.
#include "compiler/Transforms/Specialise.h"
#include "compiler/Transforms/HalfLogits/HalfLogits.h"
#include "compiler/Transforms/HalfLogits/StoredBase.h"
#include "dialect/checks/Checks.h"
#include "mlir/IR/IRMapping.h"
using namespace mlir;
using namespace logitile;

namespace {
/// Copies a region of the plan into one on tiles: what it reads becomes block arguments.
class RegionFiller {
public:
  RegionFiller(const LaunchShape &shape, Region &to, Location loc) : shape(shape), block(to.emplaceBlock()), loc(loc) {}

  void addState(Block &from, ArrayRef<Type> types) {
    for (auto [i, type] : llvm::enumerate(types)) {
      BlockArgument argument = block.addArgument(type, i < from.getNumArguments() ? from.getArgument(i).getLoc() : loc);
      if (i < from.getNumArguments())
        mapping.map(from.getArgument(i), argument);
    }
  }
  void addLogits() {
    for (StringRef projection : shape.projections)
      logits.push_back(block.addArgument(Float32Type::get(loc.getContext()), loc)), (void)projection;
  }
  void addInputs() {
    for (const InputRef &ref : shape.inputs)
      inputs.push_back(block.addArgument(ref.type, loc));
  }
  /// What differs among the places of lists.
  void addListInputs() {
    for (const InputRef &ref : shape.listInputs)
      listInputs.push_back(block.addArgument(ref.type, loc));
  }
  Value addCentre() { return block.addArgument(Float32Type::get(loc.getContext()), loc); }
  /// Takes 'base', where there is one, from what was stored of the launch's logits, which is
  /// relative to a centre or not.
  void readBase(Value base, bool hasCentre) {
    Value stored = logits[llvm::find(shape.projections, shape.halfLogits().front()) - shape.projections.begin()];
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    if (hasCentre)
      stored = arith::AddFOp::create(builder, loc, stored, addCentre());
    if (base)
      mapping.map(base, stored);
  }
  /// Clones the ops of 'from' up to its end; adjoints are left out, and what has a value already.
  void cloneBody(Block &from) {
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    for (Operation &op : from.getOperations()) {
      if (isa<YieldOp, AdjointOp>(op) || llvm::any_of(op.getResults(), [&](Value result) { return mapping.contains(result); }))
        continue;
      if (Value read = argumentFor(op))
        mapping.map(op.getResult(0), read);
      else if (!isIndexOnly(op))
        builder.clone(op, mapping);
    }
  }
  void yield(ValueRange values) {
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    YieldOp::create(builder, loc, llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); }));
  }
  void yieldValues(ArrayRef<Value> values) {
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    YieldOp::create(builder, loc, values);
  }
  /// Yields what is stored of 'base'.
  void yieldStored(Value base, Value maximum) {
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    YieldOp::create(builder, loc, storedOf(builder, loc, base, maximum));
  }
  Value lookup(Value value) const { return mapping.lookup(value); }
  Value zero() {
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
  }

private:
  Value argumentFor(Operation &op) {
    if (!isa<GatherOp, InputOp, KnownOp, PickedOp>(op))
      return {};
    auto input = dyn_cast<InputOp>(op);
    if (input && input.getKind() == InputKind::Logits)
      return logits[llvm::find(shape.projections, input.getName()) - shape.projections.begin()];
    InputRef ref = shape.refOf(&op);
    if (const auto *list = llvm::find(shape.listInputs, ref); list != shape.listInputs.end() && !listInputs.empty())
      return listInputs[list - shape.listInputs.begin()];
    const auto *it = llvm::find(shape.inputs, ref);
    return it == shape.inputs.end() ? Value() : inputs[it - shape.inputs.begin()];
  }
  /// A value that only feeds gathers is read by the kernel, not by the region.
  static bool isIndexOnly(Operation &op) { return isa<InputOp, KnownOp>(op); }

  const LaunchShape &shape;
  Block &block;
  Location loc;
  IRMapping mapping;
  SmallVector<Value> logits, inputs, listInputs;
};

void fillRegion(const LaunchShape &shape, Region &from, Region &to, Location loc, ArrayRef<Type> state, bool readsLogits) {
  Block &body = from.front();
  RegionFiller filler(shape, to, loc);
  filler.addState(body, state);
  if (readsLogits)
    filler.addLogits();
  filler.addInputs();
  filler.cloneBody(body);
  filler.yield(body.getTerminator()->getOperands());
}

SmallVector<Value> flatten(ArrayRef<SmallVector<Value>> groups) {
  SmallVector<Value> flat;
  for (const SmallVector<Value> &group : groups)
    flat.append(group.begin(), group.end());
  return flat;
}

SmallVector<Value> fillUpdate(OpBuilder &builder, Location loc, const LaunchShape &shape, ArrayRef<SmallVector<Value>> inputs, Value column,
                              Attribute limit) {
  if (!shape.sweep || inputs[0].empty()) // a sweep may have lists only
    return {};
  SweepOp sweep = shape.sweep;
  bool hasLogits = !shape.loads || shape.halfLogits().empty(); // sums of a fused sweep do not read logits stored in 16 bits
  SmallVector<Value> read = flatten(inputs.drop_front(hasLogits ? 1 : 2));
  auto update = UpdateStateOp::create(builder, loc, ValueRange(inputs[0]).getTypes(), TypeRange(), inputs[0], read, column,
                                     cast<IntegerAttr>(limit).getInt());
  SmallVector<Type> state = typesOf(sweep.getStateTypes()), two = state;
  two.append(state);
  IRMapping none;
  sweep.getInit().cloneInto(&update.getInit(), none);
  fillRegion(shape, sweep.getCandidate(), update.getCandidate(), sweep.getLoc(), {}, hasLogits);
  fillRegion(shape, sweep.getUpdate(), update.getUpdate(), sweep.getLoc(), state, hasLogits);
  // The merge of tiles sees the same operands as the update, so logits too, though it cannot use
  // them.
  fillRegion(shape, sweep.getMerge(), update.getMerge(), sweep.getLoc(), two, hasLogits);
  return update.getResults();
}

/// The base of the logits' exponential relative to the running maximum, which is the first of the
/// row state; and that maximum.
SmallVector<Value> fillBase(OpBuilder &builder, Location loc, const LaunchShape &shape, ArrayRef<SmallVector<Value>> inputs, Value column,
                            TypeRange types) {
  Block &candidates = SweepOp(shape.sweep).getCandidate().front();
  SmallVector<Value> read = flatten(inputs.drop_front()), centres;
  if (!StoredBase::tanhOf(candidates))
    centres.push_back(inputs[0].front());
  llvm::append_range(read, centres);
  auto map = MapOp::create(builder, loc, types.take_front(1), read, column);
  RegionFiller filler(shape, map.getBody(), loc);
  filler.addLogits();
  filler.addInputs();
  Value maximum = centres.empty() ? Value() : filler.addCentre();
  filler.cloneBody(candidates);
  filler.yieldStored(filler.lookup(StoredBase::of(candidates)), maximum);
  SmallVector<Value> results(map.getResults());
  llvm::append_range(results, centres);
  return results;
}

SmallVector<Value> fillGradient(OpBuilder &builder, Location loc, const LaunchShape &shape, ArrayRef<SmallVector<Value>> inputs, Value column,
                                TypeRange types) {
  auto map = MapOp::create(builder, loc, types, flatten(inputs), column);
  GradientOp gradient = shape.gradient;
  map.setEarly(gradient.getReferenceAttr() && shape.sweep); // without a sweep it is the later kernel
  RegionFiller filler(shape, map.getBody(), gradient.getLoc());
  filler.addLogits();
  filler.addInputs();
  Block &body = gradient.getBody().front();
  if (!shape.halfLogits().empty())
    filler.readBase(StoredBase(shape.firstSweep().getCandidate().front(), body).inReader(), /*hasCentre=*/!inputs.back().empty());
  filler.cloneBody(body);
  SmallVector<Value> results;
  for (ArrayRef<AdjointOp> adjoints : {ArrayRef(shape.gradients), ArrayRef(shape.vocabGradients), ArrayRef(shape.denseGradients)})
    for (AdjointOp adjoint : adjoints)
      results.push_back(adjoint.getDense() ? filler.lookup(adjoint.getDense()) : filler.zero());
  filler.yieldValues(results);
  return map.getResults();
}
} // namespace

SmallVector<Value> logitile::fillInitState(OpBuilder &builder, Location loc, const LaunchShape &shape, TypeRange types) {
  if (!shape.sweep || types.empty())
    return {};
  auto rows = InitStateOp::create(builder, loc, types);
  IRMapping none;
  SweepOp(shape.sweep).getInit().cloneInto(&rows.getInit(), none);
  return rows.getState();
}

void logitile::fillLists(const LaunchShape &shape, UpdateListsOp op) {
  SweepOp sweep = shape.sweep;
  fillRegion(shape, sweep.getRank(), op.getRank(), sweep.getLoc(), {}, /*readsLogits=*/true);
}
void logitile::fillList(const LaunchShape &shape, FinishListOp op) {
  FinishOp finish = shape.finish;
  SmallVector<Type> place{Float32Type::get(op.getContext()), IntegerType::get(op.getContext(), 32)};
  fillRegion(shape, finish.getBody(), op.getBody(), finish.getLoc(), place, /*readsLogits=*/false);
}

void logitile::fillPlaces(const LaunchShape &shape, FinishPlacesOp op) {
  FinishOp finish = shape.finish;
  Block &body = finish.getBody().front();
  RegionFiller filler(shape, op.getBody(), finish.getLoc());
  filler.addListInputs();
  filler.addInputs();
  filler.cloneBody(body);
  filler.yield(body.getTerminator()->getOperands());
}

SmallVector<Value> logitile::fillHole(OpBuilder &builder, Location loc, const LaunchShape &shape, StringRef hole, ArrayRef<SmallVector<Value>> inputs,
                                      Value column, Attribute limit, TypeRange types) {
  if (hole == "update")
    return fillUpdate(builder, loc, shape, inputs, column, limit);
  if (types.empty()) // nothing to merge, to finish or to differentiate
    return {};
  if (hole == "base")
    return fillBase(builder, loc, shape, inputs, column, types);
  if (hole == "gradient")
    return fillGradient(builder, loc, shape, inputs, column, types);
  auto map = MapOp::create(builder, loc, types, flatten(inputs), Value());
  if (hole == "merge") {
    map.setMerges(true);
    SweepOp sweep = shape.sweep;
    SmallVector<Type> two = typesOf(sweep.getStateTypes());
    two.append(SmallVector<Type>(two));
    fillRegion(shape, sweep.getMerge(), map.getBody(), sweep.getLoc(), two, false);
  } else {
    FinishOp finish = shape.finish;
    SmallVector<Type> state = shape.sweep ? typesOf(SweepOp(shape.sweep).getStateTypes()) : SmallVector<Type>();
    fillRegion(shape, finish.getBody(), map.getBody(), finish.getLoc(), state, false);
  }
  return map.getResults();
}
