// EmitProgram.cpp - the parts of a program, last to first: a later part lists the values that it
// needs, and the earlier finish yields them. Code inside the regions is EmitRegion.cpp and
// EmitSweep.cpp.
#include "compiler/Transforms/FormSweeps/EmitProgram.h"
using namespace mlir;
using namespace logitile;

ProgramEmitter::ProgramEmitter(Planner &planner, const Placement &placement, ArrayRef<std::pair<StringRef, NodeRef>> outputs,
                               const llvm::StringMap<int64_t> &places, ArrayRef<GradientNodes> gradients)
    : planner(planner), placement(placement), outputs(outputs), places(places), gradients(gradients), builder(planner.g.context) {
  for (auto [i, sweep] : llvm::enumerate(placement.forward))
    for (Accumulator *accumulator : sweep)
      accumulatorStages[accumulator->number] = i + 1;
  for (auto [i, sweep] : llvm::enumerate(placement.backward))
    for (Accumulator *accumulator : sweep)
      accumulatorStages[accumulator->number] = backwardStage() + i + 1;
  for (auto [reduction, accumulator] : placement.fused)
    accumulatorStages[accumulator->number] = fusedStage();
}

// ---- points -------------------------------------------------------------------------------------

NodeRef ProgramEmitter::resolve(NodeRef node) const {
  for (auto [reduction, accumulator] : placement.fused)
    if (reduction == node)
      return planner.resultOf(accumulator);
  NodeRef resolution = planner.resolved(node);
  return resolution ? resolve(resolution) : node;
}

int ProgramEmitter::pointOf(NodeRef node) {
  node = resolve(node);
  if (auto it = points.find(node); it != points.end())
    return it->second;
  int point = kFree;
  if (node->is(NodeOp::Accumulator))
    point = stageOf(planner.accumulatorOf(node)) * kStepsOfStage;
  else if (node->isInput(InputKind::Cotangent))
    point = backwardStage() * kStepsOfStage;
  else if (node->isPlaceOfList()) // a step after its list is made
    point = stageOf(planner.accumulatorOf(node->operand(0))) * kStepsOfStage + 1;
  else if (node->is(NodeOp::SumList)) // a step after the list is known
    point = std::max(pointOf(node->operand(0)), 0) + 1;
  else if (node->is(NodeOp::Gather)) { // of memory: a step after its index is known
    NodeRef index = resolve(node->operand(1));
    point = index->is(NodeOp::Input) ? kFree : std::max(pointOf(index), 0) + 1;
  } else {
    for (NodeRef operand : node->operands)
      if (!operand->varying)
        point = std::max(point, pointOf(operand));
  }
  points[node] = point;
  return point;
}

Graph::Origin ProgramEmitter::originOf(NodeRef node) {
  if (auto known = origins.find(node); known != origins.end())
    return known->second;
  return origins[node] = findOrigin(node);
}
Graph::Origin ProgramEmitter::findOrigin(NodeRef node) {
  Graph &g = planner.g;
  if (node->varying)
    return {};
  if (node->is(NodeOp::Exp)) // exp(x)[i] is traced as exp(x[i])
    if (Graph::Origin exponent = originOfExponent(node->operand(0)))
      return {g.exp(exponent.value), exponent.index};
  bool isProduct = node->is(NodeOp::Mul) || node->is(NodeOp::MultiplyNoNan);
  if (isProduct && !g.originOf(node)) { // so is p[i] * q[i], and a number times p[i]
    NodeRef a = node->operand(0), b = node->operand(1);
    Graph::Origin first = originOfFactor(a), second = originOfFactor(b);
    if (first && second && first.index == second.index)
      return {g.rebuild(node, {first.value, second.value}), first.index};
    if (a->isConstant() && second && b->isWeight)
      return {g.rebuild(node, {a, second.value}), second.index};
  }
  Graph::Origin origin = g.originOf(node);
  return origin && hasPartsOf(node, origin) ? origin : Graph::Origin();
}

static bool isEntryOfInput(NodeRef node) { return node->is(NodeOp::Gather) && !node->isPlaceOfList(); }

