// EmitSweep.cpp - the init, candidate, update and merge regions of a sweep from its accumulators.
#include "compiler/Transforms/FormSweeps/EmitProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cfloat>
using namespace mlir;
using namespace logitile;

namespace {
using Kind = Accumulator::Kind;
constexpr int32_t kNoColumn = INT32_MAX; // the index of an arg accumulator that has seen nothing

/// Where the accumulators of a sweep keep their state: maxima first, then the others.
struct StateLayout {
  explicit StateLayout(ArrayRef<Accumulator *> accumulators) {
    for (bool maxima : {true, false})
      for (Accumulator *accumulator : accumulators)
        if (accumulator->kind != Kind::List && accumulator->kind != Kind::Pick && (accumulator->kind == Kind::Max) == maxima) {
          ordered.push_back(accumulator);
          slots[accumulator] = size;
          size += accumulator->kind == Kind::Arg || accumulator->isPair() ? 2 : 1;
        }
  }
  unsigned slot(const Accumulator *accumulator) const { return slots.lookup(accumulator); }
  bool contains(const Accumulator *accumulator) const { return slots.contains(accumulator); }
  /// Whether it is the sum of a moment, or what that is divided by.
  bool isOfMoment(const Accumulator *accumulator) const {
    return accumulator->pivot ||
           llvm::any_of(ordered, [&](const Accumulator *other) { return other->pivot && other->weights == accumulator; });
  }
  /// Whether it sums exponentials alone, or those of some columns.
  bool isOfExponentials(const Accumulator *accumulator) const {
    auto isCondition = [](NodeRef factor) { return factor->type == NodeType::Bool; };
    return accumulator->kind == Kind::Exp && llvm::all_of(accumulator->factors, isCondition) && !isOfMoment(accumulator);
  }

  SmallVector<Accumulator *> ordered;
  DenseMap<const Accumulator *, unsigned> slots;
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
  case Kind::List: return "list";
  case Kind::Pick: return "picks";
  }
  llvm_unreachable("every kind has a name");
}

/// One region of a sweep, with the accumulators' state as its arguments.
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
  void yield(ArrayRef<Value> values) { YieldOp::create(emit.ops(), emit.ops().getUnknownLoc(), values); }
  void yieldEmpty(MLIRContext *context) { YieldOp::create(emit.ops(), UnknownLoc::get(context), ValueRange()); }

  const StateLayout &layout;
  Block &block;
  RegionEmitter emit;
};

// ---- init and candidate -------------------------------------------------------------------------

void emitInit(SweepRegion &region, ArrayRef<Type> types) {
  RegionEmitter &emit = region.emit;
  SmallVector<Value> values = llvm::map_to_vector(types, [&](Type type) { return type.isF32() ? emit.f32(0) : emit.i32(0); });
  for (Accumulator *accumulator : region.layout.ordered) {
    unsigned slot = region.layout.slot(accumulator);
    if (accumulator->kind == Kind::Max) // finite: merging an empty state is then exact
      values[slot] = emit.f32(-FLT_MAX);
    else if (accumulator->kind == Kind::Arg)
      values[slot] = emit.i32(kNoColumn);
  }
  region.yield(values);
}

void emitCandidates(SweepRegion &region, MLIRContext *context) {
  SmallVector<Value> candidates;
  for (Accumulator *accumulator : region.layout.ordered)
    if (accumulator->kind == Kind::Max)
      candidates.push_back(region.emit.value(accumulator->base));
  candidates.empty() ? region.yieldEmpty(context) : region.yield(candidates);
}

/// What the lists of the sweep put in order.
void emitRank(ProgramEmitter &program, SweepOp sweep, ArrayRef<Accumulator *> accumulators, const StateLayout &layout, int point) {
  SmallVector<Accumulator *> lists = listsOf(accumulators);
  if (lists.empty())
    return;
  SweepRegion rank(program, sweep.getRank(), layout, point);
  SmallVector<Value> values;
  for (Accumulator *list : lists) {
    rank.emit.setReductions(list->reductions);
    values.push_back(rank.emit.value(list->base));
  }
  rank.yield(values);
}

/// high + low + term, again as a pair.
RegionEmitter::Pair addPair(RegionEmitter &emit, Value high, Value low, RegionEmitter::Pair term) {
  Value sum = emit.add(high, term.high);
  Value lows = emit.add(low, emit.roundingOf(high, term.high, sum));
  return {sum, term.low ? emit.add(lows, term.low) : lows};
}

