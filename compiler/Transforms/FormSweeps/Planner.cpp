// Planner.cpp - levels of values, and the entry or finish of every reduction. How a body comes apart is Decompose.cpp.
#include "compiler/Transforms/FormSweeps/Planner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
using namespace logitile;

// ---- entries ----------------------------------------------------------------------------------------------------

llvm::SmallVector<NodeRef> Entry::bodies() const {
  llvm::SmallVector<NodeRef> bodies;
  for (NodeRef node : {base, scale, pivot, rest, index})
    if (node)
      bodies.push_back(node);
  bodies.append(factors.begin(), factors.end());
  for (auto [coefficient, unused] : centre)
    bodies.push_back(coefficient);
  return bodies;
}

bool Entry::keepsRounding() const {
  bool isSum = base->is(NodeOp::Add) || base->is(NodeOp::Sub);
  return isSum && !isOfLogSumExp && base->operand(0)->dependsOnLogits && base->operand(1)->dependsOnLogits;
}

llvm::SmallVector<Entry *> Entry::needs() const {
  llvm::SmallVector<Entry *> needs;
  for (Entry *entry : {max, weights, arg})
    if (entry)
      needs.push_back(entry);
  for (auto [unused, entry] : centre)
    needs.push_back(entry);
  return needs;
}

/// Entries are one where all but the number, the level and what follows from the rest agree, forward or adjoint. One of an
/// earlier sweep serves as well, except as the weights of a moment that is moved in its own sweep.
Entry *Planner::intern(Entry entry, bool sameSweep) {
  for (const std::unique_ptr<Entry> &known : entries) {
    bool same = known->kind == entry.kind && known->base == entry.base && known->max == entry.max && known->scale == entry.scale &&
                known->factors == entry.factors && known->pivot == entry.pivot && known->arg == entry.arg &&
                known->wantsLargest == entry.wantsLargest && known->index == entry.index;
    if (same && (sameSweep ? known->level == entry.level : known->level <= entry.level))
      return known.get();
  }
  entry.number = entries.size();
  entries.push_back(std::make_unique<Entry>(std::move(entry)));
  return entries.back().get();
}

Entry *Planner::maximumOf(NodeRef base) const {
  auto isWanted = [&](auto &entry) { return entry->kind == Entry::Kind::Max && entry->base == base; };
  auto it = llvm::find_if(entries, isWanted);
  return it == entries.end() ? nullptr : it->get();
}

NodeRef Planner::resultOf(Entry *entry) {
  NodeType type = NodeType::Float;
  if (entry->kind == Entry::Kind::Arg || entry->kind == Entry::Kind::Count)
    type = NodeType::Int;
  else if (entry->kind == Entry::Kind::Gather || entry->kind == Entry::Kind::Carry)
    type = entry->base->type == NodeType::Float ? NodeType::Float : NodeType::Int;
  NodeRef node = g.entry(entry->number, type);
  levels[node] = entry->level;
  return node;
}

// ---- levels -----------------------------------------------------------------------------------------------------

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
    if (node->isReduction())
      levels[node] = place(node);
  }
  return levels.lookup(root);
}

unsigned Planner::place(NodeRef reduction) {
  g.setLoc(reduction->loc);
  NodeRef body = reduction->operand(0);
  switch (reduction->op) {
  case NodeOp::ArgMax:
  case NodeOp::ArgMin: return placeArg(reduction);
  case NodeOp::Gather:
    return placeGather(reduction);
  case NodeOp::Count: {
    Entry entry;
    entry.kind = Entry::Kind::Count;
    entry.base = body;
    entry.level = 1 + level(body);
    resolutions[reduction] = resultOf(intern(entry));
    return entry.level;
  }
  default: break;
  }
  if (reduction->isVerbatim()) {
    Entry *entry = verbatim(reduction);
    resolutions[reduction] = resultOf(entry);
    return entry->level;
  }
  std::set<unsigned> candidates{0};
  for (NodeRef node : Graph::topological(body))
    candidates.insert(level(node));
  for (unsigned L : candidates) // verbatim always succeeds at the largest
    if (reduction->is(NodeOp::LogSumExp) ? placeLogSumExp(reduction, L) : placeSum(reduction, L))
      return std::max(1 + L, level(resolutions.at(reduction))); // what was pulled out may be known later than its entries
  llvm_unreachable("a body whose values are all finished decomposes");
}