/// exp2(x)[i] is exp of ln 2 times x[i], which has no more digits than ln 2 * x has along the
/// vocabulary.
Graph::Origin ProgramEmitter::originOfExponent(NodeRef exponent) {
  if (!exponent->is(NodeOp::Mul) || !exponent->operand(0)->isConstant() || planner.g.originOf(exponent))
    return originOf(exponent);
  NodeRef entry = exponent->operand(1);
  Graph::Origin origin = isEntryOfInput(entry) ? Graph::Origin{entry->operand(0), entry->operand(1)} : originOf(entry);
  return origin ? Graph::Origin{planner.g.mul(exponent->operand(0), origin.value), origin.index} : Graph::Origin();
}

/// An exponential of an input is the same number anywhere; a product with it is not.
Graph::Origin ProgramEmitter::originOfFactor(NodeRef factor) {
  if (!factor->is(NodeOp::Exp) || !isEntryOfInput(factor->operand(0)))
    return originOf(factor);
  NodeRef entry = factor->operand(0);
  return {planner.g.exp(entry->operand(0)), entry->operand(1)};
}

NodeRef ProgramEmitter::asSelectedEntries(NodeRef node) {
  Selection found = selectionOf(node);
  return found.isExponential ? planner.g.select(found.condition, found.taken, found.other) : nullptr;
}
ProgramEmitter::Selection ProgramEmitter::selectionOf(NodeRef node) {
  if (auto known = selections.find(node); known != selections.end())
    return known->second;
  Selection found = findSelection(node);
  return selections[node] = found;
}
ProgramEmitter::Selection ProgramEmitter::findSelection(NodeRef node) {
  Graph &g = planner.g;
  if (node->varying || node->type != NodeType::Float)
    return {};
  if (node->is(NodeOp::Select)) {
    auto isEntry = [&](NodeRef branch) { return isEntryOfInput(branch) || originOf(branch); };
    bool selects = isEntry(node->operand(1)) || isEntry(node->operand(2));
    return selects ? Selection{node->operand(0), node->operand(1), node->operand(2)} : Selection();
  }
  if (node->is(NodeOp::Exp)) {
    Selection exponent = selectionOf(node->operand(0));
    return exponent ? Selection{exponent.condition, g.exp(exponent.taken), g.exp(exponent.other), true} : Selection();
  }
  if (!node->is(NodeOp::Mul) && !node->is(NodeOp::MultiplyNoNan))
    return {};
  NodeRef a = node->operand(0), b = node->operand(1);
  Selection first = a->isConstant() ? Selection() : selectionOf(a), second = selectionOf(b);
  if (!second || (first ? first.condition != second.condition : !a->isConstant()))
    return {};
  auto product = [&](NodeRef ofFirst, NodeRef ofSecond) { return g.rebuild(node, {first ? ofFirst : a, ofSecond}); };
  return {second.condition, product(first.taken, second.taken), product(first.other, second.other), second.isExponential};
}

/// Whether all per-token values and picks that the entry is made of are known where 'node' is:
/// simplification may have dropped some. Entries of inputs in memory can be gathered there, and
/// arithmetic be computed there; picks and sums cannot be added any more.
bool ProgramEmitter::hasPartsOf(NodeRef node, Graph::Origin origin) {
  SmallVector<NodeRef> order = Graph::topological(node);
  DenseSet<NodeRef> parts(order.begin(), order.end()), seen;
  auto isThere = [&](NodeRef x) { return x->is(NodeOp::Constant) || x->is(NodeOp::Input) || parts.contains(x); };
  SmallVector<NodeRef> todo{origin.value};
  while (!todo.empty()) {
    NodeRef x = todo.pop_back_val();
    if (!seen.insert(x).second || planner.listedEntry(x, origin.index) || planner.g.constantAt(x, origin.index))
      continue;
    if (NodeRef branch = planner.g.branchAt(x, origin.index)) {
      todo.push_back(branch);
      continue;
    }
    NodeRef needed = !x->varying ? x : x->is(NodeOp::Column) ? origin.index : nullptr;
    if (x->isVaryingInput())
      needed = planner.g.gather(x, origin.index);
    bool isGathered = x->isVaryingInput() && !x->isInput(InputKind::Logits) && pointOf(needed) <= pointOf(node);
    bool isArithmetic = !x->varying && !x->operands.empty() && llvm::none_of(x->operands, [](NodeRef operand) { return operand->varying; });
    bool isItself = needed == node; // min(column, i)[i] is i: an entry is not made of itself
    if (needed && (isItself || !(isThere(needed) || isGathered || isArithmetic)))
      return false;
    if (x->varying || !isThere(x))
      todo.append(x->operands.begin(), x->operands.end());
  }
  return true;
}