/// high + low + term, where no term is negative: Dekker's fast two-sum, three operations fewer than
/// 'addPair'. What the sum loses is exact, unless the term is larger than all before it together.
/// Then up to 2^-24 of the term may be missing, as in a sum that is rounded once.
RegionEmitter::Pair addExponential(RegionEmitter &emit, Value high, Value low, Value term) {
  Value sum = emit.add(high, term);
  return {sum, emit.add(low, emit.sub(term, emit.sub(sum, high)))};
}

// ---- update -------------------------------------------------------------------------------------

class Update {
public:
  Update(SweepRegion &region, ArrayRef<Value> state) : emit(region.emit), layout(region.layout), state(state), next(state) {}

  SmallVector<Value> run() {
    for (Accumulator *accumulator : layout.ordered)
      if (accumulator->kind == Kind::Max)
        emit.bind(accumulator, state[layout.slot(accumulator)]);
    for (Accumulator *accumulator : layout.ordered)
      if (accumulator->kind == Kind::Arg) {
        emit.setReductions(accumulator->reductions);
        updateArg(accumulator);
      }
    for (Accumulator *accumulator : layout.ordered) {
      emit.setReductions(accumulator->reductions);
      updateSlot(accumulator);
    }
    return next;
  }

private:
  void updateSlot(Accumulator *accumulator) {
    unsigned slot = layout.slot(accumulator);
    OpBuilder &b = emit.ops();
    switch (accumulator->kind) {
    case Kind::Max:
    case Kind::List:
    case Kind::Pick:
    case Kind::Arg: return;
    case Kind::Exp:
    case Kind::Sum: {
      auto [high, low] = addTerm(accumulator, state[slot], state[slot + 1]);
      next[slot] = high;
      next[slot + 1] = low;
      return;
    }
    case Kind::Count: {
      Value one = arith::ExtUIOp::create(b, emit.placeOf(accumulator->base->loc), b.getI32Type(), emit.value(accumulator->base));
      next[slot] = arith::AddIOp::create(b, emit.placeOf(accumulator->base->loc), state[slot], one);
      return;
    }
    case Kind::Carry:
      next[slot] = emit.select(taken.at(accumulator->arg), payload(accumulator), state[slot]);
      return;
    case Kind::Gather: {
      Value here = arith::CmpIOp::create(b, emit.placeOf(accumulator->base->loc), arith::CmpIPredicate::eq, column(), emit.value(accumulator->index));
      next[slot] = emit.select(here, payload(accumulator), state[slot]);
      return;
    }
    }
  }
  RegionEmitter::Pair addTerm(Accumulator *accumulator, Value high, Value low) {
    if (layout.isOfExponentials(accumulator))
      return addExponential(emit, high, low, summand(accumulator));
    RegionEmitter::Pair term = accumulator->kind == Kind::Exp ? RegionEmitter::Pair{summand(accumulator), {}} : summandPair(accumulator);
    return addPair(emit, high, low, term);
  }
  /// What is caught; the state has a bool in 32 bits.
  Value payload(Accumulator *accumulator) {
    Value value = emit.value(accumulator->base);
    if (accumulator->base->type != NodeType::Bool)
      return value;
    return arith::ExtUIOp::create(emit.ops(), emit.placeOf(accumulator->base->loc), emit.ops().getI32Type(), value);
  }
  Value column() {
    if (!columnValue)
      columnValue = ColumnOp::create(emit.ops(), emit.ops().getUnknownLoc(), emit.ops().getI32Type());
    return columnValue;
  }

