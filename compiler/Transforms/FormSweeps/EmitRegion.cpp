// EmitRegion.cpp - scalar code of one region. Per-token sums, differences and products carry their
// rounding error along as (high, low); they enter vocabulary code as (x - high) - low.
#include "compiler/Transforms/FormSweeps/EmitProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
using namespace mlir;
using namespace logitile;

// ---- places -------------------------------------------------------------------------------------

static Location withoutName(Location loc) {
  auto named = dyn_cast<NameLoc>(loc);
  return named ? named.getChildLoc() : loc;
}

void RegionEmitter::setReductions(ArrayRef<Location> places) {
  reductions = FusedLoc::get(builder.getContext(), llvm::map_to_vector(places, withoutName));
}

Location RegionEmitter::placeOf(Location value) const {
  if (!reductions)
    return value;
  Location both = FusedLoc::get(builder.getContext(), {withoutName(value), *reductions});
  auto named = dyn_cast<NameLoc>(value);
  return named ? NameLoc::get(named.getName(), both) : both;
}

// ---- small pieces of code -----------------------------------------------------------------------

Value RegionEmitter::f32(double number) {
  return arith::ConstantOp::create(builder, where(), builder.getF32FloatAttr(static_cast<float>(number)));
}
Value RegionEmitter::i32(int64_t number) { return arith::ConstantOp::create(builder, where(), builder.getI32IntegerAttr(number)); }
Value RegionEmitter::fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, where(), a, b, c); }
Value RegionEmitter::exp(Value a) { return math::ExpOp::create(builder, where(), a); }
Value RegionEmitter::select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, where(), condition, a, b); }
Value RegionEmitter::finiteOrZero(Value value) {
  return select(math::IsFiniteOp::create(builder, where(), value), value, f32(0));
}
Value RegionEmitter::read(InputKind kind, StringRef name, Type type) {
  return InputOp::create(builder, where(), type, kind, builder.getStringAttr(name), IntegerAttr(), /*places=*/IntegerAttr());
}

Value RegionEmitter::readKnown(NodeRef node, Part part, Type type) {
  return KnownOp::create(builder, where(), type, program.request(node, part));
}

Value RegionEmitter::roundingOf(Value a, Value b, Value sum) {
  Value partB = sub(sum, a), partA = sub(sum, partB);
  return add(sub(a, partA), sub(b, partB));
}
Value RegionEmitter::twoSumError(Value a, Value b, Value sum) { return finiteOrZero(roundingOf(a, b, sum)); }

/// The low part of a sum that is not finite says nothing.
void RegionEmitter::bind(const Accumulator *accumulator, Value high, Value low) {
  state[accumulator->number] = high;
  stateLows[accumulator->number] = finiteOrZero(low);
}

// ---- values -------------------------------------------------------------------------------------

/// Whether the region reads 'node' instead of computing it.
bool RegionEmitter::isKnown(NodeRef node) {
  if (node->varying || node->places > 0 || node->is(NodeOp::Input) || node->is(NodeOp::Constant))
    return false;
  int at = program.pointOf(node);
  if (at == kFree)
    return !isFinish && !node->is(NodeOp::Gather) && !program.isCheap(node);
  return isFinish ? at < point : true;
}

Value RegionEmitter::value(NodeRef node, Part part) {
  node = program.resolve(node);
  if (part == Part::Whole || node->varying)
    return value(node);
  Pair pair = pairOf(node);
  if (part == Part::High)
    return pair.high;
  return pair.low ? pair.low : f32(0);
}

RegionEmitter &RegionEmitter::atEntry(NodeRef index) {
  std::unique_ptr<RegionEmitter> &emitter = singleEntries[index];
  if (!emitter)
    emitter = std::make_unique<RegionEmitter>(*this, index);
  return *emitter;
}

/// What 'node' is at the entry of this emitter, where it is constant although an operand is not, as
/// a product with 0 is; else null. Of constant operands it is computed as the sweep computes it:
/// rounded, while constants of the graph are exact.
NodeRef RegionEmitter::constantEntry(NodeRef node) {
  Graph &g = program.planner.g;
  if (!parent || !node->varying || g.branchAt(node, index))
    return nullptr;
  bool computes = llvm::all_of(node->operands, [&](NodeRef operand) { return g.constantAt(operand, index); });
  return computes ? nullptr : g.constantAt(node, index);
}