/// Exponents may have the negative of the value: in logsumexp(3 * x - 3 * x[i]), the addend is an
/// entry of -3 * x. The value is rounded as a whole where it is the base itself, and where no
/// exponents are made of it.
Planner::Canonical ProgramEmitter::partsOfEntry(NodeRef node, Graph::Origin origin) {
  Graph &g = planner.g;
  NodeRef value = origin.value, negative = g.neg(value);
  auto isBase = [&](NodeRef base) { // that of x - x[i] is x, whose entry needs more than the constant 0 does
    return planner.maximumOf(base) && (!base->varying || hasPartsOf(node, {base, origin.index}));
  };
  Planner::Canonical whole{value, g.constant(1), g.constant(0)};
  if (planner.maximumOf(value) || planner.maximumOf(negative))
    return whole;
  if (Planner::Canonical parts = planner.underLogSumExp(value); isBase(parts.base))
    return parts;
  if (Planner::Canonical parts = planner.underLogSumExp(negative); isBase(parts.base))
    return {parts.base, g.neg(parts.scale), g.neg(parts.addend)};
  return whole;
}

bool ProgramEmitter::hasLow(NodeRef node) {
  node = resolve(node);
  if (node->type != NodeType::Float || asSelectedEntries(node))
    return false;
  if (Graph::Origin origin = originOf(node)) {
    auto [base, scale, addend] = partsOfEntry(node, origin);
    Accumulator *max = planner.maximumOf(base);
    bool isRearranged = max && base != origin.value; // such as z - z * s, of which exponents make z * (1 - s)
    if (!max || !max->keepsRounding())
      return !scale->isConstant(1) || !addend->isConstant(0) || isRearranged;
  }
  switch (node->op) {
  case NodeOp::Constant: return node->rounding() != 0;
  case NodeOp::Accumulator:
    return planner.accumulatorOf(node)->isPair();
  case NodeOp::Pair:
  case NodeOp::Add:
  case NodeOp::Sub:
  case NodeOp::Mul:
  case NodeOp::MultiplyNoNan:
  case NodeOp::Div: return true;
  case NodeOp::Neg: return hasLow(node->operand(0));
  default: return false;
  }
}

void ProgramEmitter::reportMissing(NodeRef accumulator) {
  mlir::emitError(accumulator->loc) << "a value is needed that no earlier pass over the vocabulary keeps; "
                                       "this is a fault of the compiler: please report the loss";
  isComplete = false;
}

bool ProgramEmitter::isCheap(NodeRef node) {
  constexpr unsigned kFewOps = 4;
  llvm::SmallPtrSet<NodeRef, 8> ops; // not all of a large expression: it is asked for every value in it
  SmallVector<NodeRef> todo{node};
  while (!todo.empty() && ops.size() <= kFewOps) {
    NodeRef next = todo.pop_back_val();
    if (!next->is(NodeOp::Constant) && !next->is(NodeOp::Input) && ops.insert(next).second)
      todo.append(next->operands.begin(), next->operands.end());
  }
  return ops.size() <= kFewOps;
}

// ---- what has to be known -----------------------------------------------------------------------

std::string ProgramEmitter::uniqueName(NodeRef node, Part part) {
  std::string base;
  if (auto named = dyn_cast<NameLoc>(node->loc))
    base = named.getName().str();
  if (base.empty())
    base = "v" + std::to_string(node->id);
  StringRef suffix = part == Part::High ? ".high" : part == Part::Low ? ".low" : "";
  std::string name = base + suffix.str();
  for (unsigned i = 1; !usedNames.insert(name).second; ++i)
    name = base + "_" + std::to_string(i) + suffix.str();
  return name;
}

std::string ProgramEmitter::finishName(int point) {
  return "finish" + std::to_string(point / kStepsOfStage) + (point % kStepsOfStage ? "_" + std::to_string(point % kStepsOfStage) : "");
}

std::string ProgramEmitter::placesName(PlaceKey key) {
  auto [point, places, isSummed] = key;
  return finishName(point) + (isSummed ? "_sums" : "_lists") + std::to_string(places);
}