unsigned Planner::placeArg(NodeRef reduction) {
  Entry entry;
  entry.kind = Entry::Kind::Arg;
  entry.wantsLargest = reduction->is(NodeOp::ArgMax);
  entry.base = reduction->operand(0);
  entry.level = 1 + level(entry.base);
  Entry *placed = intern(entry);
  resolutions[reduction] = resultOf(placed);
  return placed->level;
}

/// An input in memory is gathered once the index is known; logits, and entries that another slice may have, are caught as
/// they pass.
unsigned Planner::placeGather(NodeRef reduction) {
  NodeRef input = reduction->operand(0), index = reduction->operand(1);
  if (!input->isInput(InputKind::Logits) && !isSliced)
    return level(index);
  Entry entry;
  entry.base = input;
  if (index->is(NodeOp::ArgMax) || index->is(NodeOp::ArgMin)) {
    entry.kind = Entry::Kind::Carry;
    entry.arg = entryOf(resolved(index));
    entry.level = entry.arg->level;
    Entry *placed = intern(entry);
    resolutions[reduction] = caught(placed);
    return placed->level;
  }
  entry.kind = Entry::Kind::Gather;
  entry.index = index;
  entry.level = 1 + level(index);
  Entry *placed = intern(entry);
  NodeRef inside = g.logicalAnd(g.compare(Predicate::Ge, index, g.integer(0)), g.compare(Predicate::Lt, index, g.integer(g.vocab)));
  NodeRef value = caught(placed);
  if (value->type != NodeType::Bool)
    value = g.select(inside, value, value->type == NodeType::Int ? g.integer(-1) : g.constant(std::numeric_limits<double>::quiet_NaN()));
  resolutions[reduction] = value;
  return placed->level;
}

/// What a pick or a carry has caught; a bool is kept as a number.
NodeRef Planner::caught(Entry *entry) {
  NodeRef result = resultOf(entry);
  return entry->base->type == NodeType::Bool ? g.compare(Predicate::Ne, result, g.integer(0)) : result;
}

/// A sum that comes apart saves a sweep. Of n nested reductions each comes apart into as many terms as there are reductions
/// below it: where there is much state already, a sweep costs less.
bool Planner::placeSum(NodeRef reduction, unsigned L) {
  constexpr size_t kFewTerms = 4, kMuchState = 512;
  std::optional<Terms> terms = decompose(reduction->operand(0), L, /*top=*/true);
  if (!terms || (entries.size() > kMuchState && terms->size() > kFewTerms && L < level(reduction->operand(0))))
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
  Entry entry;
  entry.kind = Entry::Kind::Exp;
  entry.level = 1 + L;
  entry.max = by->max;
  entry.max->isOfLogSumExp = true;
  entry.scale = by->scale;
  Entry *sum = intern(entry);
  // In two parts: as one number it has the rounding of the maximum.
  NodeRef large = g.add(g.mul(by->scale, resultOf(by->max)), g.add(addend, by->addend));
  resolutions[reduction] = g.pair(large, g.log(resultOf(sum)));
  logSumExps[reduction] = {by->max, by->scale, sum};
  return true;
}

Entry *Planner::verbatim(NodeRef reduction) {
  NodeRef body = factored(reduction->operand(0));
  Entry entry;
  entry.kind = Entry::Kind::Sum;
  entry.level = 1 + level(body);
  entry.factors = {body};
  return intern(entry);
}

// ---- what is needed -----------------------------------------------------------------------------------------------

std::map<unsigned, Entry *> Planner::reach(llvm::ArrayRef<NodeRef> roots) {
  std::map<unsigned, Entry *> found;
  llvm::DenseSet<NodeRef> seen;
  llvm::SmallVector<NodeRef> todo(roots);
  while (!todo.empty()) {
    NodeRef node = todo.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (!node->is(NodeOp::Entry)) {
      if (NodeRef resolution = resolved(node))
        todo.push_back(resolution);
      else
        todo.append(node->operands.begin(), node->operands.end());
      continue;
    }
    llvm::SmallVector<Entry *> stack{entryOf(node)};
    while (!stack.empty()) {
      Entry *entry = stack.pop_back_val();
      if (!found.try_emplace(entry->number, entry).second)
        continue;
      todo.append(entry->bodies());
      stack.append(entry->needs());
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