Value RegionEmitter::value(NodeRef node) {
  node = program.resolve(node);
  if (parent && !node->varying)
    return parent->value(node);
  if (NodeRef constant = constantEntry(node))
    return parent->value(constant);
  if (Value known = whole.lookup(node))
    return known;
  setLoc(node->loc);
  Value result = compute(node);
  whole[node] = result;
  return result;
}

Value RegionEmitter::compute(NodeRef node) {
  if (node->isPlaceOfList())
    return KnownOp::create(builder, where(), typeOf(builder.getContext(), node->type), program.requestPlace(node));
  if (node->is(NodeOp::SumList))
    return KnownOp::create(builder, where(), builder.getF32Type(), program.requestSum(node));
  if (node->is(NodeOp::Accumulator) && node->places > 0)
    return readList(node);
  if (isKnown(node)) {
    Type type = node->type == NodeType::Float ? Type(builder.getF32Type()) : builder.getI32Type();
    Value known = readKnown(node, Part::Whole, type);
    if (node->type == NodeType::Bool)
      known = arith::CmpIOp::create(builder, where(), arith::CmpIPredicate::ne, known, i32(0));
    return known;
  }
  if (parent)
    if (NodeRef listed = program.planner.listedEntry(node, index)) // a list has it: no sweep picks what it is made of
      return parent->value(listed);
  if (Graph::Origin origin = program.originOf(node))
    return atEntry(origin.index).value(origin.value);
  if (NodeRef selected = program.asSelectedEntries(node))
    return value(selected);
  if (parent && node->isVaryingInput())
    return parent->value(program.planner.g.gather(node, index));
  if (parent && node->is(NodeOp::Column))
    return parent->value(index);
  if (parent && node->is(NodeOp::Select))
    if (NodeRef branch = program.planner.g.branchAt(node, index))
      return value(branch);
  if (node->is(NodeOp::Accumulator) && !state.contains(node->index)) {
    program.reportMissing(node);
    return node->type == NodeType::Float ? f32(0) : i32(0);
  }
  if (node->is(NodeOp::Accumulator) && !program.hasLow(node))
    return state.at(node->index);
  if (node->is(NodeOp::Gather))
    return gather(node);
  if (node->is(NodeOp::StopGradient)) // the gradient is made: what is left is its operand
    return value(node->operand(0));
  bool carries = node->varying ? lowMatters(node) : program.hasLow(node);
  if (carries || node->is(NodeOp::Pair))
    return pairOf(node).sum(*this);
  if (node->is(NodeOp::Exp) && node->operand(0)->is(NodeOp::Sub))
    if (Value probability = softmax(node))
      return probability;
  SmallVector<Value> operands = llvm::map_to_vector(node->operands, [&](NodeRef operand) { return value(operand); });
  return emitNode(builder, node, operands);
}

/// The largest entries or their indices, or what was picked, at the place at hand.
Value RegionEmitter::readList(NodeRef node) {
  if (program.planner.accumulatorOf(node)->kind == Accumulator::Kind::Pick)
    return PickedOp::create(builder, where(), builder.getF32Type(), program.pickOf(node));
  return KnownOp::create(builder, where(), typeOf(builder.getContext(), node->type), program.requestListed(node));
}

/// An entry of an input in memory; outside the vocabulary there is none.
Value RegionEmitter::gather(NodeRef node) {
  NodeRef index = program.resolve(node->operand(1));
  Value column = value(index);
  if (isFinish && !index->is(NodeOp::Input) && index->places == 0) // the kernel gathers before the region runs
    column = readKnown(index, Part::Whole, builder.getI32Type());
  Value input = emitNode(builder, node->operand(0), {});
  Value accumulator = GatherOp::create(builder, node->loc, input, column);
  if (node->type == NodeType::Bool)
    return accumulator;
  Value notNegative = arith::CmpIOp::create(builder, node->loc, arith::CmpIPredicate::sge, column, i32(0));
  Value below = arith::CmpIOp::create(builder, node->loc, arith::CmpIPredicate::slt, column, i32(program.planner.g.vocab));
  Value inside = arith::AndIOp::create(builder, node->loc, notNegative, below);
  return select(inside, accumulator, node->type == NodeType::Float ? f32(std::numeric_limits<float>::quiet_NaN()) : i32(-1));
}

