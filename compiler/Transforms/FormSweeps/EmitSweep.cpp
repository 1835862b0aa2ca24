// EmitSweep.cpp - the init, bound, update and merge regions of a sweep from its entries.
#include "compiler/Transforms/FormSweeps/EmitProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cfloat>
using namespace mlir;
using namespace logitile;

namespace {
using Kind = Entry::Kind;
constexpr int32_t kNoColumn = INT32_MAX; // the index of an arg entry that has seen nothing

/// Where the entries of a sweep keep their state: maxima first, then the others.
struct StateLayout {
  explicit StateLayout(ArrayRef<Entry *> entries) {
    for (bool maxima : {true, false})
      for (Entry *entry : entries)
        if ((entry->kind == Kind::Max) == maxima) {
          ordered.push_back(entry);
          slots[entry] = size;
          size += entry->kind == Kind::Arg || entry->isPair() ? 2 : 1;
        }
  }
  unsigned slot(const Entry *entry) const { return slots.lookup(entry); }
  bool contains(const Entry *entry) const { return slots.contains(entry); }

  SmallVector<Entry *> ordered;
  DenseMap<const Entry *, unsigned> slots;
  unsigned size = 0;
};

StringRef kindName(Kind kind) {
  switch (kind) {
  case Kind::Max: return "max";
  case Kind::Exp: return "exp";
  case Kind::Sum: return "sum";
  case Kind::Count: return "count";
  case Kind::Arg: return "arg";
  case Kind::Carry: return "carry";
  case Kind::Gather:
    return "pick";
  }
  llvm_unreachable("every kind has a name");
}

/// One region of a sweep, with the entries' state as its arguments.
class SweepRegion {
public:
  SweepRegion(ProgramEmitter &program, Region &region, const StateLayout &layout, int point)
      : layout(layout), block(region.emplaceBlock()), emit(program, block, point, /*isFinish=*/false) {}

  SmallVector<Value> addState(ArrayRef<Type> types, ArrayRef<StringRef> names, StringRef suffix) {
    SmallVector<Value> state;
    for (auto [type, name] : llvm::zip_equal(types, names))
      state.push_back(block.addArgument(type, NameLoc::get(StringAttr::get(type.getContext(), name + suffix))));
    return state;
  }
  void yield(ArrayRef<Value> values) { YieldOp::create(emit.ops(), UnknownLoc::get(block.front().getContext()), values); }
  void yieldEmpty(MLIRContext *context) { YieldOp::create(emit.ops(), UnknownLoc::get(context), ValueRange()); }

  const StateLayout &layout;
  Block &block;
  RegionEmitter emit;
};

// ---- init and bound -----------------------------------------------------------------------------------------------------

void emitInit(SweepRegion &region, ArrayRef<Type> types) {
  RegionEmitter &emit = region.emit;
  SmallVector<Value> values = llvm::map_to_vector(types, [&](Type type) { return type.isF32() ? emit.f32(0) : emit.i32(0); });
  for (Entry *entry : region.layout.ordered) {
    unsigned slot = region.layout.slot(entry);
    if (entry->kind == Kind::Max) // finite: merging an empty state is then exact
      values[slot] = emit.f32(-FLT_MAX);
    else if (entry->kind == Kind::Arg)
      values[slot] = emit.i32(kNoColumn);
  }
  region.yield(values);
}

void emitBound(SweepRegion &region, MLIRContext *context) {
  SmallVector<Value> candidates;
  for (Entry *entry : region.layout.ordered)
    if (entry->kind == Kind::Max)
      candidates.push_back(region.emit.value(entry->base));
  candidates.empty() ? region.yieldEmpty(context) : region.yield(candidates);
}

/// high + low + term, again as a pair.
RegionEmitter::Pair addPair(RegionEmitter &emit, Value high, Value low, RegionEmitter::Pair term) {
  Value sum = emit.add(high, term.high);
  Value lows = emit.add(low, emit.roundingOf(high, term.high, sum));
  return {sum, term.low ? emit.add(lows, term.low) : lows};
}

// ---- update ---------------------------------------------------------------------------------------------------------------

class Update {
public:
  Update(SweepRegion &region, ArrayRef<Value> state) : emit(region.emit), layout(region.layout), state(state), next(state) {}

