// SpecOps.cpp - checks of the ops of a loss and of its gradients. What varies along the vocabulary
// is Varying.cpp.
#include "dialect/checks/Checks.h"
#include "dialect/checks/Varying.h"
#include "dialect/types/Limits.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;
using namespace logitile;

LogicalResult InputOp::verify() {
  Type type = getType();
  InputKind kind = getKind();
  if (failed(verifyIndex(*this, kind, getName(), getIndex())))
    return failure();
  bool onlyFloat = kind == InputKind::Logits || kind == InputKind::Cotangent;
  if (onlyFloat && !type.isF32())
    return emitOpError() << "type " << type << " of " << describe(kind, getName()) << " must be f32";
  if (kind == InputKind::Scalar && type.isInteger(1))
    return emitOpError() << "type i1 of " << describe(kind, getName()) << " must be f32 or i32";
  if (!hasName(kind) && !type.isInteger(32))
    return emitOpError() << "type " << type << " of " << describe(kind, getName()) << " must be i32";
  if (getPlaces() && (kind != InputKind::Token || getIndex()))
    return emitOpError() << "reads " << describe(kind, getName(), getIndex())
                         << " with 'places'; only token inputs without an index are read as lists";
  if (getPlaces() && (*getPlaces() < 1 || *getPlaces() > kMostReadPlaces))
    return emitOpError() << "'places' is " << *getPlaces() << "; a list that is read has 1 to " << kMostReadPlaces;
  if (kind == InputKind::Dense && type.isInteger(32))
    return emitOpError() << "type i32 of dense '" << getName() << "' must be f32 or i1";
  return success();
}

LogicalResult ReduceOp::verify() {
  Type value = getValue().getType(), result = getResult().getType();
  Combiner combiner = getCombiner();
  StringRef word = stringifyCombiner(combiner);
  auto expect = [&](bool valueFits, StringRef wanted, Type wantedResult) -> LogicalResult {
    if (!valueFits)
      return emitOpError() << "'" << word << "' takes " << wanted << ", got " << value;
    if (result != wantedResult)
      return emitOpError() << "'" << word << "' of " << value << " gives " << wantedResult << ", not " << result;
    return success();
  };
  bool isList = combiner == Combiner::Top || combiner == Combiner::ArgTop;
  if (isList != getPlaces().has_value())
    return emitOpError() << "'" << word << (isList ? "' needs 'places', the length of its list" : "' takes no 'places'; it gives one value");
  if (isList && (*getPlaces() < 1 || *getPlaces() > kMostPlaces))
    return emitOpError() << "'places' is " << *getPlaces() << "; a list has 1 to " << kMostPlaces;
  if (getVerbatim() && combiner != Combiner::Sum)
    return emitOpError() << "'verbatim' is for sums, not for '" << word << "'";
  Type i32 = IntegerType::get(getContext(), 32);
  switch (combiner) {
  case Combiner::Count:
    return expect(value.isInteger(1), "i1", i32);
  case Combiner::Any:
  case Combiner::All:
    return expect(value.isInteger(1), "i1", value);
  case Combiner::ArgMax:
  case Combiner::ArgMin:
  case Combiner::ArgTop:
    return expect(value.isF32(), "f32", i32);
  default:
    return expect(value.isF32(), "f32", value);
  }
}

// ---- the loss -----------------------------------------------------------------------------------

static bool holds(std::optional<ArrayAttr> names, StringRef name) {
  return names && llvm::is_contained(names->getAsValueRange<StringAttr>(), name);
}

/// The header of a loss: its outputs, and what its gradient is of.
static LogicalResult verifyHeader(LossOp loss) {
  if (loss.getVocab() <= 0)
    return loss.emitOpError() << "vocabulary size " << loss.getVocab() << " must be positive";
  if (loss.getVocab() > kMostExtent)
    return loss.emitOpError() << "vocabulary size " << loss.getVocab() << " is too large; " << kMostExtent << " is the most";
  if (failed(verifyUnique(loss, "output", loss.getOutputs())))
    return failure();
  if (loss.getOf().has_value() != loss.getWrt().has_value())
    return loss.emitOpError() << "has '" << (loss.getOf() ? "of" : "wrt") << "' without '" << (loss.getOf() ? "wrt" : "of") << "'";
  for (StringRef name : loss.getOf().value_or(ArrayAttr::get(loss.getContext(), {})).getAsValueRange<StringAttr>())
    if (!holds(loss.getOutputs(), name))
      return loss.emitOpError() << "wants a gradient of \"" << name << "\", which is no output";
  return success();
}

/// Passes call themselves for each op of a chain.
static LogicalResult verifyDepth(LossOp loss) {
  llvm::DenseMap<Operation *, int64_t> depths;
  for (Operation &op : loss.getBody().front()) {
    int64_t depth = 0;
    for (Value operand : op.getOperands())
      depth = std::max(depth, depths.lookup(operand.getDefiningOp()));
    depths[&op] = depth + 1;
    if (depth >= kMostDepth)
      return op.emitOpError() << "is the end of a chain of " << depth + 1 << " ops; " << kMostDepth << " are the most";
  }
  return success();
}

