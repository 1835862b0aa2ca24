// Types.cpp - spelling and checks of tiles, views and bundles. Which symbols are in scope is the
// template's business.
#include "dialect/types/Types.h"
#include "dialect/types/Limits.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

#define GET_TYPEDEF_CLASSES
#include "dialect/LogitileTypes.cpp.inc"

namespace {
struct BundleSpelling {
  BundleKind kind;
  StringLiteral word;
  unsigned rank;
  bool hasElement;
};
constexpr BundleSpelling kBundles[] = {
    {BundleKind::Logits, "logits", 2, true},
    {BundleKind::Grads, "grads", 2, true},
    {BundleKind::VocabGrads, "vocab_grads", 2, true},
    {BundleKind::DenseGrads, "dense_grads", 2, true},
    {BundleKind::RowState, "row_state", 1, false},
    {BundleKind::Inputs, "inputs", 2, false},
    {BundleKind::Results, "results", 1, false},
    {BundleKind::Bases, "bases", 2, true},
    {BundleKind::Centres, "centres", 1, false},
    {BundleKind::Factors, "factors", 1, false},
    {BundleKind::Hiddens, "hiddens", 0, false},
    {BundleKind::Weights, "weights", 0, false},
    {BundleKind::LogitViews, "logit_views", 0, false},
    {BundleKind::BaseViews, "base_views", 0, false},
    {BundleKind::CentreViews, "centre_views", 0, false},
    {BundleKind::StoredViews, "stored_views", 0, false},
    {BundleKind::GradViews, "grad_views", 0, false},
    {BundleKind::VocabGradViews, "vocab_grad_views", 0, false},
    {BundleKind::DenseGradViews, "dense_grad_views", 0, false},
    {BundleKind::InputViews, "input_views", 0, false},
    {BundleKind::StateViews, "state_views", 0, false},
    {BundleKind::ListViews, "list_views", 0, false},
    {BundleKind::PickViews, "pick_views", 0, false},
    {BundleKind::PlaceViews, "place_views", 0, false},
    {BundleKind::ResultViews, "result_views", 0, false},
    {BundleKind::SparseViews, "sparse_views", 0, false},
    {BundleKind::ExtractedViews, "extracted_views", 0, false},
    {BundleKind::ClearedViews, "cleared_views", 0, false},
    {BundleKind::ListedViews, "listed_views", 0, false},
    {BundleKind::FactorViews, "factor_views", 0, false},
    {BundleKind::RowMaps, "row_maps", 0, false},
};
} // namespace

void LogitileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/LogitileTypes.cpp.inc"
      >();
}

StringRef logitile::stringifyBundleKind(BundleKind kind) { return kBundles[static_cast<int>(kind)].word; }
int64_t TileType::getExtent(unsigned dim) const { return cast<IntegerAttr>(getDims()[dim]).getInt(); }

// Case decides: TM is a dimension, acc an element type. So a symbol can never hold the 'x' between
// dimensions, and a reader knows what a word is without looking at the template's header.
bool logitile::isNameOfDim(StringRef name) {
  return !name.empty() && llvm::isUpper(name[0]) &&
         llvm::all_of(name, [](char c) { return llvm::isUpper(c) || llvm::isDigit(c) || c == '_'; });
}
bool logitile::isNameOfType(StringRef name) {
  return !name.empty() && name != "x" && llvm::isLower(name[0]) &&
         llvm::all_of(name, [](char c) { return llvm::isLower(c) || llvm::isDigit(c) || c == '_'; });
}
Attribute logitile::dimension(MLIRContext *context, int64_t extent) { return IntegerAttr::get(IntegerType::get(context, 64), extent); }
void logitile::collectSymbols(Type type, SmallVectorImpl<StringRef> &symbols) {
  AttrTypeWalker walker;
  walker.addWalk([&](SymbolicDimAttr dim) { symbols.push_back(dim.getName()); });
  walker.addWalk([&](SymbolicType element) { symbols.push_back(element.getName()); });
  walker.walk(type);
}

// ---- spelling -----------------------------------------------------------------------------------

ParseResult logitile::parseDimension(AsmParser &parser, Attribute &dim) {
  int64_t extent;
  if (OptionalParseResult number = parser.parseOptionalDecimalInteger(extent); number.has_value()) {
    dim = dimension(parser.getContext(), extent);
    return *number;
  }
  SMLoc at = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  if (!isNameOfDim(word))
    return parser.emitError(at, "'") << word << "' is not a dimension; dimensions are integers or words in capitals";
  dim = SymbolicDimAttr::get(parser.getContext(), word);
  return success();
}
void logitile::printDimension(AsmPrinter &printer, Attribute dim) {
  if (auto symbol = dyn_cast<SymbolicDimAttr>(dim))
    printer << symbol.getName();
  else if (ShapedType::isDynamic(cast<IntegerAttr>(dim).getInt()))
    printer << '?';
  else
    printer << cast<IntegerAttr>(dim).getInt();
}