static std::string listName(unsigned list) { return "list" + std::to_string(list); }
static std::string readListName(unsigned list) { return "places" + std::to_string(list); }
static std::string placeName(unsigned list, int64_t place) { return "place" + std::to_string(list) + "_" + std::to_string(place); }

ResultAttr ProgramEmitter::addRequest(int point, Request request) {
  usedNames.insert(request.name);
  std::vector<Request> &wanted = requests[point];
  wanted.push_back(std::move(request));
  return ResultAttr::get(FlatSymbolRefAttr::get(builder.getContext(), finishName(point)), wanted.size() - 1);
}

ResultAttr ProgramEmitter::request(NodeRef node, Part part) {
  node = resolve(node);
  if (part != Part::Low && !hasLow(node))
    part = Part::Whole;
  ResultAttr &result = results[{node, static_cast<unsigned>(part)}];
  if (!result)
    result = addRequest(std::max(pointOf(node), 0), {uniqueName(node, part), node, part, false});
  return result;
}

ResultAttr ProgramEmitter::addPlaceRequest(PlaceKey key, Request request) {
  usedNames.insert(request.name);
  std::vector<Request> &wanted = placeRequests[key];
  wanted.push_back(std::move(request));
  return ResultAttr::get(FlatSymbolRefAttr::get(builder.getContext(), placesName(key)), wanted.size() - 1);
}

ResultAttr ProgramEmitter::requestSum(NodeRef sum) {
  ResultAttr &result = sumResults[sum];
  if (!result) {
    NodeRef list = sum->operand(0);
    result = addPlaceRequest({std::max(pointOf(list), 0), list->places, true}, {uniqueName(sum, Part::Whole), list, Part::Whole, false});
  }
  return result;
}

ResultAttr ProgramEmitter::pickOf(NodeRef accumulator) {
  unsigned stage = accumulatorStages.lookup(accumulator->index);
  bool isForward = stage < backwardStage();
  unsigned sweep = isForward ? stage - 1 : stage - backwardStage() - 1;
  SmallVector<Accumulator *> picks = picksOf(isForward ? placement.forward[sweep] : placement.backward[sweep]);
  int64_t number = llvm::find(picks, planner.accumulatorOf(accumulator)) - picks.begin();
  std::string name = (isForward ? "forward" : "backward") + std::to_string(sweep);
  return ResultAttr::get(FlatSymbolRefAttr::get(builder.getContext(), name), number);
}

ResultAttr ProgramEmitter::requestListed(NodeRef list) {
  ResultAttr &result = placeResults[list];
  if (!result) {
    unsigned number = list->index;
    std::vector<Request> &wanted = ofReadLists[number];
    wanted.push_back({uniqueName(list, Part::Whole), planner.resultOfList(planner.accumulatorOf(list), list->type), Part::Whole, false});
    result = ResultAttr::get(FlatSymbolRefAttr::get(builder.getContext(), readListName(number)), wanted.size() - 1);
  }
  return result;
}

ResultAttr ProgramEmitter::requestPlace(NodeRef node) {
  ResultAttr &result = placeResults[node];
  if (!result) {
    std::pair of(static_cast<unsigned>(node->operand(0)->index), static_cast<int64_t>(node->operand(1)->number));
    std::vector<Request> &wanted = ofPlaces[of];
    wanted.push_back({uniqueName(node, Part::Whole), node, Part::Whole, false});
    result = ResultAttr::get(FlatSymbolRefAttr::get(builder.getContext(), placeName(of.first, of.second)), wanted.size() - 1);
  }
  return result;
}

void ProgramEmitter::requestOutputs() {
  SmallVector<Attribute> attributes;
  for (auto [name, node] : outputs) {
    if (Accumulator *list = planner.listOf(node)) {
      std::vector<Request> &wanted = ofLists[list->number];
      wanted.push_back({name.str(), node, Part::Whole, true});
      auto result = ResultAttr::get(FlatSymbolRefAttr::get(builder.getContext(), listName(list->number)), wanted.size() - 1);
      attributes.push_back(OutputAttr::get(builder.getContext(), name, typeOf(builder.getContext(), node->type), result, /*state=*/false));
      usedNames.insert(name);
      continue;
    }
    int point = std::max(pointOf(node), 0);
    if (int64_t count = places.lookup(name)) {
      ResultAttr result = addPlaceRequest({point, count, false}, {name.str(), node, Part::Whole, true});
      attributes.push_back(OutputAttr::get(builder.getContext(), name, typeOf(builder.getContext(), node->type), result, /*state=*/false));
      continue;
    }
    ResultAttr result = addRequest(point, {name.str(), node, Part::Whole, true});
    attributes.push_back(OutputAttr::get(builder.getContext(), name, typeOf(builder.getContext(), node->type), result, /*state=*/false));
    // Others may read it there, unless it changes its type on the way.
    if (node->type != NodeType::Bool)
      results.try_emplace({resolve(node), static_cast<unsigned>(Part::Whole)}, result);
  }
  program.setOutputsAttr(builder.getArrayAttr(attributes));
}