  SmallVector<Value> run() {
    for (Entry *entry : layout.ordered)
      if (entry->kind == Kind::Max)
        emit.bind(entry, state[layout.slot(entry)]);
    for (Entry *entry : layout.ordered)
      if (entry->kind == Kind::Arg)
        updateArg(entry);
    for (Entry *entry : layout.ordered)
      updateSlot(entry);
    return next;
  }

private:
  void updateSlot(Entry *entry) {
    unsigned slot = layout.slot(entry);
    OpBuilder &b = emit.ops();
    switch (entry->kind) {
    case Kind::Max:
    case Kind::Arg: return;
    case Kind::Exp:
    case Kind::Sum: {
      RegionEmitter::Pair term = entry->kind == Kind::Exp ? RegionEmitter::Pair{summand(entry), {}} : summandPair(entry);
      auto [high, low] = addPair(emit, state[slot], state[slot + 1], term);
      next[slot] = high;
      next[slot + 1] = low;
      return;
    }
    case Kind::Count: {
      Value one = arith::ExtUIOp::create(b, entry->base->loc, b.getI32Type(), emit.value(entry->base));
      next[slot] = arith::AddIOp::create(b, entry->base->loc, state[slot], one);
      return;
    }
    case Kind::Carry: next[slot] = emit.select(taken.at(entry->arg), payload(entry), state[slot]); return;
    case Kind::Gather: {
      Value here = arith::CmpIOp::create(b, entry->base->loc, arith::CmpIPredicate::eq, column(), emit.value(entry->index));
      next[slot] = emit.select(here, payload(entry), state[slot]);
      return;
    }
    }
  }
  /// What is caught; the state has a bool in 32 bits.
  Value payload(Entry *entry) {
    Value value = emit.value(entry->base);
    if (entry->base->type != NodeType::Bool)
      return value;
    return arith::ExtUIOp::create(emit.ops(), entry->base->loc, emit.ops().getI32Type(), value);
  }
  Value column() {
    if (!columnValue)
      columnValue = ColumnOp::create(emit.ops(), emit.ops().getUnknownLoc(), emit.ops().getI32Type());
    return columnValue;
  }