static void printShape(AsmPrinter &printer, ArrayRef<Attribute> dims, Type element) {
  bool spaced = llvm::any_of(dims, [](Attribute dim) { return isa<SymbolicDimAttr>(dim); }) || isa_and_nonnull<SymbolicType>(element);
  StringRef by = spaced ? " x " : "x";
  llvm::interleave(dims, [&](Attribute dim) { printDimension(printer, dim); }, [&] { printer << by; });
  if (!element)
    return;
  printer << (dims.empty() ? "" : by);
  if (auto symbol = dyn_cast<SymbolicType>(element))
    printer << symbol.getName();
  else if (auto rounded = dyn_cast<RoundedType>(element))
    printer << rounded.getMemory() << " to " << rounded.getValue();
  else
    printer << element;
}

/// What 'memory', the type of an element, is rounded to: `to f16`, or nothing.
static ParseResult parseRounding(AsmParser &parser, Type &element) {
  SMLoc at = parser.getCurrentLocation();
  Type value;
  if (failed(parser.parseOptionalKeyword("to")))
    return success();
  if (parser.parseType(value))
    return failure();
  element = RoundedType::getChecked([&] { return parser.emitError(at); }, parser.getContext(), element, value);
  return success(bool(element));
}

/// One part of a shape: a dimension into 'dims', or the element type, which ends it.
static ParseResult parseShapePart(AsmParser &parser, SmallVectorImpl<Attribute> &dims, Type &element) {
  SMLoc at = parser.getCurrentLocation();
  MLIRContext *context = parser.getContext();
  int64_t extent;
  StringRef word;
  if (OptionalParseResult number = parser.parseOptionalDecimalInteger(extent); number.has_value()) {
    dims.push_back(dimension(context, extent));
    return *number;
  }
  if (succeeded(parser.parseOptionalQuestion())) {
    dims.push_back(dimension(context, ShapedType::kDynamic));
    return success();
  }
  if (OptionalParseResult type = parser.parseOptionalType(element); type.has_value())
    return failure(failed(*type) || failed(parseRounding(parser, element)));
  if (failed(parser.parseOptionalKeyword(&word)))
    return parser.emitError(at, "expected a dimension (integer, '?' or a symbol) or an element type");
  if (isNameOfDim(word)) {
    dims.push_back(SymbolicDimAttr::get(context, word));
    return success();
  }
  if (isNameOfType(word)) {
    element = SymbolicType::get(context, word);
    return success();
  }
  InFlightDiagnostic error = parser.emitError(at, "'") << word << "' is neither a dimension (capitals) nor an element type (small letters)";
  if (word.contains('x'))
    error << "; write spaces around 'x' next to a symbol, as in 'TM x TN x acc'";
  return error;
}
/// dim (x dim)* (x element)?
static ParseResult parseShape(AsmParser &parser, SmallVectorImpl<Attribute> &dims, Type &element, unsigned rank, bool hasElement) {
  while (true) {
    if (parseShapePart(parser, dims, element))
      return failure();
    if (element || (!hasElement && dims.size() >= rank))
      return success();
    if (parser.parseXInDimensionList())
      return failure();
  }
}

Type LogitileDialect::parseType(DialectAsmParser &parser) const {
  SMLoc at = parser.getCurrentLocation();
  auto emitError = [&] { return parser.emitError(at); };
  MLIRContext *context = getContext();
  StringRef word;
  if (parser.parseKeyword(&word))
    return {};
  SmallVector<Attribute> dims;
  Type element;
  if (word == "tile" || word == "view") {
    if (parser.parseLess() || parseShape(parser, dims, element, 2, true))
      return {};
    Layout layout = Layout::Strided;
    if (word == "view" && succeeded(parser.parseOptionalComma())) {
      StringRef name;
      SMLoc layoutAt = parser.getCurrentLocation();
      if (parser.parseKeyword(&name))
        return {};
      std::optional<Layout> known = symbolizeLayout(name);
      if (!known) {
        parser.emitError(layoutAt, "no layout '") << name << "'; expected strided, column_major, row_panels or column_panels";
        return {};
      }
      layout = *known;
    }
    if (parser.parseGreater())
      return {};
    return word == "tile" ? Type(TileType::getChecked(emitError, context, dims, element))
                          : Type(ViewType::getChecked(emitError, context, dims, element, layout));
  }
  if (word == "rounded") {
    Type value;
    if (parser.parseLess() || parser.parseType(element) || parser.parseKeyword("to") || parser.parseType(value) || parser.parseGreater())
      return {};
    return RoundedType::getChecked(emitError, context, element, value);
  }
  const auto *spelling = llvm::find_if(kBundles, [&](const BundleSpelling &bundle) { return bundle.word == word; });
  if (spelling == std::end(kBundles)) {
    parser.emitError(at, "no type '") << word << "' in dialect 'logitile'";
    return {};
  }
  if (spelling->rank > 0 &&
      (parser.parseLess() || parseShape(parser, dims, element, spelling->rank, spelling->hasElement) || parser.parseGreater()))
    return {};
  return BundleType::getChecked(emitError, context, spelling->kind, dims, element);
}