/// Computed indices have to be known, so that the runtime can check their range.
void ProgramEmitter::requestChecks() {
  SmallVector<NodeRef> roots;
  for (auto [name, node] : outputs)
    roots.push_back(node);
  for (const GradientNodes &gradient : gradients) {
    if (gradient.dense)
      roots.push_back(gradient.dense);
    for (auto [column, coefficient] : gradient.rows)
      roots.append({column, coefficient});
  }
  for (NodeRef node : Graph::topological(roots)) {
    if (!node->is(NodeOp::Gather))
      continue;
    NodeRef index = node->operand(1);
    bool isArg = index->is(NodeOp::ArgMax) || index->is(NodeOp::ArgMin) || index->is(NodeOp::ArgTop);
    bool inRange = index->isPlaceOfList() || isArg || index->is(NodeOp::Constant);
    if (inRange || index->isInput(InputKind::Token))
      continue;
    ResultAttr result = request(index, Part::Whole);
    if (!llvm::is_contained(checked, result))
      checked.push_back(result);
  }
}

/// Token inputs that are an index as they are.
static SmallVector<StringRef> directIndices(ArrayRef<std::pair<StringRef, NodeRef>> outputs, ArrayRef<GradientNodes> gradients) {
  SmallVector<NodeRef> roots;
  for (auto [name, node] : outputs)
    roots.push_back(node);
  for (const GradientNodes &gradient : gradients)
    for (auto [column, coefficient] : gradient.rows)
      roots.push_back(coefficient);
  SmallVector<StringRef> names;
  for (NodeRef node : Graph::topological(roots))
    if (node->is(NodeOp::Gather) && node->operand(1)->isInput(InputKind::Token) && !llvm::is_contained(names, node->operand(1)->name))
      names.push_back(node->operand(1)->name);
  return names;
}

// ---- the program --------------------------------------------------------------------------------

ProgramOp ProgramEmitter::emit(LossOp loss) {
  builder.setInsertionPoint(loss);
  program =
      ProgramOp::create(builder, loss.getLoc(), loss.getSymName(), loss.getVocab(), IntegerAttr(), DenseI64ArrayAttr(),
                        builder.getArrayAttr({}), builder.getStrArrayAttr(directIndices(outputs, gradients)), builder.getArrayAttr({}));
  program.getBody().emplaceBlock();
  requestOutputs();
  requestChecks();
  // Every part goes in front of what is there.
  emitPerTokenGradients();
  SweepAccumulators fused; // two sums may have come to the same
  for (auto [reduction, accumulator] : placement.fused)
    if (!llvm::is_contained(fused, accumulator))
      fused.push_back(accumulator);
  emitFinishes(fusedStage(), Phase::Fused, fused, "fused");
  emitGradient();
  if (!fused.empty())
    emitSweep(fusedStage(), Phase::Fused, fused, "fused");
  for (unsigned i = placement.backward.size(); i-- > 0;) {
    std::string name = "backward" + std::to_string(i);
    emitFinishes(backwardStage() + i + 1, Phase::Backward, placement.backward[i], name);
    emitSweep(backwardStage() + i + 1, Phase::Backward, placement.backward[i], name);
  }
  emitFinishes(backwardStage(), Phase::Backward, {}, "");
  for (const SweepAccumulators &sweep : placement.forward) // after all that they read
    for (Accumulator *list : listsOf(sweep))
      emitList(list);
  for (unsigned i = placement.forward.size(); i-- > 0;) {
    std::string name = "forward" + std::to_string(i);
    emitFinishes(i + 1, Phase::Forward, placement.forward[i], name);
    emitPlaces(placement.forward[i]);
    emitSweep(i + 1, Phase::Forward, placement.forward[i], name);
  }
  emitFinishes(0, Phase::Prologue, {}, "");
  program.setCheckedAttr(builder.getArrayAttr(checked));
  return program;
}