  /// The product of exponential, factors and centred pivot: 0 where a weight is, and where a condition does not hold.
  Value summand(Entry *entry) {
    Value v = emit.exponential(entry->max, entry->scale);
    for (NodeRef factor : numbers(entry))
      v = emit.weigh(v, emit.value(factor));
    if (entry->pivot)
      v = emit.weigh(v, centred(entry));
    return whereAllHold(entry, v);
  }
  /// The product of the factors, and what its last step and the last factor lose to rounding.
  RegionEmitter::Pair summandPair(Entry *entry) {
    SmallVector<NodeRef> factors = numbers(entry);
    if (factors.empty())
      return {whereAllHold(entry, emit.f32(1)), {}};
    NodeRef last = factors.pop_back_val();
    auto [v, low] = emit.isRounded(last) ? RegionEmitter::Pair{emit.value(last), {}} : emit.exactPair(last);
    if (!factors.empty()) {
      bool isWeight = false;
      Value weight;
      for (NodeRef factor : factors) {
        Value x = emit.value(factor);
        weight = !weight ? x : isWeight ? emit.weigh(weight, x) : emit.mul(weight, x);
        isWeight |= factor->isWeight;
      }
      Value product = isWeight ? emit.weigh(weight, v) : emit.mul(weight, v);
      Value rounding = emit.fma(weight, v, arith::NegFOp::create(emit.ops(), last->loc, product));
      low = low ? emit.fma(weight, low, rounding) : rounding;
      if (isWeight) {
        Value vanishes = arith::CmpFOp::create(emit.ops(), last->loc, arith::CmpFPredicate::OEQ, weight, emit.f32(0));
        low = emit.select(vanishes, emit.f32(0), low);
      }
      v = product;
    }
    return {whereAllHold(entry, v), low ? whereAllHold(entry, low) : low};
  }
  /// Factors that are numbers: weights first, what is linear in logits last.
  SmallVector<NodeRef> numbers(Entry *entry) {
    SmallVector<NodeRef> numbers;
    auto rank = [](NodeRef factor) { return factor->isWeight ? 0 : factor->isLinearInLogits ? 2 : 1; };
    for (int wanted : {0, 1, 2})
      llvm::copy_if(entry->factors, std::back_inserter(numbers),
                    [&](NodeRef factor) { return factor->type == NodeType::Float && rank(factor) == wanted; });
    return numbers;
  }
  Value whereAllHold(Entry *entry, Value v) {
    for (NodeRef factor : entry->factors)
      if (factor->type == NodeType::Bool)
        v = emit.select(emit.value(factor), v, emit.f32(0));
    return v;
  }
  Value centred(Entry *entry) {
    Value moment = entry->rest->isConstant(0) ? Value() : emit.value(entry->rest);
    for (auto [coefficient, max] : entry->centre) {
      Value part = emit.distanceFrom(max);
      if (!coefficient->isConstant(1))
        part = emit.mul(emit.value(coefficient), part);
      moment = moment ? emit.add(moment, part) : part;
    }
    return moment ? moment : emit.f32(0);
  }

  /// Better, or the first NaN, or the first of all. Columns ascend, so an equal value never takes over.
  void updateArg(Entry *entry) {
    OpBuilder &b = emit.ops();
    Location loc = entry->base->loc;
    unsigned slot = layout.slot(entry);
    Value x = emit.value(entry->base), best = state[slot + 1];
    auto better = entry->wantsLargest ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT;
    Value wins = arith::CmpFOp::create(b, loc, better, x, best);
    Value open = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, best, best);
    Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, state[slot], emit.i32(kNoColumn));
    Value take = arith::OrIOp::create(b, loc, arith::AndIOp::create(b, loc, wins, open), none);
    next[slot] = emit.select(take, column(), state[slot]);
    next[slot + 1] = emit.select(take, x, best);
    taken[entry] = take;
  }

  RegionEmitter &emit;
  const StateLayout &layout;
  ArrayRef<Value> state;
  SmallVector<Value> next;
  DenseMap<const Entry *, Value> taken;
  Value columnValue;
};

// ---- merge ------------------------------------------------------------------------------------------------------------------

class Merge {
public:
  Merge(SweepRegion &region, ArrayRef<Value> a, ArrayRef<Value> b)
      : emit(region.emit), layout(region.layout), a(a), b(b), merged(layout.size) {}

  SmallVector<Value> run() {
    for (Entry *entry : layout.ordered) {
      if (entry->kind == Kind::Max)
        mergeMax(entry);
      if (entry->kind == Kind::Arg)
        mergeArg(entry);
    }
    for (Entry *entry : layout.ordered)
      mergeSlot(entry);
    return merged;
  }

private:
  void mergeMax(Entry *entry) {
    unsigned slot = layout.slot(entry);
    Value greater = arith::CmpFOp::create(emit.ops(), entry->base->loc, arith::CmpFPredicate::OGT, b[slot], a[slot]);
    merged[slot] = emit.select(greater, b[slot], a[slot]);
  }
  void mergeSlot(Entry *entry) {
    unsigned slot = layout.slot(entry);
    switch (entry->kind) {
    case Kind::Max:
    case Kind::Arg: return;
    case Kind::Exp:
    case Kind::Sum: {
      RegionEmitter::Pair x = rebased(entry, a);
      auto [high, low] = addPair(emit, x.high, x.low, rebased(entry, b));
      merged[slot] = high;
      merged[slot + 1] = low;
      return;
    }
    case Kind::Count: merged[slot] = arith::AddIOp::create(emit.ops(), entry->base->loc, a[slot], b[slot]); return;
    case Kind::Carry: merged[slot] = emit.select(taken.at(entry->arg), b[slot], a[slot]); return;
    case Kind::Gather: // the column is in one of the two: the other one holds zero
      merged[slot] = a[slot].getType().isF32() ? emit.add(a[slot], b[slot])
                                               : Value(arith::AddIOp::create(emit.ops(), entry->base->loc, a[slot], b[slot]));
      return;
    }
  }