void LogitileDialect::printType(Type type, DialectAsmPrinter &printer) const {
  llvm::TypeSwitch<Type>(type)
      .Case<TileType>([&](TileType tile) {
        printer << "tile<";
        printShape(printer, tile.getDims(), tile.getElement());
        printer << '>';
      })
      .Case<ViewType>([&](ViewType view) {
        printer << "view<";
        printShape(printer, view.getDims(), view.getElement());
        if (view.getLayout() != Layout::Strided)
          printer << ", " << stringifyLayout(view.getLayout());
        printer << '>';
      })
      .Case<BundleType>([&](BundleType bundle) {
        const BundleSpelling &spelling = kBundles[static_cast<int>(bundle.getKind())];
        printer << spelling.word;
        if (spelling.rank == 0)
          return;
        printer << '<';
        printShape(printer, bundle.getDims(), bundle.getElement());
        printer << '>';
      })
      .Case<RoundedType>([&](RoundedType type) { printer << "rounded<" << type.getMemory() << " to " << type.getValue() << '>'; })
      .Case<SymbolicType>([&](SymbolicType symbol) { printer << "sym<" << symbol.getName() << '>'; });
}

// ---- checks -------------------------------------------------------------------------------------

static LogicalResult verifyExtents(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Attribute> dims, bool mayBeDynamic) {
  for (Attribute dim : dims) {
    auto extent = dyn_cast<IntegerAttr>(dim);
    if (!extent || (mayBeDynamic && ShapedType::isDynamic(extent.getInt())))
      continue;
    if (ShapedType::isDynamic(extent.getInt()))
      return emitError() << "an extent of a tile is an integer or a symbol, never '?'";
    if (extent.getInt() <= 0)
      return emitError() << "extent " << extent.getInt() << " must be positive";
    if (int64_t most = mayBeDynamic ? kMostExtent : kMostOfTile; extent.getInt() > most)
      return emitError() << "extent " << extent.getInt() << " is too large; " << most << " is the most";
  }
  return success();
}
static LogicalResult verifyElement(function_ref<InFlightDiagnostic()> emitError, Type element) {
  if (!element)
    return emitError() << "expected an element type after the dimensions";
  if (!isa<SymbolicType>(element) && (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() > 64))
    return emitError() << "element type " << element << " must be an integer, a float or a symbol";
  return success();
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Attribute> dims, Type element) {
  if (dims.size() != 2)
    return emitError() << "a tile has 2 dimensions, got " << dims.size() << "; use 1 for an axis that it does not have";
  if (failed(verifyExtents(emitError, dims, /*mayBeDynamic=*/false)) || failed(verifyElement(emitError, element)))
    return failure();
  auto rows = dyn_cast<IntegerAttr>(dims[0]), columns = dyn_cast<IntegerAttr>(dims[1]);
  if (rows && columns && rows.getInt() * columns.getInt() > kMostTileElements)
    return emitError() << "a tile of " << rows.getInt() << " x " << columns.getInt() << " elements is too large; " << kMostTileElements
                       << " are the most";
  return success();
}
LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Attribute> dims, Type element, Layout layout) {
  if (dims.empty() || dims.size() > 2)
    return emitError() << "a view has 1 or 2 dimensions, got " << dims.size();
  if (dims.size() == 1 && layout != Layout::Strided)
    return emitError() << "a view of 1 dimension has no layout '" << stringifyLayout(layout) << "'";
  if (failed(verifyExtents(emitError, dims, /*mayBeDynamic=*/true)))
    return failure();
  return isa_and_nonnull<RoundedType>(element) ? success() : verifyElement(emitError, element);
}
LogicalResult RoundedType::verify(function_ref<InFlightDiagnostic()> emitError, Type memory, Type value) {
  for (Type type : {memory, value})
    if (!isa<FloatType>(type))
      return emitError() << "cannot round " << memory << " to " << value << "; both must be floats";
  if (memory == value)
    return emitError() << "rounds " << memory << " to itself; write " << memory;
  return success();
}
LogicalResult BundleType::verify(function_ref<InFlightDiagnostic()> emitError, BundleKind kind, ArrayRef<Attribute> dims, Type element) {
  const BundleSpelling &spelling = kBundles[static_cast<int>(kind)];
  if (dims.size() != spelling.rank)
    return emitError() << "'" << spelling.word << "' takes " << spelling.rank << " dimensions, got " << dims.size();
  if (failed(verifyExtents(emitError, dims, /*mayBeDynamic=*/false)))
    return failure();
  return spelling.hasElement ? verifyElement(emitError, element) : success();
}