  /// The product of exponential, factors and centred pivot: 0 where a weight is, and where a
  /// condition does not hold.
  Value summand(Accumulator *accumulator) {
    Value v = emit.exponential(accumulator->max, accumulator->scale);
    for (NodeRef factor : numbers(accumulator))
      v = emit.multiplyNoNan(v, emit.value(factor));
    if (accumulator->pivot)
      v = emit.multiplyNoNan(v, centred(accumulator));
    return whereAllHold(accumulator, v);
  }
  /// The product of the factors, and what its last step and the last factor lose to rounding.
  RegionEmitter::Pair summandPair(Accumulator *accumulator) {
    SmallVector<NodeRef> factors = numbers(accumulator);
    if (factors.empty())
      return {whereAllHold(accumulator, emit.f32(1)), {}};
    NodeRef last = factors.pop_back_val();
    auto [v, low] = emit.isRounded(last) ? RegionEmitter::Pair{emit.value(last), {}} : emit.exactPair(last);
    if (!factors.empty()) {
      bool isWeight = false;
      Value weight;
      for (NodeRef factor : factors) {
        Value x = emit.value(factor);
        weight = !weight ? x : isWeight ? emit.multiplyNoNan(weight, x) : emit.mul(weight, x);
        isWeight |= factor->isWeight;
      }
      Value product = isWeight ? emit.multiplyNoNan(weight, v) : emit.mul(weight, v);
      Value rounding = emit.fma(weight, v, arith::NegFOp::create(emit.ops(), last->loc, product));
      low = low ? emit.fma(weight, low, rounding) : rounding;
      if (isWeight) {
        Value vanishes = arith::CmpFOp::create(emit.ops(), last->loc, arith::CmpFPredicate::OEQ, weight, emit.f32(0));
        low = emit.select(vanishes, emit.f32(0), low);
      }
      v = product;
    }
    return {whereAllHold(accumulator, v), low ? whereAllHold(accumulator, low) : low};
  }
  /// Factors that are numbers: weights first, what is linear in logits last.
  SmallVector<NodeRef> numbers(Accumulator *accumulator) {
    SmallVector<NodeRef> numbers;
    auto rank = [](NodeRef factor) { return factor->isWeight ? 0 : factor->isLinearInLogits ? 2 : 1; };
    for (int wanted : {0, 1, 2})
      llvm::copy_if(accumulator->factors, std::back_inserter(numbers),
                    [&](NodeRef factor) { return factor->type == NodeType::Float && rank(factor) == wanted; });
    return numbers;
  }
  Value whereAllHold(Accumulator *accumulator, Value v) {
    for (NodeRef factor : accumulator->factors)
      if (factor->type == NodeType::Bool)
        v = emit.select(emit.value(factor), v, emit.f32(0));
    return v;
  }
  Value centred(Accumulator *accumulator) {
    Value moment = accumulator->rest->isConstant(0) ? Value() : emit.value(accumulator->rest);
    for (auto [coefficient, max] : accumulator->centre) {
      Value part = emit.distanceFrom(max);
      if (!coefficient->isConstant(1))
        part = emit.mul(emit.value(coefficient), part);
      moment = moment ? emit.add(moment, part) : part;
    }
    return moment ? moment : emit.f32(0);
  }

  /// Better, or the first NaN, or the first of all. Columns ascend, so an equal value never takes
  /// over.
  void updateArg(Accumulator *accumulator) {
    OpBuilder &b = emit.ops();
    Location loc = emit.placeOf(accumulator->base->loc);
    unsigned slot = layout.slot(accumulator);
    Value x = emit.value(accumulator->base), best = state[slot + 1];
    auto better = accumulator->wantsLargest ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT;
    Value wins = arith::CmpFOp::create(b, loc, better, x, best);
    Value open = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, best, best);
    Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, state[slot], emit.i32(kNoColumn));
    Value take = arith::OrIOp::create(b, loc, arith::AndIOp::create(b, loc, wins, open), none);
    next[slot] = emit.select(take, column(), state[slot]);
    next[slot + 1] = emit.select(take, x, best);
    taken[accumulator] = take;
  }

  RegionEmitter &emit;
  const StateLayout &layout;
  ArrayRef<Value> state;
  SmallVector<Value> next;
  DenseMap<const Accumulator *, Value> taken;
  Value columnValue;
};

// ---- merge --------------------------------------------------------------------------------------

class Merge {
public:
  Merge(SweepRegion &region, ArrayRef<Value> a, ArrayRef<Value> b)
      : emit(region.emit), layout(region.layout), a(a), b(b), merged(layout.size) {}