  /// The sum of one side, moved to the merged maxima: scaled, and its moment shifted by what its pivot moved. A mean may be small
  /// where maxima are large: what moments and their weights lose to rounding stays in the low parts.
  RegionEmitter::Pair rebased(Entry *entry, ArrayRef<Value> side) {
    Value sum = side[layout.slot(entry)], low = side[layout.slot(entry) + 1];
    if (entry->pivot) {
      Value shift;
      for (auto [coefficient, max] : entry->centre) {
        if (!layout.contains(max)) // finished before: it does not move
          continue;
        Value moved = emit.sub(side[layout.slot(max)], merged[layout.slot(max)]);
        if (!coefficient->isConstant(1))
          moved = emit.mul(emit.value(coefficient), moved);
        shift = shift ? emit.add(shift, moved) : moved;
      }
      if (shift) {
        unsigned weights = layout.slot(entry->weights);
        auto [product, error] = exactProduct(side[weights], shift);
        auto [high, rest] = addPair(emit, sum, low, {product, emit.add(error, emit.weigh(side[weights + 1], shift))});
        sum = high;
        low = rest;
      }
    }
    if (entry->kind == Kind::Exp && layout.contains(entry->max)) {
      Value factor = ratio(entry, side);
      low = emit.weigh(factor, low);
      if (!isOfMoment(entry))
        return {emit.weigh(factor, sum), low};
      auto [scaled, error] = exactProduct(factor, sum);
      return {scaled, emit.add(low, error)};
    }
    return {sum, low};
  }
  bool isOfMoment(const Entry *entry) const {
    return entry->pivot || llvm::any_of(layout.ordered, [&](const Entry *other) { return other->pivot && other->weights == entry; });
  }
  /// weight * value, and what that loses to rounding.
  RegionEmitter::Pair exactProduct(Value weight, Value value) {
    Value product = emit.weigh(weight, value);
    Value minus = arith::NegFOp::create(emit.ops(), product.getLoc(), product);
    return {product, emit.finiteOrZero(emit.fma(weight, value, minus))};
  }
  Value ratio(Entry *entry, ArrayRef<Value> side) {
    Value &made = ratios[{std::pair(entry->max, entry->scale), side.data()}];
    if (made)
      return made;
    unsigned slot = layout.slot(entry->max);
    Value moved = emit.sub(side[slot], merged[slot]);
    if (!entry->scale->isConstant(1))
      moved = emit.mul(emit.value(entry->scale), moved);
    made = emit.exp(moved);
    return made;
  }

