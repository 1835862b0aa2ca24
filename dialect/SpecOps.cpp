// SpecOps.cpp - checks of the ops of a loss.
#include "dialect/Varying.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;
using namespace logitile;

// ---- inputs -----------------------------------------------------------------------------------------------------

/// "token 'targets'[1]", as errors say it.
static std::string describe(InputKind kind, StringRef name, std::optional<int64_t> index) {
  std::string text = (stringifyInputKind(kind) + " '" + name + "'").str();
  if (index)
    text += "[" + std::to_string(*index) + "]";
  return text;
}

LogicalResult InputOp::verify() {
  Type type = getType();
  InputKind kind = getKind();
  if (getIndex() && kind != InputKind::Token)
    return emitOpError() << "gives " << stringifyInputKind(kind) << " '" << getName() << "' an index; only token inputs have entries";
  if (getIndex() && *getIndex() < 0)
    return emitOpError() << "index " << *getIndex() << " of token '" << getName() << "' is negative";
  bool onlyFloat = kind == InputKind::Logits || kind == InputKind::Scalar || kind == InputKind::Upstream;
  if (onlyFloat && !type.isF32())
    return emitOpError() << "type " << type << " of " << describe(kind, getName(), {}) << " must be f32";
  if (kind == InputKind::Dense && type.isInteger(32))
    return emitOpError() << "type i32 of dense '" << getName() << "' must be f32 or i1";
  return success();
}

// ---- reductions ---------------------------------------------------------------------------------------------------

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
    return expect(value.isF32(), "f32", i32);
  default:
    return expect(value.isF32(), "f32", value);
  }
}

// ---- the loss -------------------------------------------------------------------------------------------------------

/// Every use of a name in 'region' gives the same kind and type.
static LogicalResult verifyInputs(Region &region) {
  llvm::StringMap<InputOp> first;
  WalkResult walk = region.walk([&](InputOp input) {
    auto [it, isNew] = first.try_emplace(describe(InputKind::Token, input.getName(), input.getIndex()), input);
    InputOp other = it->second;
    if (isNew || (other.getKind() == input.getKind() && other.getType() == input.getType()))
      return WalkResult::advance();
    input.emitOpError() << "reads '" << input.getName() << "' as " << stringifyInputKind(input.getKind()) << " of " << input.getType()
                        << ", but it was read as " << stringifyInputKind(other.getKind()) << " of " << other.getType() << " before";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult verifyAxis(Operation *op, const Varying &varying) {
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && varying.isUniform(reduce.getValue()))
    return reduce.emitOpError() << "'" << stringifyCombiner(reduce.getCombiner()) << "' of a uniform value: it is the same for every vocabulary entry";
  if (auto pick = dyn_cast<PickOp>(op)) {
    if (varying.isUniform(pick.getValue()))
      return pick.emitOpError() << "picks from a uniform value, which has no entries";
    if (varying.isVarying(pick.getIndex()))
      return pick.emitOpError() << "'index' varies along the vocabulary; it must be one per token";
  }
  if (auto adjoint = dyn_cast<AdjointOp>(op)) {
    for (Value value : llvm::concat<Value>(adjoint.getColumns(), adjoint.getCoefficients()))
      if (varying.isVarying(value))
        return adjoint.emitOpError() << "columns and coefficients of rows must be one per token";
    bool perToken = adjoint.getKind() == InputKind::Token || adjoint.getKind() == InputKind::Scalar;
    if (perToken && adjoint.getDense() && varying.isVarying(adjoint.getDense()))
      return adjoint.emitOpError() << "the gradient of " << stringifyInputKind(adjoint.getKind()) << " '" << adjoint.getName() << "' varies along the vocabulary";
  }
  return success();
}

LogicalResult LossOp::verifyRegions() {
  if (getVocab() <= 0)
    return emitOpError() << "vocabulary size " << getVocab() << " must be positive";
  auto yield = dyn_cast_or_null<YieldOp>(getBody().front().empty() ? nullptr : &getBody().front().back());
  if (!yield)
    return emitOpError() << "must end in 'logitile.yield'";
  if (yield.getNumOperands() != getOutputs().size())
    return emitOpError() << "names " << getOutputs().size() << " outputs but yields " << yield.getNumOperands() << " values";
  llvm::StringSet<> names;
  for (Attribute name : getOutputs())
    if (!names.insert(cast<StringAttr>(name).getValue()).second)
      return emitOpError() << "names output " << name << " twice";
  for (Attribute name : getOf().value_or(ArrayAttr::get(getContext(), {})))
    if (!names.contains(cast<StringAttr>(name).getValue()))
      return emitOpError() << "wants a gradient of " << name << ", which is no output";
  if (failed(verifyInputs(getBody())))
    return failure();

  Varying varying(getBody());
  for (auto [name, value] : llvm::zip_equal(getOutputs(), yield.getValues()))
    if (varying.isVarying(value))
      return yield.emitOpError() << "output " << name << " varies along the vocabulary; it must be one value per token";
  WalkResult walk = getBody().walk([&](Operation *op) {
    if (isa<ReduceOp, PickOp, AdjointOp>(op))
      return failed(verifyAxis(op, varying)) ? WalkResult::interrupt() : WalkResult::advance();
    if (isa<InputOp, ColumnOp, WeighOp, SigmoidOp, SoftplusOp, StopGradientOp, GradientOp, YieldOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
        OpTrait::hasElementwiseMappableTraits(op))
      return WalkResult::advance();
    op->emitOpError() << "has no place in a loss: expected scalar arith and math ops or those of 'logitile'";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

// ---- gradients --------------------------------------------------------------------------------------------------------

LogicalResult AdjointOp::verify() {
  if (getColumns().size() != getCoefficients().size())
    return emitOpError() << "has " << getColumns().size() << " columns but " << getCoefficients().size() << " coefficients";
  InputKind kind = getKind();
  if (kind == InputKind::Upstream || kind == InputKind::Known)
    return emitOpError() << "gives " << stringifyInputKind(kind) << " '" << getName() << "' a gradient; only inputs of the loss have one";
  bool hasColumns = kind == InputKind::Logits || kind == InputKind::Vocab || kind == InputKind::Dense;
  if (!hasColumns && !getColumns().empty())
    return emitOpError() << "gives " << stringifyInputKind(kind) << " '" << getName() << "' rows, but it has no vocabulary axis";
  return success();
}

LogicalResult GradientOp::verifyRegions() {
  llvm::StringSet<> seen;
  for (AdjointOp adjoint : getBody().getOps<AdjointOp>())
    if (!seen.insert(describe(InputKind::Token, adjoint.getName(), adjoint.getIndex())).second)
      return adjoint.emitOpError() << "gives '" << adjoint.getName() << "' a second gradient";
  return success();
}
