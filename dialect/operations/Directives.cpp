// Directives.cpp - parsers and printers of the custom pieces of assembly formats.
#include "dialect/operations/Directives.h"
using namespace mlir;
using namespace logitile;

ParseResult logitile::parseSparse(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &columns,
                                SmallVectorImpl<OpAsmParser::UnresolvedOperand> &coefficients) {
  return parser.parseCommaSeparatedList([&] {
    return failure(parser.parseOperand(columns.emplace_back()) || parser.parseArrow() || parser.parseOperand(coefficients.emplace_back()));
  });
}
void logitile::printSparse(OpAsmPrinter &printer, Operation *, ValueRange columns, ValueRange coefficients) {
  llvm::interleaveComma(llvm::zip(columns, coefficients), printer,
                        [&](auto row) { printer << std::get<0>(row) << " -> " << std::get<1>(row); });
}

ParseResult logitile::parseNamedTypes(OpAsmParser &parser, ArrayAttr &names, ArrayAttr &types) {
  SmallVector<Attribute> nameList, typeList;
  ParseResult parsed = parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    std::string name;
    Type type;
    if (parser.parseString(&name) || parser.parseColonType(type))
      return failure();
    nameList.push_back(parser.getBuilder().getStringAttr(name));
    typeList.push_back(TypeAttr::get(type));
    return success();
  });
  names = parser.getBuilder().getArrayAttr(nameList);
  types = parser.getBuilder().getArrayAttr(typeList);
  return parsed;
}
void logitile::printNamedTypes(OpAsmPrinter &printer, Operation *, ArrayAttr names, ArrayAttr types) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(names, types), printer,
                        [&](auto pair) { printer << std::get<0>(pair) << " : " << std::get<1>(pair); });
  printer << ']';
}

ParseResult logitile::parseBindings(OpAsmParser &parser, DictionaryAttr &bindings) {
  NamedAttrList list;
  ParseResult parsed = parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
    StringRef name;
    int64_t extent;
    Type type;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (list.get(name))
      return parser.emitError(at, "binds '") << name << "' twice";
    if (OptionalParseResult number = parser.parseOptionalInteger(extent); number.has_value()) {
      list.append(name, dimension(parser.getContext(), extent));
      return *number;
    }
    OptionalParseResult parsed = parser.parseOptionalType(type);
    if (!parsed.has_value())
      return parser.emitError(parser.getCurrentLocation(), "expected an integer or a type for '") << name << "'";
    if (failed(*parsed))
      return failure();
    list.append(name, TypeAttr::get(type));
    return success();
  });
  bindings = list.getDictionary(parser.getContext());
  return parsed;
}
void logitile::printBindings(OpAsmPrinter &printer, Operation *, DictionaryAttr bindings) {
  printer << '<';
  llvm::interleaveComma(bindings, printer, [&](NamedAttribute binding) {
    printer << binding.getName().getValue() << " = ";
    if (auto extent = dyn_cast<IntegerAttr>(binding.getValue()))
      printer << extent.getInt();
    else
      printer << cast<TypeAttr>(binding.getValue()).getValue();
  });
  printer << '>';
}

ParseResult logitile::parseOwner(OpAsmParser &parser, Attribute &owner, IntegerAttr &number) {
  std::string name;
  StringAttr sweep;
  if (succeeded(parser.parseOptionalSymbolName(sweep)))
    owner = FlatSymbolRefAttr::get(sweep);
  else if (succeeded(parser.parseString(&name)))
    owner = parser.getBuilder().getStringAttr(name);
  else
    return failure();
  if (failed(parser.parseOptionalLSquare()))
    return success();
  int64_t value = 0;
  if (parser.parseInteger(value) || parser.parseRSquare())
    return failure();
  number = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}
void logitile::printOwner(OpAsmPrinter &printer, Operation *, Attribute owner, IntegerAttr number) {
  printer << owner;
  if (number)
    printer << '[' << number.getInt() << ']';
}

ParseResult logitile::parseStateRegions(OpAsmParser &parser, Region &init, Region &candidate, Region &update, Region &merge) {
  std::pair<StringRef, Region *> const regions[] = {{"init", &init}, {"candidate", &candidate}, {"update", &update}, {"merge", &merge}};
  for (auto [keyword, region] : regions) {
    if (succeeded(parser.parseKeyword(keyword)) && succeeded(parser.parseRegion(*region)))
      continue;
    // The op is given up with its regions, but ops before it may use, wrongly, what one of them
    // defines.
    for (auto [_, begun] : regions)
      for (Block &block : *begun)
        block.dropAllDefinedValueUses();
    return failure();
  }
  return success();
}
void logitile::printStateRegions(OpAsmPrinter &printer, Operation *, Region &init, Region &candidate, Region &update, Region &merge) {
  std::pair<StringRef, Region *> const regions[] = {{"init", &init}, {"candidate", &candidate}, {"update", &update}, {"merge", &merge}};
  llvm::interleave(
      regions, printer,
      [&](auto region) {
        printer << region.first << ' ';
        printer.printRegion(*region.second);
      },
      " ");
}

static ParseResult parseTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] { return parser.parseType(types.emplace_back()); });
}
ParseResult logitile::parseUpdateTypes(OpAsmParser &parser, SmallVectorImpl<Type> &state, SmallVectorImpl<Type> &inputs,
                                       SmallVectorImpl<Type> &results, SmallVectorImpl<Type> &entries) {
  if (parseTypes(parser, state) || parser.parseComma() || parseTypes(parser, inputs))
    return failure();
  results.assign(state.begin(), state.end());
  return succeeded(parser.parseOptionalKeyword("entries")) ? parseTypes(parser, entries) : ParseResult(success());
}
void logitile::printUpdateTypes(OpAsmPrinter &printer, Operation *, TypeRange state, TypeRange inputs, TypeRange, TypeRange entries) {
  printer << '(' << state << "), (" << inputs << ')';
  if (!entries.empty())
    printer << " entries (" << entries << ')';
}

ParseResult logitile::parseDim(OpAsmParser &parser, Attribute &dim) { return parseDimension(parser, dim); }
void logitile::printDim(OpAsmPrinter &printer, Operation *, Attribute dim) { printDimension(printer, dim); }
