// Planner.cpp - levels of values, and the accumulator or finish of every reduction. Decompose.cpp
// splits bodies.
#include "compiler/Transforms/FormSweeps/Planner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
using namespace logitile;

// ---- accumulators -------------------------------------------------------------------------------

llvm::SmallVector<NodeRef> Accumulator::bodies() const {
  llvm::SmallVector<NodeRef> bodies;
  for (NodeRef node : {base, scale, pivot, rest, index})
    if (node)
      bodies.push_back(node);
  bodies.append(factors.begin(), factors.end());
  for (auto [coefficient, unused] : centre)
    bodies.push_back(coefficient);
  return bodies;
}

bool Accumulator::keepsRounding() const {
  bool isSum = base->is(NodeOp::Add) || base->is(NodeOp::Sub);
  auto isPart = [&](NodeRef x) { return isOfProduct ? x->varying : x->dependsOnLogits; };
  return !isOfLogSumExp && ((isSum && isPart(base->operand(0)) && isPart(base->operand(1))) || (isOfProduct && base->isScaled()));
}

llvm::SmallVector<Accumulator *> Accumulator::needs() const {
  llvm::SmallVector<Accumulator *> needs;
  for (Accumulator *accumulator : {max, weights, arg})
    if (accumulator)
      needs.push_back(accumulator);
  for (auto [unused, accumulator] : centre)
    needs.push_back(accumulator);
  return needs;
}

/// Accumulators are one where all but the number, the level and what follows from the rest agree,
/// forward or backward. One of an earlier sweep serves as well, except as the weights of a moment
/// that is moved in its own sweep.
Accumulator *Planner::intern(Accumulator accumulator, bool sameSweep) {
  for (const std::unique_ptr<Accumulator> &known : accumulators) {
    bool same = known->kind == accumulator.kind && known->base == accumulator.base && known->max == accumulator.max &&
                known->scale == accumulator.scale && known->factors == accumulator.factors && known->pivot == accumulator.pivot &&
                known->arg == accumulator.arg && known->wantsLargest == accumulator.wantsLargest && known->index == accumulator.index &&
                known->places == accumulator.places;
    if (same && (sameSweep ? known->level == accumulator.level : known->level <= accumulator.level)) {
      if (known->reductions != placed)
        known->reductions.append(placed);
      return known.get();
    }
  }
  accumulator.reductions = placed;
  accumulator.number = accumulators.size();
  accumulators.push_back(std::make_unique<Accumulator>(std::move(accumulator)));
  return accumulators.back().get();
}

Accumulator *Planner::maximumOf(NodeRef base) const {
  auto isWanted = [&](auto &accumulator) { return accumulator->kind == Accumulator::Kind::Max && accumulator->base == base; };
  auto it = llvm::find_if(accumulators, isWanted);
  return it == accumulators.end() ? nullptr : it->get();
}

NodeRef Planner::resultOf(Accumulator *accumulator) {
  NodeType type = NodeType::Float;
  if (accumulator->kind == Accumulator::Kind::Arg || accumulator->kind == Accumulator::Kind::Count)
    type = NodeType::Int;
  else if (accumulator->kind == Accumulator::Kind::Gather || accumulator->kind == Accumulator::Kind::Carry)
    type = accumulator->base->type == NodeType::Float ? NodeType::Float : NodeType::Int;
  int64_t places = accumulator->kind == Accumulator::Kind::Pick ? accumulator->places : 0;
  NodeRef node = g.accumulator(accumulator->number, type, /*isList=*/false, places);
  levels[node] = accumulator->level;
  return node;
}

NodeRef Planner::resultOfList(Accumulator *list, NodeType type) {
  NodeRef node = g.accumulator(list->number, type, /*isList=*/true);
  levels[node] = list->level;
  return node;
}

NodeRef Planner::listRead(Accumulator *list, NodeType type) {
  NodeRef node = g.accumulator(list->number, type, /*isList=*/false, list->places);
  levels[node] = list->level;
  return node;
}

NodeRef Planner::placeOfList(Accumulator *list, NodeRef place, NodeType type) {
  NodeRef node = g.gather(resultOfList(list, type), place);
  levels[node] = list->level;
  return node;
}

NodeRef Planner::listedEntry(NodeRef value, NodeRef index) {
  NodeRef list = index && index->isPlaceOfList() ? index->operand(0) : index;
  if (!value || !list->is(NodeOp::ArgTop) || list->operand(0) != value)
    return nullptr;
  if (underLogSumExp(value).base != value) // the entry is made of that base, which the list does not have
    return nullptr;
  level(index);
  Accumulator *accumulator = accumulatorOf(resolved(list));
  return list == index ? listRead(accumulator, NodeType::Float) : placeOfList(accumulator, index->operand(1), NodeType::Float);
}