void ProgramEmitter::emitSweep(unsigned stage, Phase phase, const SweepAccumulators &accumulators, StringRef name) {
  builder.setInsertionPointToStart(&program.getBody().front());
  SmallVector<StringRef> stateNames;
  SmallVector<Type> types;
  llvm::BumpPtrAllocator strings;
  describeState(accumulators, builder, stateNames, types, strings);
  SmallVector<int64_t> places = llvm::map_to_vector(listsOf(accumulators), [](Accumulator *list) { return list->places; });
  SmallVector<Attribute> picks = llvm::map_to_vector(picksOf(accumulators), [&](Accumulator *pick) -> Attribute {
    Attribute index = builder.getStringAttr(pick->index->name);
    if (pick->index->is(NodeOp::ArgTop))
      index = requestListed(resolve(pick->index));
    return PickAttr::get(builder.getContext(), pick->base->name, index, pick->places);
  });
  auto sweep = SweepOp::create(builder, program.getLoc(), name, phase, /*along=*/StringAttr(), builder.getStrArrayAttr(stateNames),
                               builder.getTypeArrayAttr(types), places.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(places),
                               picks.empty() ? ArrayAttr() : builder.getArrayAttr(picks));
  emitSweepRegions(*this, sweep, accumulators, stage * kStepsOfStage);
}

/// The finishes of one stage, steps descending: step 0 takes the sweep's state.
void ProgramEmitter::emitFinishes(unsigned stage, Phase phase, const SweepAccumulators &accumulators, StringRef sweep) {
  while (std::optional<int> point = lastPoint(stage)) {
    emitPlaceFinishes(*point, phase); // after the finish of the same point, which they may ask for more
    if (!requests.count(*point))
      continue;
    emitFinish(*point, phase, *point % kStepsOfStage == 0 ? &accumulators : nullptr, sweep);
    requests.erase(*point);
  }
}

/// The last point of a stage at which a value is wanted.
std::optional<int> ProgramEmitter::lastPoint(unsigned stage) const {
  int first = stage * kStepsOfStage, last = -1;
  for (const auto &[point, unused] : requests)
    if (point < first + kStepsOfStage)
      last = std::max(last, point);
  for (const auto &[key, unused] : placeRequests)
    if (std::get<0>(key) < first + kStepsOfStage)
      last = std::max(last, std::get<0>(key));
  return last >= first ? std::optional(last) : std::nullopt;
}

void ProgramEmitter::emitPlaceFinishes(int point, Phase phase) {
  SmallVector<PlaceKey> keys;
  for (const auto &[key, unused] : placeRequests)
    if (std::get<0>(key) == point)
      keys.push_back(key);
  for (const PlaceKey &key : keys) {
    emitPlaceFinish(key, phase);
    placeRequests.erase(key);
  }
}

/// Per-token values are known by then: the region computes what differs among places.
void ProgramEmitter::emitPlaceFinish(PlaceKey key, Phase phase) {
  auto [point, places, isSummed] = key;
  builder.setInsertionPointToStart(&program.getBody().front());
  auto finish = FinishOp::create(builder, program.getLoc(), placesName(key), phase, /*sweep=*/FlatSymbolRefAttr(), builder.getArrayAttr({}),
                                 builder.getArrayAttr({}), /*list=*/IntegerAttr(), /*given=*/ArrayAttr(), builder.getI64IntegerAttr(places),
                                 isSummed, /*place=*/IntegerAttr());
  RegionEmitter emitter(*this, finish.getBody().emplaceBlock(), point + 1, /*isFinish=*/true);
  emitResults(finish, emitter, placeRequests[key]);
}

