// Attributes.cpp - enumerations and attributes: their generated code, and the checks of those with
// fields.
#include "dialect/types/Limits.h"
#include "dialect/types/Types.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <tuple>
using namespace mlir;
using namespace logitile;

/// `[<...>, ...]`, each with or without `#logitile.projection` or the like before it.
template <typename Attr>
static FailureOr<SmallVector<Attr>> parseBracketed(AsmParser &parser) {
  SmallVector<Attr> list;
  ParseResult done = parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    FailureOr<Attr> one = FieldParser<Attr>::parse(parser);
    if (succeeded(one))
      list.push_back(*one);
    return ParseResult(one);
  });
  if (failed(done))
    return failure();
  return list;
}
template <typename Attr>
static void printBracketed(AsmPrinter &printer, ArrayRef<Attr> list) {
  printer << '[';
  llvm::interleaveComma(list, printer, [&](Attr one) { printer.printStrippedAttrOrType(one); });
  printer << ']';
}

/// `, memory = [hidden, weight]`; left out where both are of type 'element'.
static ParseResult parseMemory(AsmParser &parser, Type &hidden, Type &weight, Type element) {
  hidden = weight = element;
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("memory") || parser.parseEqual() || parser.parseLSquare() || parser.parseType(hidden) ||
                 parser.parseComma() || parser.parseType(weight) || parser.parseRSquare());
}
static void printMemory(AsmPrinter &printer, Type hidden, Type weight, Type element) {
  if (hidden != element || weight != element)
    printer << ", memory = [" << hidden << ", " << weight << ']';
}

/// One of the words of an enumeration.
template <HasWords Enum>
struct mlir::FieldParser<Enum, Enum> {
  static FailureOr<Enum> parse(AsmParser &parser) {
    std::string word;
    SMLoc place = parser.getCurrentLocation();
    if (failed(parser.parseKeywordOrString(&word)))
      return failure();
    if (std::optional<Enum> value = fromWord<Enum>(word))
      return *value;
    return parser.emitError(place) << "'" << word << "' is none of " << llvm::join(ArrayRef(wordsOf(Enum())), ", ");
  }
};

#define GET_ATTRDEF_CLASSES
#include "dialect/LogitileAttrs.cpp.inc"

void LogitileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/LogitileAttrs.cpp.inc"
      >();
}

LogicalResult ProjectionAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, int64_t hidden, Type element,
                               Type hiddenMemory, Type weightMemory) {
  if (name.empty())
    return emitError() << "a projection has no name";
  if (hidden <= 0)
    return emitError() << "hidden size " << hidden << " of projection '" << name << "' must be positive";
  if (hidden > kMostExtent)
    return emitError() << "hidden size " << hidden << " of projection '" << name << "' is too large; " << kMostExtent << " is the most";
  for (Type type : {element, hiddenMemory, weightMemory})
    if (!type.isF32() && !type.isBF16() && !type.isF16())
      return emitError() << "element type " << type << " of projection '" << name << "' must be f32, bf16 or f16";
  return success();
}

LogicalResult GradientAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef owner, OperandPart part, Type) {
  if (owner.empty())
    return emitError() << "a gradient of part '" << stringifyOperandPart(part) << "' is of nothing; name a projection or an input";
  return success();
}

LogicalResult OutputAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, Type type, ResultAttr, bool) {
  if (name.empty())
    return emitError() << "an output has no name";
  if (!type.isF32() && !type.isInteger(32) && !type.isInteger(1))
    return emitError() << "type " << type << " of output '" << name << "' must be f32, i32 or i1";
  return success();
}

LogicalResult SliceAttr::verify(function_ref<InFlightDiagnostic()> emitError, SlicePart, int64_t columns, int64_t sweep) {
  if (columns <= 0)
    return emitError() << "a slice of " << columns << " columns; it must have at least one";
  if (columns > kMostExtent)
    return emitError() << "a slice of " << columns << " columns; " << kMostExtent << " are the most";
  if (sweep < 0)
    return emitError() << "sweep " << sweep << " of a slice; sweeps are numbered from 0";
  return success();
}

LogicalResult SymbolicDimAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name) {
  if (!isNameOfDim(name))
    return emitError() << "'" << name << "' is no name of a dimension; dimensions are words in capitals";
  return success();
}