  /// The better of two; of equals, and of two NaN, the lower index.
  void mergeArg(Entry *entry) {
    OpBuilder &ops = emit.ops();
    Location loc = entry->base->loc;
    unsigned slot = layout.slot(entry);
    Value indexA = a[slot], indexB = b[slot], valueA = a[slot + 1], valueB = b[slot + 1];
    auto compare = [&](arith::CmpFPredicate p, Value x, Value y) -> Value { return arith::CmpFOp::create(ops, loc, p, x, y); };
    auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(ops, loc, x, y); };
    auto either = [&](Value x, Value y) -> Value { return arith::OrIOp::create(ops, loc, x, y); };
    auto noneYet = [&](Value index) -> Value { return arith::CmpIOp::create(ops, loc, arith::CmpIPredicate::eq, index, emit.i32(kNoColumn)); };
    using P = arith::CmpFPredicate;
    Value wins = both(compare(entry->wantsLargest ? P::UGT : P::ULT, valueB, valueA), compare(P::ORD, valueA, valueA));
    Value tie = either(compare(P::OEQ, valueA, valueB), both(compare(P::UNO, valueA, valueA), compare(P::UNO, valueB, valueB)));
    Value lower = arith::CmpIOp::create(ops, loc, arith::CmpIPredicate::slt, indexB, indexA);
    Value someB = arith::CmpIOp::create(ops, loc, arith::CmpIPredicate::ne, indexB, emit.i32(kNoColumn));
    Value take = both(someB, either(noneYet(indexA), either(wins, both(tie, lower))));
    merged[slot] = emit.select(take, indexB, indexA);
    merged[slot + 1] = emit.select(take, valueB, valueA);
    taken[entry] = take;
  }

  RegionEmitter &emit;
  const StateLayout &layout;
  ArrayRef<Value> a, b;
  SmallVector<Value> merged;
  DenseMap<const Entry *, Value> taken;
  DenseMap<std::pair<std::pair<Entry *, NodeRef>, const Value *>, Value> ratios;
};
} // namespace

SmallVector<std::pair<Entry *, unsigned>> logitile::slotsOf(ArrayRef<Entry *> entries) {
  StateLayout layout(entries);
  return llvm::map_to_vector(entries, [&](Entry *entry) { return std::pair(entry, layout.slot(entry)); });
}

void logitile::describeState(ArrayRef<Entry *> entries, OpBuilder &builder, SmallVectorImpl<StringRef> &names, SmallVectorImpl<Type> &types,
                             llvm::BumpPtrAllocator &strings) {
  StateLayout layout(entries);
  auto name = [&](const Entry *entry, StringRef suffix) {
    return (kindName(entry->kind) + Twine(entry->number) + suffix).str();
  };
  auto add = [&](std::string text, Type type) {
    names.push_back(StringRef(text).copy(strings));
    types.push_back(type);
  };
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  for (Entry *entry : layout.ordered) {
    if (entry->kind == Kind::Arg) {
      add(name(entry, ".index"), i32);
      add(name(entry, ".value"), f32);
    } else if (entry->isPair()) {
      add(name(entry, ".high"), f32);
      add(name(entry, ".low"), f32);
    } else {
      bool isCaught = entry->kind == Kind::Gather || entry->kind == Kind::Carry;
      add(name(entry, ""), entry->kind == Kind::Count || (isCaught && entry->base->type != NodeType::Float) ? i32 : f32);
    }
  }
}

void logitile::emitSweepRegions(ProgramEmitter &program, SweepOp sweep, ArrayRef<Entry *> entries, int point) {
  StateLayout layout(entries);
  SmallVector<StringRef> names;
  SmallVector<Type> types;
  llvm::BumpPtrAllocator strings;
  OpBuilder builder(sweep);
  describeState(entries, builder, names, types, strings);
  {
    SweepRegion init(program, sweep.getInit(), layout, point);
    emitInit(init, types);
  }
  {
    SweepRegion bound(program, sweep.getBound(), layout, point);
    emitBound(bound, builder.getContext());
  }
  {
    SweepRegion update(program, sweep.getUpdate(), layout, point);
    SmallVector<Value> state = update.addState(types, names, "");
    SmallVector<Value> next = Update(update, state).run();
    update.yield(next);
  }
  SweepRegion merge(program, sweep.getMerge(), layout, point);
  SmallVector<Value> a = merge.addState(types, names, ".a"), b = merge.addState(types, names, ".b");
  merge.yield(Merge(merge, a, b).run());
}