  SmallVector<Value> run() {
    for (Accumulator *accumulator : layout.ordered) {
      emit.setReductions(accumulator->reductions);
      if (accumulator->kind == Kind::Max)
        mergeMax(accumulator);
      if (accumulator->kind == Kind::Arg)
        mergeArg(accumulator);
    }
    for (Accumulator *accumulator : layout.ordered) {
      emit.setReductions(accumulator->reductions);
      mergeSlot(accumulator);
    }
    return merged;
  }

private:
  void mergeMax(Accumulator *accumulator) {
    unsigned slot = layout.slot(accumulator);
    Value greater = arith::CmpFOp::create(emit.ops(), emit.placeOf(accumulator->base->loc), arith::CmpFPredicate::OGT, b[slot], a[slot]);
    merged[slot] = emit.select(greater, b[slot], a[slot]);
  }
  void mergeSlot(Accumulator *accumulator) {
    unsigned slot = layout.slot(accumulator);
    switch (accumulator->kind) {
    case Kind::Max:
    case Kind::List:
    case Kind::Pick:
    case Kind::Arg: return;
    case Kind::Exp:
    case Kind::Sum: {
      RegionEmitter::Pair x = rebased(accumulator, a);
      auto [high, low] = addPair(emit, x.high, x.low, rebased(accumulator, b));
      merged[slot] = high;
      merged[slot + 1] = low;
      return;
    }
    case Kind::Count:
      merged[slot] = arith::AddIOp::create(emit.ops(), emit.placeOf(accumulator->base->loc), a[slot], b[slot]);
      return;
    case Kind::Carry:
      merged[slot] = emit.select(taken.at(accumulator->arg), b[slot], a[slot]);
      return;
    case Kind::Gather: // the column is in one of the two: the other one holds zero
      merged[slot] = a[slot].getType().isF32() ? emit.add(a[slot], b[slot])
                                               : Value(arith::AddIOp::create(emit.ops(), emit.placeOf(accumulator->base->loc), a[slot], b[slot]));
      return;
    }
  }

  /// The sum of one side, moved to the merged maxima: scaled, and its moment shifted by what its
  /// pivot moved. A mean may be small where maxima are large: what moments and their weights lose
  /// to rounding stays in the low parts.
  RegionEmitter::Pair rebased(Accumulator *accumulator, ArrayRef<Value> side) {
    Value sum = side[layout.slot(accumulator)], low = side[layout.slot(accumulator) + 1];
    if (accumulator->pivot) {
      Value shift;
      for (auto [coefficient, max] : accumulator->centre) {
        if (!layout.contains(max)) // finished before: it does not move
          continue;
        Value moved = emit.sub(side[layout.slot(max)], merged[layout.slot(max)]);
        if (!coefficient->isConstant(1))
          moved = emit.mul(emit.value(coefficient), moved);
        shift = shift ? emit.add(shift, moved) : moved;
      }
      if (shift) {
        unsigned weights = layout.slot(accumulator->weights);
        auto [product, error] = exactProduct(side[weights], shift);
        auto [high, rest] = addPair(emit, sum, low, {product, emit.add(error, emit.multiplyNoNan(side[weights + 1], shift))});
        sum = high;
        low = rest;
      }
    }
    if (accumulator->kind == Kind::Exp && layout.contains(accumulator->max)) {
      Value factor = ratio(accumulator, side);
      low = emit.multiplyNoNan(factor, low);
      if (!layout.isOfMoment(accumulator))
        return {emit.multiplyNoNan(factor, sum), low};
      auto [scaled, error] = exactProduct(factor, sum);
      return {scaled, emit.add(low, error)};
    }
    return {sum, low};
  }
  /// weight * value, and what that loses to rounding.
  RegionEmitter::Pair exactProduct(Value weight, Value value) {
    Value product = emit.multiplyNoNan(weight, value);
    Value minus = arith::NegFOp::create(emit.ops(), product.getLoc(), product);
    return {product, emit.finiteOrZero(emit.fma(weight, value, minus))};
  }
  Value ratio(Accumulator *accumulator, ArrayRef<Value> side) {
    Value &made = ratios[{std::pair(accumulator->max, accumulator->scale), side.data()}];
    if (made)
      return made;
    unsigned slot = layout.slot(accumulator->max);
    Value moved = emit.sub(side[slot], merged[slot]);
    if (!accumulator->scale->isConstant(1))
      moved = emit.mul(emit.value(accumulator->scale), moved);
    made = emit.exp(moved);
    return made;
  }