static LogicalResult verifyCounts(function_ref<InFlightDiagnostic()> emitError, int64_t tokens, int64_t chunks, int64_t threads) {
  if (tokens < 0)
    return emitError() << "'tokens' is " << tokens << ", which is negative";
  if (tokens > kMostTokens)
    return emitError() << "'tokens' is " << tokens << "; " << kMostTokens << " are the most";
  if (chunks > kMostTokens)
    return emitError() << "'chunks' is " << chunks << "; " << kMostTokens << " are the most";
  if (threads <= 0)
    return emitError() << "'threads' is " << threads << ", which must be positive";
  if (threads > kMostThreads)
    return emitError() << "'threads' is " << threads << "; " << kMostThreads << " are the most";
  return success();
}

/// Exactly one of the budget in bytes and the number of chunks is given.
static LogicalResult verifyBudget(function_ref<InFlightDiagnostic()> emitError, int64_t workspace, int64_t chunks) {
  if (workspace < 0 || chunks < 0 || (workspace > 0) == (chunks > 0))
    return emitError() << "one of 'workspace' (" << workspace << ") and 'chunks' (" << chunks << ") must be positive and the other 0";
  return success();
}

/// Parts of a projection are of one, and what is no part is of another input.
static LogicalResult verifyGradients(function_ref<InFlightDiagnostic()> emitError, const llvm::StringSet<> &projections,
                                     ArrayRef<GradientAttr> gradients) {
  llvm::DenseSet<std::pair<OperandPart, StringRef>> seen;
  for (GradientAttr gradient : gradients) {
    StringRef owner = gradient.getOwner(), part = stringifyOperandPart(gradient.getPart());
    bool isOfProjection = gradient.getPart() != OperandPart::Input;
    if (projections.contains(owner) && !isOfProjection)
      return emitError() << "'gradients' asks for the input '" << owner << "', which is a projection; its operands are `hidden of \"" << owner
                         << "\"` and `weight of \"" << owner << "\"`";
    if (!projections.contains(owner) && isOfProjection)
      return emitError() << "'gradients' asks for " << part << " of '" << owner << "', which is no projection";
    if (!seen.insert({gradient.getPart(), owner}).second)
      return emitError() << "'gradients' asks for " << part << " of '" << owner << "' twice";
  }
  return success();
}

#define LOGITILE_REQUEST_PARAMETERS
LogicalResult RequestAttr::verify(function_ref<InFlightDiagnostic()> emitError
#include "dialect/Request.h.inc"
) {
#undef LOGITILE_REQUEST_PARAMETERS
  if (failed(verifyCounts(emitError, tokens, chunks, threads)) || failed(verifyBudget(emitError, workspace, chunks)))
    return failure();
  llvm::StringSet<> names;
  for (ProjectionAttr projection : projections)
    if (!names.insert(projection.getName()).second)
      return emitError() << "'projections' names '" << projection.getName() << "' twice";
  if (mode == Mode::Forward && !gradients.empty())
    return emitError() << "mode 'forward' makes no gradients, but 'gradients' asks for " << stringifyOperandPart(gradients.front().getPart())
                       << " of '" << gradients.front().getOwner() << "'";
  if (failed(verifyGradients(emitError, names, gradients)))
    return failure();
  for (NamedAttribute input : dense)
    if (!isa<TypeAttr>(input.getValue()))
      return emitError() << "'" << input.getName().getValue() << "' has " << input.getValue() << ", which is not a type";
  for (NamedAttribute tile : tiles ? tiles.getValue() : ArrayRef<NamedAttribute>())
    if (auto size = dyn_cast<IntegerAttr>(tile.getValue()); !size || !size.getType().isSignlessInteger(64) || size.getInt() <= 0)
      return emitError() << "'tiles' has " << tile.getName() << " = " << tile.getValue() << ", which is not a positive integer";
    else if (size.getInt() > kMostOfTile)
      return emitError() << "'tiles' has " << tile.getName() << " = " << size.getInt() << "; " << kMostOfTile << " is the most";
  return success();
}

GradientAttr RequestAttr::findGradient(OperandPart part, StringRef owner) const {
  const auto *found = llvm::find_if(getGradients(), [&](GradientAttr one) { return one.getPart() == part && one.getOwner() == owner; });
  return found == getGradients().end() ? GradientAttr() : *found;
}

RequestAttr RequestAttr::withTarget(StringRef target) const {
  auto values = getImpl()->getAsKey(); // all parameters
  std::get<StringRef>(values) = target; // the only text among them
  return std::apply([&](const auto &...all) { return get(getContext(), all...); }, values);
}

RequestAttr logitile::getRequest(ModuleOp module) { return module->getAttrOfType<RequestAttr>(kRequestAttrName); }