// ---- exponentials -------------------------------------------------------------------------------

Value RegionEmitter::maximumOf(const Accumulator *accumulator) {
  if (parent)
    return parent->maximumOf(accumulator);
  if (Value here = state.lookup(accumulator->number))
    return here;
  return value(program.planner.resultOf(const_cast<Accumulator *>(accumulator)));
}

/// a * b + c for the operands of a scaled value: one rounding, and c alone where a weight of 0
/// wins.
Value RegionEmitter::scaledPlus(NodeRef node, Value c) {
  Value a = value(node->operand(0)), b = value(node->operand(1)), result = fma(a, b, c);
  if (!node->is(NodeOp::MultiplyNoNan))
    return result;
  Value vanishes = arith::CmpFOp::create(builder, where(), arith::CmpFPredicate::OEQ, a, f32(0));
  return select(vanishes, c, result);
}

/// The maximum is that of rounded values, so the largest exponential is 1. A sum of two tensors of
/// logits may be subtracted from what cancels it, and keeps its rounding. So does every sum that is
/// the exponent of a product.
Value RegionEmitter::distanceFrom(const Accumulator *max) {
  NodeRef base = program.resolve(max->base);
  setLoc(base->loc);
  if (!max->keepsRounding())
    return sub(value(base), maximumOf(max));
  Pair exact = exactPair(base, max->isOfProduct);
  return add(sub(exact.high, maximumOf(max)), exact.low);
}

Value RegionEmitter::exponential(const Accumulator *max, NodeRef scale) {
  Value &made = exponentials[{max->number, scale}];
  if (made)
    return made;
  Value x = distanceFrom(max);
  if (!scale->isConstant(1))
    x = mul(value(scale), x);
  Value result = exp(x);
  exponentials[{max->number, scale}] = result;
  return result;
}

std::optional<RegionEmitter::LogSoftmax> RegionEmitter::logSoftmaxOf(NodeRef difference, bool isNegated) {
  if (!difference->is(NodeOp::Sub) || !difference->varying)
    return std::nullopt;
  NodeRef x = difference->operand(isNegated ? 1 : 0);
  auto [rest, lse, addend] = program.planner.g.splitLogSoftmax(x, difference->operand(isNegated ? 0 : 1));
  auto parts = rest ? program.planner.logSumExp(lse) : std::nullopt;
  if (!parts)
    return std::nullopt;
  return LogSoftmax{*parts, program.resolve(lse)->operand(1), addend};
}

/// 'value', or NaN where the addend that was cancelled is not finite.
Value RegionEmitter::withCancelled(Value value, NodeRef addend) {
  if (addend->staysFinite)
    return value;
  Value number = this->value(addend);
  return add(value, sub(number, number));
}

/// exp(x - logsumexp) as e^(x - max) / sum: never e^((x - max) - log sum).
Value RegionEmitter::softmax(NodeRef node) {
  Graph &g = program.planner.g;
  if (auto known = logSoftmaxOf(node->operand(0))) {
    NodeRef inverse = g.div(g.constant(1), program.planner.resultOf(known->parts.sum));
    return withCancelled(mul(exponential(known->parts.max, known->parts.scale), value(inverse)), known->addend);
  }
  NodeRef x = node->operand(0)->operand(0), lse = node->operand(0)->operand(1);
  auto parts = program.planner.logSumExp(lse);
  if (!parts)
    return {};
  NodeRef inverse = g.div(g.constant(1), program.planner.resultOf(parts->sum));
  NodeRef large = program.resolve(lse)->operand(0);
  Pair a = pairOf(x), b = pairOf(large);
  Value high = sub(a.high, b.high), low = a.low;
  if (b.low)
    low = low ? sub(low, b.low) : Value(arith::NegFOp::create(builder, where(), b.low));
  if (!node->varying) {
    Value error = twoSumError(a.high, arith::NegFOp::create(builder, where(), b.high), high);
    low = low ? add(low, error) : error;
  }
  Value e = exp(low ? add(high, low) : high);
  Value finite = math::IsFiniteOp::create(builder, where(), e);
  Value direct = exp(value(node->operand(0))); // another tensor's maximum may be far below x
  return select(finite, mul(e, value(inverse)), direct);
}