Accumulator *Planner::listOf(NodeRef node) {
  if (node->is(NodeOp::ArgTop))
    return accumulatorOf(resolved(node));
  llvm::SmallVector<NodeRef> todo{node};
  llvm::DenseSet<NodeRef> seen;
  while (!todo.empty()) {
    NodeRef part = todo.pop_back_val();
    if (!part->varying || !seen.insert(part).second) // a place of another list is not varying
      continue;
    if (part->is(NodeOp::Top))
      return accumulatorOf(resolved(part));
    todo.append(part->operands.begin(), part->operands.end());
  }
  return nullptr;
}

// ---- levels -------------------------------------------------------------------------------------

unsigned Planner::level(NodeRef root) {
  if (auto it = levels.find(root); it != levels.end())
    return it->second;
  for (NodeRef node : Graph::topological(root)) {
    if (levels.contains(node))
      continue;
    unsigned level = node->isInput(InputKind::Cotangent) ? kCotangent : 0;
    for (NodeRef operand : node->operands)
      level = std::max(level, levels.lookup(operand));
    levels[node] = level;
    Graph::Origin origin = g.originOf(node);
    if (!origin && node->is(NodeOp::Exp) && (origin = g.originOf(node->operand(0)))) // exp(x)[i] is written as exp(x[i])
      origin.value = g.exp(origin.value);
    if (NodeRef entry = listedEntry(origin.value, origin.index)) {
      resolutions[node] = entry;
      levels[node] = levels[entry];
    } else if (node->isReduction()) {
      levels[node] = place(node);
    }
  }
  return levels.lookup(root);
}

/// The places of a reduction and of the products and sums below it, which decomposing takes apart.
static llvm::SmallVector<mlir::Location, 4> placesOf(NodeRef reduction) {
  constexpr size_t kMost = 16; // what is larger is told in part
  llvm::SmallVector<mlir::Location, 4> places{reduction->loc};
  llvm::SmallVector<NodeRef> todo{reduction->operand(0)};
  while (!todo.empty() && places.size() < kMost) {
    NodeRef node = todo.pop_back_val();
    if (!node->varying || !(node->is(NodeOp::Mul) || node->is(NodeOp::Add) || node->is(NodeOp::Sub) || node->is(NodeOp::Neg)))
      continue;
    places.push_back(node->loc);
    todo.append(node->operands.begin(), node->operands.end());
  }
  return places;
}

unsigned Planner::place(NodeRef reduction) {
  g.setLoc(reduction->loc);
  placed = placesOf(reduction);
  NodeRef body = reduction->operand(0);
  switch (reduction->op) {
  case NodeOp::ArgMax:
  case NodeOp::ArgMin: return placeArg(reduction);
  case NodeOp::Top:
  case NodeOp::ArgTop: return placeList(reduction);
  case NodeOp::Gather:
    return placeGather(reduction);
  case NodeOp::Count: {
    Accumulator accumulator;
    accumulator.kind = Accumulator::Kind::Count;
    accumulator.base = body;
    accumulator.level = 1 + level(body);
    resolutions[reduction] = resultOf(intern(accumulator));
    return accumulator.level;
  }
  default: break;
  }
  if (reduction->isVerbatim()) {
    Accumulator *accumulator = verbatim(reduction);
    resolutions[reduction] = resultOf(accumulator);
    return accumulator->level;
  }
  std::set<unsigned> candidates{0};
  for (NodeRef node : Graph::topological(body))
    candidates.insert(level(node));
  for (unsigned L : candidates) // verbatim always succeeds at the largest
    if (reduction->is(NodeOp::LogSumExp) ? placeLogSumExp(reduction, L) : placeSum(reduction, L))
      return std::max(1 + L, level(resolutions.at(reduction))); // what was pulled out may be known later than its accumulators
  llvm_unreachable("a body whose values are all finished decomposes");
}

unsigned Planner::placeArg(NodeRef reduction) {
  Accumulator accumulator;
  accumulator.kind = Accumulator::Kind::Arg;
  accumulator.wantsLargest = reduction->is(NodeOp::ArgMax);
  accumulator.base = reduction->operand(0);
  accumulator.level = 1 + level(accumulator.base);
  Accumulator *placed = intern(accumulator);
  resolutions[reduction] = resultOf(placed);
  return placed->level;
}

unsigned Planner::placeList(NodeRef reduction) {
  Accumulator accumulator;
  accumulator.kind = Accumulator::Kind::List;
  accumulator.base = reduction->operand(0);
  accumulator.places = reduction->index;
  accumulator.level = 1 + level(accumulator.base);
  Accumulator *placed = intern(accumulator);
  resolutions[reduction] = reduction->is(NodeOp::Top) ? resultOfList(placed, NodeType::Float) : listRead(placed, NodeType::Int);
  return placed->level;
}

