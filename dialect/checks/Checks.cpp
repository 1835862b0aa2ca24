// Checks.cpp - checks that ops of several levels share: names of inputs, signatures of regions,
// scalar maths.
#include "dialect/checks/Checks.h"
#include "dialect/types/Limits.h"
#include "llvm/ADT/StringMap.h"
using namespace mlir;
using namespace logitile;

std::string logitile::describe(InputKind kind, StringRef name, std::optional<int64_t> index) {
  std::string text = stringifyInputKind(kind).str();
  if (hasName(kind))
    text += (" '" + name + "'").str();
  if (index)
    text += "[" + std::to_string(*index) + "]";
  return text;
}

SmallVector<Type> logitile::typesOf(ArrayAttr types) {
  return llvm::to_vector(llvm::map_range(types.getAsValueRange<TypeAttr>(), [](Type type) { return type; }));
}

// ---- names --------------------------------------------------------------------------------------

LogicalResult logitile::verifyIndex(Operation *op, InputKind kind, StringRef name, std::optional<int64_t> index) {
  if (name.empty() && hasName(kind))
    return op->emitOpError() << "is of a " << stringifyInputKind(kind) << " input without a name";
  if (!name.empty() && !hasName(kind))
    return op->emitOpError() << "names " << stringifyInputKind(kind) << " '" << name << "'; there is one of it, which has no name";
  if (index && kind != InputKind::Token)
    return op->emitOpError() << "gives " << describe(kind, name) << " an index; only token inputs have entries";
  if (index && *index < 0)
    return op->emitOpError() << "index " << *index << " of " << describe(kind, name) << " is negative";
  if (index && *index >= kMostIndices)
    return op->emitOpError() << "index " << *index << " of " << describe(kind, name) << " is too large; " << kMostIndices - 1
                             << " is the largest";
  return success();
}

namespace {
/// How one name is used: the first op that reads or differentiates it decides.
struct Use {
  Operation *op;
  InputKind kind;
  bool hasIndex;
  int64_t places;
  Type type; // null for adjoints, which do not say it
};
} // namespace

static std::optional<Use> useOf(Operation *op) {
  if (auto input = dyn_cast<InputOp>(op))
    return Use{op, input.getKind(), input.getIndex() || input.getPlaces(), input.getPlaces().value_or(0), input.getType()};
  if (auto adjoint = dyn_cast<AdjointOp>(op))
    return Use{op, adjoint.getKind(), adjoint.getIndex() || adjoint.getPlaces(), adjoint.getPlaces().value_or(0), Type()};
  return std::nullopt;
}
static StringRef nameOf(Operation *op) { return isa<InputOp>(op) ? cast<InputOp>(op).getName() : cast<AdjointOp>(op).getName(); }

/// Several operations read one input, and say each what it is. MLIR compares attributes of
/// different operations nowhere.
LogicalResult logitile::verifyInputNames(Operation *op) {
  llvm::StringMap<Use> first;
  WalkResult walk = op->walk([&](Operation *inner) {
    std::optional<Use> use = useOf(inner);
    if (!use || use->kind == InputKind::Cotangent || !hasName(use->kind))
      return WalkResult::advance();
    StringRef name = nameOf(inner);
    Use &known = first.try_emplace(name, *use).first->second;
    if (known.kind != use->kind)
      inner->emitOpError() << "uses '" << name << "' as " << stringifyInputKind(use->kind) << ", but it was "
                           << stringifyInputKind(known.kind) << " before";
    else if (known.hasIndex != use->hasIndex)
      inner->emitOpError() << "uses token '" << name << "' " << (use->hasIndex ? "with" : "without") << " an index, but it was used "
                           << (known.hasIndex ? "with" : "without") << " one before";
    else if (known.places != use->places)
      inner->emitOpError() << "reads token '" << name << "' with " << use->places << " places, but it was read with " << known.places
                           << " before; expected the whole list each time, or single values";
    else if (known.type && use->type && known.type != use->type)
      inner->emitOpError() << "reads '" << name << "' as " << use->type << ", but it was " << known.type << " before";
    else {
      if (!known.type)
        known.type = use->type;
      return WalkResult::advance();
    }
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult logitile::verifyUnique(Operation *op, StringRef what, ArrayAttr names) {
  llvm::StringSet<> seen;
  for (StringAttr name : names.getAsRange<StringAttr>()) {
    if (name.empty())
      return op->emitOpError() << "has " << what << " without a name";
    if (!seen.insert(name.getValue()).second)
      return op->emitOpError() << "names " << what << " " << name << " twice";
  }
  return success();
}

LogicalResult logitile::verifyDim(Operation *op, StringRef name, Attribute dim) {
  auto extent = dyn_cast<IntegerAttr>(dim);
  if (isa<SymbolicDimAttr>(dim) || (extent && extent.getInt() > 0 && extent.getInt() <= kMostExtent))
    return success();
  if (extent && extent.getInt() > 0)
    return op->emitOpError() << "'" << name << "' is " << extent.getInt() << "; " << kMostExtent << " is the most";
  InFlightDiagnostic error = op->emitOpError() << "'" << name << "' is ";
  return extent ? error << extent.getInt() << ", which must be positive" : error << dim << ", expected an integer or a symbol";
}

// ---- regions ------------------------------------------------------------------------------------

bool logitile::isScalarMaths(Operation *op) {
  auto isScalar = [](Type type) { return type.isF32() || type.isInteger(32) || type.isInteger(1); };
  if (!llvm::all_of(op->getOperandTypes(), isScalar) || !llvm::all_of(op->getResultTypes(), isScalar))
    return false;
  return isa<MultiplyNoNanOp, SigmoidOp, SoftplusOp, UniformOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
         OpTrait::hasElementwiseMappableTraits(op);
}

LogicalResult logitile::verifySignature(Operation *op, StringRef name, Region &region, TypeRange arguments, TypeRange results) {
  Block &block = region.front();
  if (TypeRange(block.getArgumentTypes()) != arguments)
    return op->emitOpError() << "'" << name << "' takes (" << block.getArgumentTypes() << "), expected (" << arguments << ")";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError() << "'" << name << "' must end in 'logitile.yield', not '" << block.back().getName() << "'";
  if (yield.getOperandTypes() != results)
    return yield.emitOpError() << "of '" << name << "' gives (" << yield.getOperandTypes() << "), expected (" << results << ")";
  return success();
}