// ---- pairs --------------------------------------------------------------------------------------

/// Whether 'value' may be 'other' itself, chosen by a condition or an order.
bool RegionEmitter::mayBe(NodeRef value, NodeRef other) const {
  SmallVector<NodeRef> todo{value};
  DenseSet<NodeRef> seen; // choices may share their operands many times over
  while (!todo.empty()) {
    NodeRef next = program.resolve(todo.pop_back_val());
    if (next == other)
      return true;
    bool chooses = next->is(NodeOp::Select) || next->is(NodeOp::Maximum) || next->is(NodeOp::Minimum) || next->is(NodeOp::Clamp);
    if (chooses && seen.insert(next).second)
      todo.append(next->operands.begin(), next->operands.end());
  }
  return false;
}

/// Whether a varying value has a low part worth carrying: one that came in with a per-token value.
bool RegionEmitter::lowMatters(NodeRef node) {
  auto isEntry = [&](NodeRef operand) { return !operand->varying && program.originOf(program.resolve(operand)); };
  auto matters = [&](NodeRef operand) {
    NodeRef resolved = program.resolve(operand);
    if (resolved->is(NodeOp::Constant))
      return false;
    return resolved->varying ? lowMatters(resolved) : program.hasLow(resolved) && !program.originOf(resolved);
  };
  auto meets = [&](NodeRef varying, NodeRef uniform) { // such as the mean in max(z, mean(z)) - mean(z), where its rounding cancels
    NodeRef resolved = program.resolve(uniform);
    return !resolved->varying && mayBe(varying, resolved->is(NodeOp::Neg) ? program.resolve(resolved->operand(0)) : resolved);
  };
  if (auto it = lows.find(node); it != lows.end())
    return it->second;
  bool result = false;
  if (node->type == NodeType::Float) {
    if (node->is(NodeOp::Add) || node->is(NodeOp::Sub)) { // sparse terms are rounded: so is what they are subtracted from
      NodeRef a = node->operand(0), b = node->operand(1);
      bool meetsItself = meets(a, b) || meets(b, a);
      result = !isEntry(a) && !isEntry(b) && !meetsItself && (matters(a) || matters(b));
    } else if (node->is(NodeOp::Neg))
      result = matters(node->operand(0));
    else if (node->is(NodeOp::Mul) && node->isScaled())
      result = matters(node->operand(node->operand(0)->varying ? 0 : 1));
  }
  lows[node] = result;
  return result;
}

RegionEmitter::Pair RegionEmitter::pairOf(NodeRef node) {
  node = program.resolve(node);
  if (isAlongVocabulary() && program.originOf(node)) // rounded, as the values that it is compared with are
    return {value(node), {}};
  if (parent && !node->varying)
    return parent->pairOf(node);
  if (NodeRef constant = constantEntry(node))
    return {parent->value(constant), f32(0)};
  if (auto it = pairs.find(node); it != pairs.end())
    return it->second;
  setLoc(node->loc);
  Pair pair = makePair(node);
  pairs[node] = pair;
  return pair;
}

RegionEmitter::Pair RegionEmitter::makePair(NodeRef node) {
  bool carries = node->varying ? lowMatters(node) : program.hasLow(node);
  if (!carries)
    return {value(node), {}};
  if (isKnown(node)) {
    Type type = builder.getF32Type();
    return {readKnown(node, Part::High, type), readKnown(node, Part::Low, type)};
  }
  if (Graph::Origin origin = program.originOf(node))
    if (Pair pair = makeEntryPair(node, origin); pair.high)
      return pair;
  switch (node->op) {
  case NodeOp::Constant: return {f32(node->number), f32(node->rounding())}; // what cancels may have come by the number in other steps
  case NodeOp::Accumulator:
    if (!state.contains(node->index))
      return {value(node), {}};
    return {state.at(node->index), stateLows.at(node->index)};
  case NodeOp::Pair: {
    Pair large = pairOf(node->operand(0));
    Value small = value(node->operand(1));
    return {large.high, large.low ? add(large.low, small) : small};
  }
  case NodeOp::Neg: return negated(pairOf(node->operand(0)));
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan:
    if (node->varying)
      return scalePair(node);
    return multiplyPairs(factorOf(node->operand(0)), factorOf(node->operand(1)), node->is(NodeOp::MultiplyNoNan));
  case NodeOp::Div: return dividePairs(node);
  default: // logits minus logits cancel; logits minus a per-token value do not
    if (auto known = logSoftmaxOf(node))
      return logSoftmaxPair(*known);
    if (auto known = logSoftmaxOf(node, /*isNegated=*/true))
      return negated(logSoftmaxPair(*known));
    return sumPair(node);
  }
}