/// An input in memory is gathered once the index is known; logits, and entries that another slice
/// may have, are caught as they pass.
unsigned Planner::placeGather(NodeRef reduction) {
  NodeRef input = reduction->operand(0), index = reduction->operand(1);
  NodeRef listed = input->isListed() ? placeOfList(accumulatorOf(resolved(input)), index, reduction->type) : listedEntry(input, index);
  if (listed) {
    resolutions[reduction] = listed;
    return levels[listed];
  }
  if (!input->isInput(InputKind::Logits) && !isSliced)
    return level(index);
  Accumulator accumulator;
  accumulator.base = input;
  if (index->is(NodeOp::ArgMax) || index->is(NodeOp::ArgMin)) {
    accumulator.kind = Accumulator::Kind::Carry;
    accumulator.arg = accumulatorOf(resolved(index));
    accumulator.level = accumulator.arg->level;
    Accumulator *placed = intern(accumulator);
    resolutions[reduction] = caught(placed);
    return placed->level;
  }
  accumulator.kind = index->places > 0 ? Accumulator::Kind::Pick : Accumulator::Kind::Gather;
  accumulator.places = index->places;
  accumulator.index = index;
  accumulator.level = 1 + level(index);
  Accumulator *placed = intern(accumulator);
  NodeRef inside = g.logicalAnd(g.compare(Predicate::Ge, index, g.integer(0)), g.compare(Predicate::Lt, index, g.integer(g.vocab)));
  NodeRef value = caught(placed);
  if (value->type != NodeType::Bool)
    value = g.select(inside, value, value->type == NodeType::Int ? g.integer(-1) : g.constant(std::numeric_limits<double>::quiet_NaN()));
  resolutions[reduction] = value;
  return placed->level;
}

/// What a pick or a carry has caught; a bool is kept as a number.
NodeRef Planner::caught(Accumulator *accumulator) {
  NodeRef result = resultOf(accumulator);
  return accumulator->base->type == NodeType::Bool ? g.compare(Predicate::Ne, result, g.integer(0)) : result;
}

/// A sum that comes apart saves a sweep. Of n nested reductions each comes apart into as many terms
/// as there are reductions below it: where there is much state already, a sweep costs less.
bool Planner::placeSum(NodeRef reduction, unsigned L) {
  constexpr size_t kFewTerms = 4, kMuchState = 512;
  std::optional<Terms> terms = decompose(reduction->operand(0), L, /*top=*/true);
  if (!terms || (accumulators.size() > kMuchState && terms->size() > kFewTerms && L < level(reduction->operand(0))))
    return false;
  resolutions[reduction] = finish(*terms, L, reduction->is(NodeOp::Mean));
  return true;
}

bool Planner::placeLogSumExp(NodeRef reduction, unsigned L) {
  auto stripped = strip(reduction->operand(0), L);
  if (!stripped)
    return false;
  auto [exponent, addend] = *stripped;
  std::optional<Shift> by = shift(exponent, L);
  if (!by)
    return false;
  Accumulator accumulator;
  accumulator.kind = Accumulator::Kind::Exp;
  accumulator.level = 1 + L;
  accumulator.max = by->max;
  accumulator.max->isOfLogSumExp = true;
  accumulator.scale = by->scale;
  Accumulator *sum = intern(accumulator);
  // In two parts: as one number it has the rounding of the maximum.
  NodeRef large = g.add(g.mul(by->scale, resultOf(by->max)), g.add(addend, by->addend));
  resolutions[reduction] = g.pair(large, g.log(resultOf(sum)));
  logSumExps[reduction] = {by->max, by->scale, sum};
  exponents[reduction->operand(0)] = {by->max->base, by->scale, g.add(addend, by->addend)};
  return true;
}

Accumulator *Planner::verbatim(NodeRef reduction) {
  NodeRef body = factored(reduction->operand(0));
  Accumulator accumulator;
  accumulator.kind = Accumulator::Kind::Sum;
  accumulator.level = 1 + level(body);
  accumulator.factors = {body};
  return intern(accumulator);
}

// ---- what is needed -----------------------------------------------------------------------------

std::map<unsigned, Accumulator *> Planner::reach(llvm::ArrayRef<NodeRef> roots) {
  std::map<unsigned, Accumulator *> found;
  llvm::DenseSet<NodeRef> seen;
  llvm::SmallVector<NodeRef> todo(roots);
  while (!todo.empty()) {
    NodeRef node = todo.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (!node->is(NodeOp::Accumulator)) {
      if (NodeRef resolution = resolved(node))
        todo.push_back(resolution);
      else
        todo.append(node->operands.begin(), node->operands.end());
      continue;
    }
    llvm::SmallVector<Accumulator *> stack{accumulatorOf(node)};
    while (!stack.empty()) {
      Accumulator *accumulator = stack.pop_back_val();
      if (!found.try_emplace(accumulator->number, accumulator).second)
        continue;
      todo.append(accumulator->bodies());
      stack.append(accumulator->needs());
    }
  }
  return found;
}

llvm::SmallVector<NodeRef> Planner::directReductions(NodeRef root) {
  llvm::SetVector<NodeRef> found;
  llvm::DenseSet<NodeRef> seen;
  llvm::SmallVector<NodeRef> todo{root};
  while (!todo.empty()) {
    NodeRef node = todo.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (resolved(node))
      found.insert(node);
    else
      todo.append(node->operands.begin(), node->operands.end());
  }
  return found.takeVector();
}