void ProgramEmitter::emitFinish(int point, Phase phase, const SweepAccumulators *accumulators, StringRef sweep) {
  builder.setInsertionPointToStart(&program.getBody().front());
  bool hasState = accumulators && !accumulators->empty();
  auto finish = FinishOp::create(builder, program.getLoc(), finishName(point), phase,
                                 hasState ? FlatSymbolRefAttr::get(builder.getContext(), sweep) : FlatSymbolRefAttr(),
                                 builder.getArrayAttr({}), builder.getArrayAttr({}), /*list=*/IntegerAttr(), /*given=*/ArrayAttr(),
                                 /*places=*/IntegerAttr(), /*summed=*/false, /*place=*/IntegerAttr());
  Block &block = finish.getBody().emplaceBlock();
  RegionEmitter emitter(*this, block, point, /*isFinish=*/true);
  if (hasState) {
    SmallVector<StringRef> stateNames;
    SmallVector<Type> types;
    llvm::BumpPtrAllocator strings;
    describeState(*accumulators, builder, stateNames, types, strings);
    for (auto [stateName, type] : llvm::zip_equal(stateNames, types))
      block.addArgument(type, NameLoc::get(builder.getStringAttr(stateName)));
    for (auto [accumulator, slot] : slotsOf(*accumulators)) {
      if (accumulator->isPair())
        emitter.bind(accumulator, block.getArgument(slot), block.getArgument(slot + 1));
      else
        emitter.bind(accumulator, block.getArgument(slot));
    }
  }
  emitResults(finish, emitter, requests[point]);
}

void ProgramEmitter::emitResults(FinishOp finish, RegionEmitter &emitter, const std::vector<Request> &wanted) {
  SmallVector<StringRef> resultNames;
  SmallVector<Type> resultTypes;
  SmallVector<Value> results;
  for (const Request &request : wanted) {
    Value value = emitter.value(request.node, request.part);
    if (value.getType().isInteger(1)) // kept as 32 bits, like all per-token values
      value = arith::ExtUIOp::create(emitter.ops(), request.node->loc, builder.getI32Type(), value);
    resultNames.push_back(request.name);
    resultTypes.push_back(value.getType());
    results.push_back(value);
  }
  YieldOp::create(emitter.ops(), program.getLoc(), results);
  finish.setResultNamesAttr(builder.getStrArrayAttr(resultNames));
  finish.setResultTypesAttr(builder.getTypeArrayAttr(resultTypes));
}

/// What outputs are at each place of a list.
void ProgramEmitter::emitList(Accumulator *list) {
  const std::vector<Request> &wanted = ofLists[list->number];
  if (!wanted.empty())
    emitListFinish(list, listName(list->number), IntegerAttr(), wanted);
}

/// What later parts read of the lists of one sweep: single places, and all of them.
void ProgramEmitter::emitPlaces(const SweepAccumulators &accumulators) {
  for (Accumulator *list : listsOf(accumulators)) {
    for (auto &[of, wanted] : ofPlaces)
      if (of.first == list->number)
        emitListFinish(list, placeName(of.first, of.second), builder.getI64IntegerAttr(of.second), wanted);
    if (const std::vector<Request> &wanted = ofReadLists[list->number]; !wanted.empty())
      emitListFinish(list, readListName(list->number), IntegerAttr(), wanted);
  }
}

void ProgramEmitter::emitListFinish(Accumulator *list, StringRef name, IntegerAttr place, ArrayRef<Request> wanted) {
  builder.setInsertionPointToStart(&program.getBody().front());
  unsigned stage = stageOf(list);
  SmallVector<Accumulator *> lists = listsOf(placement.forward[stage - 1]);
  auto sweep = FlatSymbolRefAttr::get(builder.getContext(), "forward" + std::to_string(stage - 1));
  auto finish = FinishOp::create(builder, program.getLoc(), name, Phase::Forward, sweep, builder.getArrayAttr({}), builder.getArrayAttr({}),
                                 builder.getI64IntegerAttr(llvm::find(lists, list) - lists.begin()), /*given=*/ArrayAttr(),
                                 /*places=*/IntegerAttr(), /*summed=*/false, place);
  Block &block = finish.getBody().emplaceBlock();
  RegionEmitter emitter(*this, block, stage * kStepsOfStage, /*isFinish=*/false);
  for (auto [type, label] : {std::pair(NodeType::Float, "value"), {NodeType::Int, "index"}}) {
    Value argument = block.addArgument(typeOf(builder.getContext(), type), NameLoc::get(builder.getStringAttr(label)));
    emitter.bindNode(planner.resultOfList(list, type), argument);
    emitter.bindNode(planner.listRead(list, type), argument);
    if (place)
      emitter.bindNode(planner.placeOfList(list, planner.g.integer(place.getInt()), type), argument);
  }
  SmallVector<Value> results = llvm::map_to_vector(wanted, [&](const Request &request) { return emitter.value(request.node); });
  YieldOp::create(emitter.ops(), program.getLoc(), results);
  SmallVector<StringRef> names = llvm::map_to_vector(wanted, [](const Request &request) { return StringRef(request.name); });
  finish.setResultNamesAttr(builder.getStrArrayAttr(names));
  finish.setResultTypesAttr(builder.getTypeArrayAttr(llvm::map_to_vector(results, [](Value value) { return value.getType(); })));
}

