// EmitRegion.cpp - scalar code of one region. Per-token sums, differences and products carry their rounding error along
// as (high, low); they enter vocabulary code as (x - high) - low.
#include "compiler/Transforms/FormSweeps/EmitProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
using namespace mlir;
using namespace logitile;

// ---- small pieces of code -------------------------------------------------------------------------------------------

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
  return InputOp::create(builder, where(), type, kind, builder.getStringAttr(name), IntegerAttr());
}

Value RegionEmitter::roundingOf(Value a, Value b, Value sum) {
  Value partB = sub(sum, a), partA = sub(sum, partB);
  return add(sub(a, partA), sub(b, partB));
}
Value RegionEmitter::twoSumError(Value a, Value b, Value sum) { return finiteOrZero(roundingOf(a, b, sum)); }

/// The low part of a sum that is not finite says nothing.
void RegionEmitter::bind(const Entry *entry, Value high, Value low) {
  state[entry->number] = high;
  stateLows[entry->number] = finiteOrZero(low);
}

// ---- values ---------------------------------------------------------------------------------------------------------

/// Whether the region reads 'node' instead of computing it.
bool RegionEmitter::isKnown(NodeRef node) {
  if (node->varying || node->is(NodeOp::Input) || node->is(NodeOp::Constant))
    return false;
  int at = program.pointOf(node);
  if (at == kFree)
    return !isFinish && !node->is(NodeOp::Pick) && !program.isCheap(node);
  return isFinish ? at < point : true;
}

Value RegionEmitter::value(NodeRef node, Part part) {
  node = program.settle(node);
  if (part == Part::Whole || node->varying)
    return value(node);
  Pair pair = pairOf(node);
  if (part == Part::High)
    return pair.high;
  return pair.low ? pair.low : f32(0);
}

Value RegionEmitter::value(NodeRef node) {
  node = program.settle(node);
  if (Value known = whole.lookup(node))
    return known;
  setLoc(node->loc);
  Value result = compute(node);
  whole[node] = result;
  return result;
}