/// What is picked from a list stands at a place that is known.
static LogicalResult verifyPlaceOf(GatherOp pick) {
  int64_t places = *pick.getValue().getDefiningOp<ReduceOp>().getPlaces();
  APInt place;
  if (!matchPattern(pick.getIndex(), m_ConstantInt(&place)))
    return pick.emitOpError() << "picks from a list at an index that is no constant";
  if (place.getSExtValue() < 0 || place.getSExtValue() >= places)
    return pick.emitOpError() << "picks place " << place.getSExtValue() << " of a list, which has " << places;
  return success();
}

/// Lists meet lists of the same length, and what is one per token.
static LogicalResult verifyLists(Operation *op, const Varying &varying) {
  if (auto sum = dyn_cast<SumListOp>(op); sum && varying.placesOf(sum.getList()) == 0)
    return sum.emitOpError() << "adds up a value that is no list which is read";
  auto pick = dyn_cast<GatherOp>(op);
  if (pick && varying.placesOf(pick.getValue()) > 0)
    return pick.emitOpError() << "picks from a list that is read; only entries of the vocabulary are picked at a list of indices";
  bool isIndex = pick && (pick.getIndex().getDefiningOp<InputOp>() || varying.isTopList(pick.getIndex()));
  if (pick && varying.placesOf(pick.getIndex()) > 0 && !isIndex)
    return pick.emitOpError() << "has a list of indices that is computed; expected a token input with 'places', or an 'argtop'";
  if (isa<YieldOp, AdjointOp>(op) || pick)
    return success();
  int64_t places = 0;
  for (Value operand : op->getOperands()) {
    int64_t own = varying.placesOf(operand);
    if (own > 0 && places > 0 && own != places)
      return op->emitOpError() << "takes lists of " << places << " and of " << own << " places; expected one length";
    places = std::max(places, own);
  }
  if (places > 0 && llvm::any_of(op->getOperands(), [&](Value operand) { return varying.isVarying(operand); }))
    return op->emitOpError() << "takes a list and a value that varies along the vocabulary; the entries at a list of indices are a list";
  return success();
}

/// Reductions and picks take varying values; what has one value per token gets one.
static LogicalResult verifyAxis(Operation *op, const Varying &varying) {
  auto pick = dyn_cast<GatherOp>(op);
  if (pick && varying.isTopList(pick.getValue()))
    return verifyPlaceOf(pick);
  auto isTop = [&](Value operand) { return varying.isTopList(operand) && operand.getType().isF32(); };
  if (!isa<YieldOp>(op) && llvm::any_of(op->getOperands(), isTop))
    return op->emitOpError() << "reads the values of a list of largest entries, which a loss can only yield; to compute with them, gather "
                                "the entries at the indices of 'argtop'";
  if (failed(verifyLists(op, varying)))
    return failure();
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && varying.isUniform(reduce.getValue()))
    return reduce.emitOpError() << "'" << stringifyCombiner(reduce.getCombiner())
                                << "' of a uniform value: it is the same for every vocabulary entry";
  if (pick) {
    if (varying.isUniform(pick.getValue()))
      return pick.emitOpError() << "picks from a uniform value, which has no entries";
    if (varying.isVarying(pick.getIndex()))
      return pick.emitOpError() << "'index' varies along the vocabulary; it must be one per token";
  }
  auto adjoint = dyn_cast<AdjointOp>(op);
  if (!adjoint)
    return success();
  for (auto [column, coefficient] : llvm::zip_equal(adjoint.getColumns(), adjoint.getCoefficients())) {
    if (varying.isVarying(column) || varying.isVarying(coefficient))
      return adjoint.emitOpError() << "columns and coefficients of 'sparse' must be one per token, or lists";
    int64_t columns = varying.placesOf(column), coefficients = varying.placesOf(coefficient);
    if (coefficients > 0 && coefficients != columns)
      return adjoint.emitOpError() << "has a coefficient of " << coefficients << " places with a column of " << columns
                                   << "; expected as many, or one coefficient per token";
  }
  int64_t places = adjoint.getDense() ? varying.placesOf(adjoint.getDense()) : 0, own = adjoint.getPlaces().value_or(0);
  if (places > 0 && places != own)
    return adjoint.emitOpError() << "has a dense gradient of " << places << " places for "
                                 << describe(adjoint.getKind(), adjoint.getName(), adjoint.getIndex()) << ", which has " << own;
  bool perToken = adjoint.getKind() == InputKind::Token || adjoint.getKind() == InputKind::Scalar;
  if (perToken && adjoint.getDense() && varying.isVarying(adjoint.getDense()))
    return adjoint.emitOpError() << "the gradient of " << describe(adjoint.getKind(), adjoint.getName(), adjoint.getIndex())
                                 << " varies along the vocabulary; it must be one value per token";
  return success();
}