// ---- gradients ----------------------------------------------------------------------------------

void ProgramEmitter::emitAdjoint(const GradientNodes &gradient, Value dense, ValueRange columns, ValueRange coefficients) {
  IntegerAttr index = gradient.index < 0 ? IntegerAttr() : builder.getI64IntegerAttr(gradient.index);
  IntegerAttr count = gradient.places == 0 ? IntegerAttr() : builder.getI64IntegerAttr(gradient.places);
  AdjointOp::create(builder, gradient.loc, gradient.kind, builder.getStringAttr(gradient.name), index, count, dense,
                    /*factor=*/Value(), columns, coefficients);
}

/// Gradients per element. Present, if empty, where a fused sweep needs a pass over the vocabulary.
void ProgramEmitter::emitGradient() {
  bool perElement = llvm::any_of(gradients, [](const GradientNodes &gradient) { return !gradient.isPerToken(); });
  if (!perElement && placement.fused.empty())
    return;
  builder.setInsertionPointToStart(&program.getBody().front());
  auto op = GradientOp::create(builder, program.getLoc(), /*exponential=*/false, /*reference=*/ReferenceAttr());
  Block &block = op.getBody().emplaceBlock();
  RegionEmitter emitter(*this, block, fusedStage() * kStepsOfStage, /*isFinish=*/false);
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  for (const GradientNodes &gradient : gradients) {
    if (gradient.isPerToken())
      continue;
    Value dense = gradient.dense ? emitter.value(gradient.dense) : Value();
    SmallVector<Value> columns, coefficients;
    for (auto [i, row] : llvm::enumerate(gradient.rows)) {
      auto [column, coefficient] = row;
      // A result of its own: kernels may change it in place. Its name is for reading; the adjoint
      // has its number.
      std::string name = ("row." + gradient.name + "." + Twine(i)).str();
      int point = std::max<int>(pointOf(coefficient), backwardStage() * kStepsOfStage);
      Request wanted{name, coefficient, Part::Whole, false};
      ResultAttr own = column->places > 0 ? addPlaceRequest({point, column->places, false}, wanted) : addRequest(point, wanted);
      auto read = [&](ResultAttr known, Type type) -> Value { return KnownOp::create(emitter.ops(), gradient.loc, type, known); };
      bool isInMemory = resolve(column)->is(NodeOp::Input) || column->places > 0;
      columns.push_back(isInMemory ? emitter.value(column) : read(request(column, Part::Whole), i32));
      coefficients.push_back(read(own, f32));
    }
    builder.setInsertionPointToEnd(&block);
    emitAdjoint(gradient, dense, columns, coefficients);
  }
}

void ProgramEmitter::emitPerTokenGradients() {
  if (llvm::none_of(gradients, [](const GradientNodes &gradient) { return gradient.isPerToken(); }))
    return;
  builder.setInsertionPointToStart(&program.getBody().front());
  auto op = GradientOp::create(builder, program.getLoc(), /*exponential=*/false, /*reference=*/ReferenceAttr());
  builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
  for (const GradientNodes &gradient : gradients) {
    if (!gradient.isPerToken())
      continue;
    Value dense;
    if (gradient.dense) {
      // For reading: the adjoint below has the number of the result.
      std::string name = ("gradient." + gradient.name).str() + (gradient.index < 0 ? "" : "." + std::to_string(gradient.index));
      int point = std::max<int>(pointOf(gradient.dense), backwardStage() * kStepsOfStage);
      Request wanted{name, gradient.dense, Part::Whole, false};
      ResultAttr known = gradient.places > 0 ? addPlaceRequest({point, gradient.places, false}, wanted) : addRequest(point, wanted);
      dense = KnownOp::create(builder, gradient.loc, builder.getF32Type(), known);
    }
    emitAdjoint(gradient, dense, {}, {});
  }
}