  /// The better of two; of equals, and of two NaN, the lower index.
  void mergeArg(Accumulator *accumulator) {
    OpBuilder &ops = emit.ops();
    Location loc = emit.placeOf(accumulator->base->loc);
    unsigned slot = layout.slot(accumulator);
    Value indexA = a[slot], indexB = b[slot], valueA = a[slot + 1], valueB = b[slot + 1];
    auto compare = [&](arith::CmpFPredicate p, Value x, Value y) -> Value { return arith::CmpFOp::create(ops, loc, p, x, y); };
    auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(ops, loc, x, y); };
    auto either = [&](Value x, Value y) -> Value { return arith::OrIOp::create(ops, loc, x, y); };
    auto noneYet = [&](Value index) -> Value { return arith::CmpIOp::create(ops, loc, arith::CmpIPredicate::eq, index, emit.i32(kNoColumn)); };
    using P = arith::CmpFPredicate;
    Value wins = both(compare(accumulator->wantsLargest ? P::UGT : P::ULT, valueB, valueA), compare(P::ORD, valueA, valueA));
    Value tie = either(compare(P::OEQ, valueA, valueB), both(compare(P::UNO, valueA, valueA), compare(P::UNO, valueB, valueB)));
    Value lower = arith::CmpIOp::create(ops, loc, arith::CmpIPredicate::slt, indexB, indexA);
    Value someB = arith::CmpIOp::create(ops, loc, arith::CmpIPredicate::ne, indexB, emit.i32(kNoColumn));
    Value take = both(someB, either(noneYet(indexA), either(wins, both(tie, lower))));
    merged[slot] = emit.select(take, indexB, indexA);
    merged[slot + 1] = emit.select(take, valueB, valueA);
    taken[accumulator] = take;
  }

  RegionEmitter &emit;
  const StateLayout &layout;
  ArrayRef<Value> a, b;
  SmallVector<Value> merged;
  DenseMap<const Accumulator *, Value> taken;
  DenseMap<std::pair<std::pair<Accumulator *, NodeRef>, const Value *>, Value> ratios;
};
} // namespace

SmallVector<std::pair<Accumulator *, unsigned>> logitile::slotsOf(ArrayRef<Accumulator *> accumulators) {
  StateLayout layout(accumulators);
  return llvm::map_to_vector(layout.ordered, [&](Accumulator *accumulator) { return std::pair(accumulator, layout.slot(accumulator)); });
}

SmallVector<Accumulator *> logitile::listsOf(ArrayRef<Accumulator *> accumulators) {
  return llvm::filter_to_vector(accumulators, [](Accumulator *accumulator) { return accumulator->kind == Kind::List; });
}

SmallVector<Accumulator *> logitile::picksOf(ArrayRef<Accumulator *> accumulators) {
  return llvm::filter_to_vector(accumulators, [](Accumulator *accumulator) { return accumulator->kind == Kind::Pick; });
}

void logitile::describeState(ArrayRef<Accumulator *> accumulators, OpBuilder &builder, SmallVectorImpl<StringRef> &names,
                             SmallVectorImpl<Type> &types, llvm::BumpPtrAllocator &strings) {
  StateLayout layout(accumulators);
  auto name = [&](const Accumulator *accumulator, StringRef suffix) {
    return (kindName(accumulator->kind) + Twine(accumulator->number) + suffix).str();
  };
  auto add = [&](std::string text, Type type) {
    names.push_back(StringRef(text).copy(strings));
    types.push_back(type);
  };
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  for (Accumulator *accumulator : layout.ordered) {
    if (accumulator->kind == Kind::Arg) {
      add(name(accumulator, ".index"), i32);
      add(name(accumulator, ".value"), f32);
    } else if (accumulator->isPair()) {
      add(name(accumulator, ".high"), f32);
      add(name(accumulator, ".low"), f32);
    } else {
      bool isCaught = accumulator->kind == Kind::Gather || accumulator->kind == Kind::Carry;
      add(name(accumulator, ""), accumulator->kind == Kind::Count || (isCaught && accumulator->base->type != NodeType::Float) ? i32 : f32);
    }
  }
}

void logitile::emitSweepRegions(ProgramEmitter &program, SweepOp sweep, ArrayRef<Accumulator *> accumulators, int point) {
  StateLayout layout(accumulators);
  SmallVector<StringRef> names;
  SmallVector<Type> types;
  llvm::BumpPtrAllocator strings;
  OpBuilder builder(sweep);
  describeState(accumulators, builder, names, types, strings);
  {
    SweepRegion init(program, sweep.getInit(), layout, point);
    emitInit(init, types);
  }
  {
    SweepRegion candidates(program, sweep.getCandidate(), layout, point);
    emitCandidates(candidates, builder.getContext());
  }
  {
    SweepRegion update(program, sweep.getUpdate(), layout, point);
    SmallVector<Value> state = update.addState(types, names, "");
    SmallVector<Value> next = Update(update, state).run();
    update.yield(next);
  }
  emitRank(program, sweep, accumulators, layout, point);
  SweepRegion merge(program, sweep.getMerge(), layout, point);
  SmallVector<Value> a = merge.addState(types, names, ".a"), b = merge.addState(types, names, ".b");
  merge.yield(Merge(merge, a, b).run());
}