/// One op of a loss: where it may stand and what it may name.
static LogicalResult verifyPlace(LossOp loss, Operation *op) {
  if (auto input = dyn_cast<InputOp>(op)) {
    if (input.getKind() != InputKind::Cotangent)
      return success();
    if (!isa<GradientOp>(input->getParentOp()))
      return input.emitOpError() << "reads " << describe(input.getKind(), input.getName()) << " outside of 'logitile.gradient'";
    if (!holds(loss.getOf(), input.getName()))
      return input.emitOpError() << "reads " << describe(input.getKind(), input.getName()) << ", but the loss wants no gradient of it";
    return success();
  }
  if (auto adjoint = dyn_cast<AdjointOp>(op)) {
    if (!holds(loss.getWrt(), adjoint.getName()))
      return adjoint.emitOpError() << "is of '" << adjoint.getName() << "', but the loss wants no gradient with respect to it";
    return success();
  }
  if (isa<ColumnOp, ReduceOp, GatherOp, SumListOp, StopGradientOp, GradientOp, YieldOp>(op) || isScalarMaths(op))
    return success();
  return op->emitOpError() << "has no place in a loss: expected ops of 'logitile', or arith and math ops on f32, i32 and i1";
}

LogicalResult LossOp::verifyRegions() {
  if (failed(verifyHeader(*this)))
    return failure();
  Block &block = getBody().front();
  if (block.getNumArguments() != 0)
    return emitOpError() << "takes (" << block.getArgumentTypes() << "); a loss reads its inputs with 'logitile.input'";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield)
    return emitOpError() << "must end in 'logitile.yield', not '" << block.back().getName() << "'";
  if (yield.getNumOperands() != getOutputs().size())
    return emitOpError() << "names " << getOutputs().size() << " outputs but yields " << yield.getNumOperands() << " values";
  if (auto gradients = llvm::to_vector(block.getOps<GradientOp>()); gradients.size() > 1)
    return gradients[1].emitOpError() << "is the second one of loss @" << getSymName();
  if (failed(verifyInputNames(*this)) || failed(verifyDepth(*this)))
    return failure();

  for (ReduceOp reduce : block.getOps<ReduceOp>())
    if (reduce.getPlaces().value_or(1) > getVocab())
      return reduce.emitOpError() << "'places' is " << *reduce.getPlaces() << ", but the vocabulary has " << getVocab() << " entries";
  Varying varying(getBody());
  for (auto [name, value] : llvm::zip_equal(getOutputs(), yield.getValues()))
    if (varying.isVarying(value))
      return yield.emitOpError() << "output " << name << " varies along the vocabulary; it must be one value per token";
  WalkResult walk = getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    return failed(verifyPlace(*this, op)) || failed(verifyAxis(op, varying)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

// ---- gradients ----------------------------------------------------------------------------------

LogicalResult AdjointOp::verify() {
  InputKind kind = getKind();
  if (failed(verifyIndex(*this, kind, getName(), getIndex())))
    return failure();
  if (getPlaces() && (kind != InputKind::Token || getIndex()))
    return emitOpError() << "gives " << describe(kind, getName(), getIndex()) << " a gradient with 'places'; only token inputs are read as lists";
  if (getColumns().size() != getCoefficients().size())
    return emitOpError() << "has " << getColumns().size() << " columns but " << getCoefficients().size() << " coefficients";
  if (kind == InputKind::Cotangent || !hasName(kind))
    return emitOpError() << "gives " << describe(kind, getName()) << " a gradient; only inputs of the loss have one";
  bool hasColumns = kind == InputKind::Logits || kind == InputKind::Vocab || kind == InputKind::Dense;
  if (!hasColumns && !getColumns().empty())
    return emitOpError() << "gives " << describe(kind, getName(), getIndex()) << " rows, but it has no vocabulary axis";
  if (getFactor() && (kind != InputKind::Logits || !getDense()))
    return emitOpError() << "has a factor; only the dense gradient of logits may have one";
  return success();
}

AdjointOp GradientOp::factoredAdjoint() {
  for (AdjointOp adjoint : getBody().getOps<AdjointOp>())
    if (adjoint.getFactor())
      return adjoint;
  return {};
}

LogicalResult GradientOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getNumArguments() != 0)
    return emitOpError() << "takes (" << block.getArgumentTypes() << "); a gradient reads its inputs with 'logitile.input'";
  llvm::StringSet<> seen;
  for (AdjointOp adjoint : block.getOps<AdjointOp>()) {
    std::string input = describe(adjoint.getKind(), adjoint.getName(), adjoint.getIndex());
    if (!seen.insert(input).second)
      return adjoint.emitOpError() << "gives " << input << " a second gradient";
  }
  return success();
}