Value RegionEmitter::compute(NodeRef node) {
  if (isKnown(node)) {
    Type type = node->type == NodeType::Float ? Type(builder.getF32Type()) : builder.getI32Type();
    Value known = read(InputKind::Known, program.request(node, Part::Whole), type);
    if (node->type == NodeType::Bool)
      known = arith::CmpIOp::create(builder, where(), arith::CmpIPredicate::ne, known, i32(0));
    return known;
  }
  if (node->is(NodeOp::Entry) && !program.hasLow(node))
    return state.at(node->index);
  if (node->is(NodeOp::Pick))
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

/// An entry of an input in memory; outside the vocabulary there is none.
Value RegionEmitter::gather(NodeRef node) {
  NodeRef index = program.settle(node->operand(1));
  Value column = value(index);
  if (isFinish && !index->is(NodeOp::Input)) // the kernel gathers before the region runs
    column = read(InputKind::Known, program.request(index, Part::Whole), builder.getI32Type());
  Value input = emitNode(builder, node->operand(0), {});
  Value entry = PickOp::create(builder, node->loc, input, column);
  if (node->type == NodeType::Bool)
    return entry;
  Value notNegative = arith::CmpIOp::create(builder, node->loc, arith::CmpIPredicate::sge, column, i32(0));
  Value below = arith::CmpIOp::create(builder, node->loc, arith::CmpIPredicate::slt, column, i32(program.planner.g.vocab));
  Value inside = arith::AndIOp::create(builder, node->loc, notNegative, below);
  return select(inside, entry, node->type == NodeType::Float ? f32(std::numeric_limits<float>::quiet_NaN()) : i32(-1));
}

// ---- exponentials ---------------------------------------------------------------------------------------------------

Value RegionEmitter::maximumOf(const Entry *entry) {
  if (Value here = state.lookup(entry->number))
    return here;
  return value(program.planner.resultOf(const_cast<Entry *>(entry)));
}

/// A varying value times one per token; the factor of a weigh is its weight.
static bool isScaled(NodeRef node) {
  if (node->is(NodeOp::Weigh))
    return !node->operand(0)->varying && node->operand(1)->varying;
  return node->is(NodeOp::Mul) && node->operand(0)->varying != node->operand(1)->varying;
}

/// a * b + c for the operands of a scaled value: one rounding, and c alone where a weight of 0 wins.
Value RegionEmitter::scaledPlus(NodeRef node, Value c) {
  Value a = value(node->operand(0)), b = value(node->operand(1)), result = fma(a, b, c);
  if (!node->is(NodeOp::Weigh))
    return result;
  Value vanishes = arith::CmpFOp::create(builder, where(), arith::CmpFPredicate::OEQ, a, f32(0));
  return select(vanishes, c, result);
}

/// base - max. A product is one fma, a sum of logits keeps its rounding: so it is the same wherever it is made.
Value RegionEmitter::baseMinus(NodeRef base, Value max) {
  NodeRef node = program.settle(base);
  setLoc(node->loc);
  if (isScaled(node))
    return scaledPlus(node, arith::NegFOp::create(builder, where(), max));
  bool isSum = node->is(NodeOp::Add) || node->is(NodeOp::Sub);
  if (!isSum || !node->operand(0)->dependsOnLogits || !node->operand(1)->dependsOnLogits)
    return sub(value(node), max);
  Pair exact = exactPair(node);
  return add(sub(exact.high, max), exact.low);
}

Value RegionEmitter::exponential(const Entry *max, NodeRef scale) {
  Value &made = exponentials[{max->number, scale}];
  if (made)
    return made;
  Value x = baseMinus(max->base, maximumOf(max));
  if (!scale->isConstant(1))
    x = mul(value(scale), x);
  Value result = exp(x);
  exponentials[{max->number, scale}] = result;
  return result;
}

/// exp(x - logsumexp) as e^(x - max) / sum: never e^((x - max) - log sum).
Value RegionEmitter::softmax(NodeRef node) {
  NodeRef x = node->operand(0)->operand(0), lse = node->operand(0)->operand(1);
  auto parts = program.planner.logSumExp(lse);
  if (!parts)
    return {};
  Graph &g = program.planner.g;
  NodeRef inverse = g.div(g.constant(1), program.planner.resultOf(parts->sum));
  if (x == lse->operand(0) && x->varying)
    return mul(exponential(parts->max, parts->scale), value(inverse));
  NodeRef large = program.settle(lse)->operand(0);
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

// ---- pairs ------------------------------------------------------------------------------------------------------------

/// Whether a varying value has a low part worth carrying: one that came in with a per-token value.
bool RegionEmitter::lowMatters(NodeRef node) {
  auto matters = [&](NodeRef operand) {
    NodeRef settled = program.settle(operand);
    return settled->varying ? lowMatters(settled) : program.hasLow(settled);
  };
  if (auto it = lows.find(node); it != lows.end())
    return it->second;
  bool result = false;
  if (node->type == NodeType::Float) {
    if (node->is(NodeOp::Add) || node->is(NodeOp::Sub))
      result = matters(node->operand(0)) || matters(node->operand(1));
    else if (node->is(NodeOp::Neg))
      result = matters(node->operand(0));
    else if (node->is(NodeOp::Mul) && isScaled(node))
      result = matters(node->operand(node->operand(0)->varying ? 0 : 1));
  }
  lows[node] = result;
  return result;
}

RegionEmitter::Pair RegionEmitter::pairOf(NodeRef node) {
  node = program.settle(node);
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
    return {read(InputKind::Known, program.request(node, Part::High), type), read(InputKind::Known, program.request(node, Part::Low), type)};
  }
  switch (node->op) {
  case NodeOp::Entry: return {state.at(node->index), stateLows.at(node->index)};
  case NodeOp::Pair: {
    Pair large = pairOf(node->operand(0));
    Value small = value(node->operand(1));
    return {large.high, large.low ? add(large.low, small) : small};
  }
  case NodeOp::Neg: {
    Pair x = pairOf(node->operand(0));
    return {arith::NegFOp::create(builder, where(), x.high), arith::NegFOp::create(builder, where(), x.low)};
  }
  case NodeOp::Mul:
  case NodeOp::Weigh: return multiplyPairs(node);
  case NodeOp::Div: return dividePairs(node);
  default: // logits minus logits cancel; logits minus a per-token value do not
    return addPairs(node, !node->varying || (node->operand(0)->dependsOnLogits && node->operand(1)->dependsOnLogits));
  }
}

RegionEmitter::Pair RegionEmitter::addPairs(NodeRef node, bool keepsRounding) {
  Pair a = pairOf(node->operand(0)), b = pairOf(node->operand(1));
  bool subtracts = node->is(NodeOp::Sub);
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

/// A value that is not finite is in the high part alone: products with it are what they would be without pairs.
RegionEmitter::Pair RegionEmitter::factorOf(NodeRef node) {
  Pair pair = pairOf(node);
  if (!pair.low || node->varying)
    return pair;
  Value isFinite = math::IsFiniteOp::create(builder, where(), pair.low);
  return {select(isFinite, pair.high, pair.sum(*this)), select(isFinite, pair.low, f32(0))};
}

RegionEmitter::Pair RegionEmitter::multiplyPairs(NodeRef node) {
  Pair a = factorOf(node->operand(0)), b = factorOf(node->operand(1));
  Value high = node->is(NodeOp::Weigh) ? weigh(a.high, b.high) : mul(a.high, b.high);
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

RegionEmitter::Pair RegionEmitter::exactPair(NodeRef node) {
  node = program.settle(node);
  if (auto it = exactPairs.find(node); it != exactPairs.end())
    return it->second;
  return exactPairs[node] = makeExactPair(node);
}

RegionEmitter::Pair RegionEmitter::makeExactPair(NodeRef node) {
  if (isScaled(node)) {
    Value high = value(node);
    return {high, finiteOrZero(scaledPlus(node, arith::NegFOp::create(builder, where(), high)))};
  }
  bool isSum = node->is(NodeOp::Add) || node->is(NodeOp::Sub);
  if (!isSum || !node->operand(0)->dependsOnLogits || !node->operand(1)->dependsOnLogits)
    return {value(node), {}};
  Pair a = exactPair(node->operand(0)), b = exactPair(node->operand(1));
  auto negated = [&](Value x) { return x ? Value(arith::NegFOp::create(builder, where(), x)) : x; };
  if (node->is(NodeOp::Sub))
    b = {negated(b.high), negated(b.low)};
  Value high = add(a.high, b.high), low = twoSumError(a.high, b.high, high);
  for (Value part : {a.low, b.low})
    if (part)
      low = add(low, part);
  return {high, low};
}