/// The logarithms of logsumexps come last: where their maxima are multiples and cancel, they would
/// be lost in what those have lost to rounding.
RegionEmitter::Pair RegionEmitter::sumPair(NodeRef node) {
  NodeRef a = program.resolve(node->operand(0)), b = program.resolve(node->operand(1));
  auto isInParts = [&](NodeRef x) { return !node->varying && x->is(NodeOp::Pair) && !isKnown(x); };
  auto large = [&](NodeRef x) { return pairOf(isInParts(x) ? x->operand(0) : x); };
  bool subtracts = node->is(NodeOp::Sub);
  Pair sum = addPairs(large(a), large(b), subtracts, !node->varying || (a->dependsOnLogits && b->dependsOnLogits));
  if (isInParts(a))
    sum.low = add(sum.low, value(a->operand(1)));
  if (isInParts(b))
    sum.low = subtracts ? sub(sum.low, value(b->operand(1))) : add(sum.low, value(b->operand(1)));
  return sum;
}

RegionEmitter::Pair RegionEmitter::negated(Pair x) {
  Value low = x.low ? Value(arith::NegFOp::create(builder, where(), x.low)) : Value();
  return {arith::NegFOp::create(builder, where(), x.high), low};
}

/// x - logsumexp(x) as (x - max) - log sum, with the distances that the sum was made of.
RegionEmitter::Pair RegionEmitter::logSoftmaxPair(const LogSoftmax &of) {
  Value high = distanceFrom(of.parts.max);
  if (!of.parts.scale->isConstant(1))
    high = mul(value(of.parts.scale), high);
  Value low = arith::NegFOp::create(builder, where(), value(of.logSum));
  return {high, withCancelled(low, of.addend)};
}

/// One entry of scale * base + addend, with the base rounded as it is in exponents: what is
/// subtracted from a logsumexp of all entries is one of them. Null for a base that exponents do not
/// round, and where 'node' is the addend itself, as -lse is where x is 0 in x - lse.
RegionEmitter::Pair RegionEmitter::makeEntryPair(NodeRef node, Graph::Origin origin) {
  auto [base, scale, addend] = program.partsOfEntry(node, origin);
  if (program.resolve(addend) == node)
    return {};
  if (Accumulator *max = program.planner.maximumOf(base); max && max->keepsRounding())
    return {};
  Pair pair{base->varying ? atEntry(origin.index).value(base) : value(base), {}};
  if (!scale->isConstant(1))
    pair = multiplyPairs(factorOf(scale), pair, /*isNoNan=*/false);
  if (!addend->isConstant(0))
    pair = addPairs(pair, pairOf(addend), /*subtracts=*/false, /*keepsRounding=*/true);
  return {pair.high, pair.low ? pair.low : f32(0)};
}

RegionEmitter::Pair RegionEmitter::addPairs(Pair a, Pair b, bool subtracts, bool keepsRounding) {
  Value high = subtracts ? sub(a.high, b.high) : add(a.high, b.high), low = a.low;
  if (b.low) {
    if (!low)
      low = subtracts ? Value(arith::NegFOp::create(builder, where(), b.low)) : b.low;
    else
      low = subtracts ? sub(low, b.low) : add(low, b.low);
  }
  if (keepsRounding) {
    Value other = subtracts ? Value(arith::NegFOp::create(builder, where(), b.high)) : b.high;
    Value error = twoSumError(a.high, other, high);
    low = low ? add(low, error) : error;
  }
  return {high, low};
}

/// A value that is not finite is in the high part alone: products with it are what they would be
/// without pairs.
RegionEmitter::Pair RegionEmitter::factorOf(NodeRef node) {
  Pair pair = pairOf(node);
  if (!pair.low || node->varying)
    return pair;
  Value isFinite = math::IsFiniteOp::create(builder, where(), pair.low);
  return {select(isFinite, pair.high, pair.sum(*this)), select(isFinite, pair.low, f32(0))};
}

/// A varying value times one per token: the low part is that of the value, the product itself is
/// rounded.
RegionEmitter::Pair RegionEmitter::scalePair(NodeRef node) {
  NodeRef x = node->operand(0), factor = node->operand(1);
  if (!x->varying)
    std::swap(x, factor);
  Pair pair = pairOf(x);
  Value by = value(factor), low = mul(pair.low, by);
  Value wasFinite = math::IsFiniteOp::create(builder, where(), pair.low); // else it tells that the value is not
  Value special = select(wasFinite, f32(0), low);
  return {mul(pair.high, by), select(math::IsFiniteOp::create(builder, where(), low), low, special)};
}

RegionEmitter::Pair RegionEmitter::multiplyPairs(Pair a, Pair b, bool isNoNan) {
  Value high = isNoNan ? multiplyNoNan(a.high, b.high) : mul(a.high, b.high);
  Value low = finiteOrZero(fma(a.high, b.high, arith::NegFOp::create(builder, where(), high)));
  auto addLow = [&](Value part, Value factor) {
    if (!part)
      return;
    Value product = finiteOrZero(mul(part, factor));
    low = add(low, product);
  };
  addLow(a.low, b.low ? add(b.high, b.low) : b.high);
  addLow(b.low, a.high);
  return {high, low};
}

RegionEmitter::Pair RegionEmitter::dividePairs(NodeRef node) {
  Pair a = factorOf(node->operand(0));
  Value divisor = pairOf(node->operand(1)).sum(*this);
  Value high = arith::DivFOp::create(builder, where(), a.high, divisor);
  Value rest = fma(arith::NegFOp::create(builder, where(), high), divisor, a.high);
  if (a.low)
    rest = add(rest, a.low);
  return {high, finiteOrZero(arith::DivFOp::create(builder, where(), rest, divisor))};
}

RegionEmitter::Pair RegionEmitter::exactPair(NodeRef node, bool ofAllSums) {
  node = program.resolve(node);
  if (NodeRef constant = constantEntry(node))
    return {parent->value(constant), f32(0)};
  std::pair key(node, ofAllSums);
  if (auto it = exactPairs.find(key); it != exactPairs.end())
    return it->second;
  return exactPairs[key] = makeExactPair(node, ofAllSums);
}

bool RegionEmitter::isRounded(NodeRef node) const {
  Accumulator *max = program.planner.maximumOf(program.resolve(node));
  return max && !max->keepsRounding();
}

RegionEmitter::Pair RegionEmitter::makeExactPair(NodeRef node, bool ofAllSums) {
  if (isRounded(node)) // what normalises it knows the rounded value alone
    return {value(node), {}};
  if (node->isScaled())
    return exactlyScaled(node, ofAllSums);
  bool isSum = node->is(NodeOp::Add) || node->is(NodeOp::Sub);
  auto keeps = [&](NodeRef x) { return ofAllSums ? x->varying : x->dependsOnLogits; };
  if (!isSum || !keeps(node->operand(0)) || !keeps(node->operand(1)))
    return {value(node), {}};
  Pair a = exactPair(node->operand(0), ofAllSums), b = exactPair(node->operand(1), ofAllSums);
  if (node->is(NodeOp::Sub))
    b = negated(b);
  Value high = add(a.high, b.high), low = twoSumError(a.high, b.high, high);
  for (Value part : {a.low, b.low})
    if (part)
      low = add(low, part);
  return {high, low};
}

/// A scaled value, what the product loses, and the product with what the factor has lost: 1 / 3 is
/// no float32.
RegionEmitter::Pair RegionEmitter::exactlyScaled(NodeRef node, bool ofAllSums) {
  NodeRef x = node->operand(0), factor = node->operand(1);
  if (!x->varying)
    std::swap(x, factor);
  Value high = value(node), low = finiteOrZero(scaledPlus(node, arith::NegFOp::create(builder, where(), high)));
  if (Value lost = exactPair(x, ofAllSums).low)
    low = add(low, finiteOrZero(mul(lost, value(factor))));
  Pair by = pairOf(factor);
  if (!by.low)
    return {high, low};
  Value lost = add(sub(by.high, value(factor)), by.low);
  return {high, add(low, finiteOrZero(mul(value(x), lost)))};
}
