// KernelOps.cpp - templates and kernels: their syntax, and that symbols and bundles stay inside
// templates.
#include "dialect/Logitile.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;
using namespace logitile;

// ---- syntax -------------------------------------------------------------------------------------

static ParseResult parseParams(OpAsmParser &parser, OperationState &result) {
  SmallVector<Attribute> params;
  auto parseOne = [&]() -> ParseResult {
    StringRef word;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    if (!isNameOfDim(word) && !isNameOfType(word))
      return parser.emitError(at, "parameter '") << word << "' must be all capitals (a dimension) or all small letters (an element type)";
    params.push_back(parser.getBuilder().getStringAttr(word));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseOne))
    return failure();
  result.addAttribute("params", parser.getBuilder().getArrayAttr(params));
  return success();
}

/// `for purpose on ["cpu", "cuda"]`, both optional.
static ParseResult parseService(OpAsmParser &parser, OperationState &result) {
  if (succeeded(parser.parseOptionalKeyword("for"))) {
    StringRef word;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<Purpose> purpose = symbolizePurpose(word);
    if (!purpose)
      return parser.emitError(at, "nothing is launched for '") << word << "'";
    result.addAttribute("purpose", PurposeAttr::get(parser.getContext(), *purpose));
  }
  if (failed(parser.parseOptionalKeyword("on")))
    return success();
  ArrayAttr targets;
  return parser.parseAttribute(targets, "targets", result.attributes);
}
static void printService(OpAsmPrinter &printer, TemplateOp op) {
  if (op.getPurpose())
    printer << " for " << stringifyPurpose(*op.getPurpose());
  if (op.getTargets())
    printer << " on " << op.getTargetsAttr() << ' ';
}

/// What a plain argument is given: `"view of the launch"`, `@buffer`, or the word of a scalar or of
/// a buffer's role.
static ParseResult parseRole(OpAsmParser &parser, Attribute &role) {
  std::string view;
  StringRef word;
  SMLoc at = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalString(&view)))
    return role = parser.getBuilder().getStringAttr(view), success();
  StringAttr buffer;
  if (succeeded(parser.parseOptionalSymbolName(buffer)))
    return role = FlatSymbolRefAttr::get(buffer), success();
  if (parser.parseKeyword(&word))
    return failure();
  if (std::optional<ScalarRole> scalar = symbolizeScalarRole(word))
    return role = ScalarRoleAttr::get(parser.getContext(), *scalar), success();
  if (std::optional<BufferRole> known = symbolizeBufferRole(word))
    return role = BufferRoleAttr::get(parser.getContext(), *known), success();
  return parser.emitError(at, "'") << word << "' is neither a scalar of a launch nor the role of a buffer";
}
static void printRole(OpAsmPrinter &printer, Attribute role) {
  if (auto scalar = dyn_cast<ScalarRoleAttr>(role))
    printer << stringifyScalarRole(scalar.getValue());
  else if (auto known = dyn_cast<BufferRoleAttr>(role))
    printer << stringifyBufferRole(known.getValue());
  else
    printer << role;
}

/// `%name: type from role`, the role only where the type is no bundle.
static ParseResult parseKernelLike(OpAsmParser &parser, OperationState &result, bool hasParams) {
  StringAttr name;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      (hasParams && (parseParams(parser, result) || parseService(parser, result))))
    return failure();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> roles;
  auto parseOne = [&]() -> ParseResult {
    Attribute role = parser.getBuilder().getUnitAttr();
    if (parser.parseArgument(arguments.emplace_back(), /*allowType=*/true))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("from")) && parseRole(parser, role))
      return failure();
    roles.push_back(role);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  result.addAttribute("roles", parser.getBuilder().getArrayAttr(roles));
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*result.addRegion(), arguments));
}

static void printKernelLike(OpAsmPrinter &printer, Operation *op, StringRef name, TemplateOp source, ArrayAttr roles) {
  printer << ' ';
  printer.printSymbolName(name);
  if (source) {
    printer << '<';
    llvm::interleaveComma(source.getParams().getAsValueRange<StringAttr>(), printer);
    printer << '>';
    printService(printer, source);
  }
  printer << '(';
  llvm::interleaveComma(llvm::zip(op->getRegion(0).getArguments(), roles), printer, [&](auto pair) {
    auto [argument, role] = pair;
    printer.printRegionArgument(argument);
    if (isa<UnitAttr>(role))
      return;
    printer << " from ";
    printRole(printer, role);
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), {"sym_name", "params", "purpose", "targets", "roles"});
  printer << ' ';
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false);
}

ParseResult TemplateOp::parse(OpAsmParser &parser, OperationState &result) { return parseKernelLike(parser, result, true); }
ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) { return parseKernelLike(parser, result, false); }
void TemplateOp::print(OpAsmPrinter &printer) { printKernelLike(printer, *this, getSymName(), *this, getRoles()); }
void KernelOp::print(OpAsmPrinter &printer) { printKernelLike(printer, *this, getSymName(), {}, getRoles()); }

// ---- checks -------------------------------------------------------------------------------------

/// Every plain argument says what it is given, in a form that 'isForm' takes; no bundle does.
static LogicalResult verifyRoles(Operation *kernel, ArrayAttr roles, function_ref<bool(Attribute)> isForm, StringRef form) {
  auto arguments = kernel->getRegion(0).getArguments();
  if (roles.size() != arguments.size())
    return kernel->emitOpError() << "has " << arguments.size() << " arguments but " << roles.size() << " roles";
  for (auto [argument, role] : llvm::zip_equal(arguments, roles)) {
    Type type = argument.getType();
    auto emitRefusal = [&] { return kernel->emitOpError() << "argument " << argument.getArgNumber() << " of type " << type << " "; };
    if (!isa<BundleType, ViewType, IndexType>(type) && !type.isInteger(1))
      return kernel->emitOpError() << "argument " << argument.getArgNumber() << " is of type " << type << "; expected a view, index or i1";
    if (isa<UnitAttr>(role) != isa<BundleType>(type))
      return isa<UnitAttr>(role) ? emitRefusal() << "needs a role after 'from'" : emitRefusal() << "is a bundle, which takes no role";
    if (isa<ViewType>(type) && !isForm(role))
      return emitRefusal() << "is from " << role << "; expected " << form;
    if (isa<BundleType, ViewType>(type))
      continue;
    auto scalar = dyn_cast<ScalarRoleAttr>(role);
    if (!scalar)
      return emitRefusal() << "is from " << role << "; expected a scalar of the launch";
    bool isCount = llvm::is_contained({ScalarRole::Tokens, ScalarRole::VocabSplitFirst, ScalarRole::VocabSplitEnd}, scalar.getValue());
    if (isCount != type.isIndex())
      return emitRefusal() << "is from '" << stringifyScalarRole(scalar.getValue()) << "', which is an " << (isCount ? "index" : "i1");
  }
  return success();
}

/// A template leaves it to the launch when to add; a kernel has it decided.
static LogicalResult verifyAgain(Operation *kernel, ArrayAttr roles, bool isTemplate) {
  for (auto [i, role] : llvm::enumerate(roles)) {
    auto scalar = dyn_cast<ScalarRoleAttr>(role);
    if (scalar && scalar.getValue() >= ScalarRole::AccumulateTokens && isTemplate != (scalar.getValue() == ScalarRole::Accumulate))
      return kernel->emitOpError() << "argument " << i << " is from '" << stringifyScalarRole(scalar.getValue()) << "'; expected "
                                  << (isTemplate ? "'accumulate': the launch decides when"
                                                 : "'accumulate_tokens' or 'accumulate_vocab_splits'");
  }
  return success();
}

/// Calls 'check' with every type that a value below 'kernel' has.
static LogicalResult forEachType(Operation *kernel, function_ref<LogicalResult(Operation *, Type)> check) {
  WalkResult walk = kernel->walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (failed(check(op, argument.getType())))
          return WalkResult::interrupt();
    for (Type type : op->getResultTypes())
      if (failed(check(op, type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Names of the symbols that the attributes of 'op' use as dimensions.
static SmallVector<StringRef> dimensionsOf(Operation *op) {
  SmallVector<StringRef> symbols;
  for (NamedAttribute attr : op->getAttrs())
    if (auto dim = dyn_cast<SymbolicDimAttr>(attr.getValue()))
      symbols.push_back(dim.getName());
  return symbols;
}

/// The algorithm of a product; nothing for other ops, and where it is open.
static std::optional<Algorithm> algorithmOf(Operation *op) {
  if (auto project = dyn_cast<ProjectOp>(op))
    return project.getAlgorithm();
  auto contract = dyn_cast<ContractOp>(op);
  return contract ? contract.getAlgorithm() : std::nullopt;
}

LogicalResult TemplateOp::verifyRegions() {
  llvm::StringSet<> declared;
  for (StringRef param : getParams().getAsValueRange<StringAttr>())
    if (!declared.insert(param).second)
      return emitOpError() << "declares parameter '" << param << "' twice";
  auto isForm = [](Attribute role) { return isa<StringAttr, BufferRoleAttr>(role); };
  if (failed(verifyRoles(*this, getRoles(), isForm, "a name in quotes or the role of a buffer")) ||
      failed(verifyAgain(*this, getRoles(), /*isTemplate=*/true)))
    return failure();
  auto undeclared = [&](Operation *op, StringRef symbol) -> LogicalResult {
    InFlightDiagnostic error = op->emitOpError() << "uses '" << symbol << "', which template '@" << getSymName() << "' does not declare";
    if (op != getOperation())
      error.attachNote(getLoc()) << "parameters are declared here";
    return error;
  };
  LogicalResult types = forEachType(*this, [&](Operation *op, Type type) -> LogicalResult {
    SmallVector<StringRef> symbols;
    collectSymbols(type, symbols);
    for (StringRef symbol : symbols)
      if (!declared.contains(symbol))
        return undeclared(op, symbol);
    return success();
  });
  if (failed(types))
    return failure();
  WalkResult walk = this->walk([&](Operation *op) {
    if (algorithmOf(op)) {
      op->emitOpError() << "has 'using' in a template; the launch chooses the algorithm";
      return WalkResult::interrupt();
    }
    if (isa<UpdateStateOp, LoadGatherOp>(op)) {
      op->emitOpError() << "stands in a template; only kernels have it, a template uses 'logitile.apply'";
      return WalkResult::interrupt();
    }
    for (StringRef symbol : dimensionsOf(op))
      if (!declared.contains(symbol))
        return failed(undeclared(op, symbol)) ? WalkResult::interrupt() : WalkResult::advance();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult KernelOp::verifyRegions() {
  if (failed(verifyRoles(*this, getRoles(), llvm::IsaPred<FlatSymbolRefAttr>, "a buffer such as @tokens_map")) ||
      failed(verifyAgain(*this, getRoles(), /*isTemplate=*/false)))
    return failure();
  if (DictionaryAttr aliases = getAliasesAttr())
    for (NamedAttribute alias : aliases) {
      if (!isa<FlatSymbolRefAttr>(alias.getValue()))
        return emitOpError() << "alias of '" << alias.getName().getValue() << "' is " << alias.getValue() << "; it must be a buffer";
      if (!llvm::is_contained(getRoles(), FlatSymbolRefAttr::get(alias.getName())))
        return emitOpError() << "aliases '" << alias.getName().getValue() << "', which no argument is from";
    }
  LogicalResult types = forEachType(*this, [&](Operation *op, Type type) -> LogicalResult {
    SmallVector<StringRef> symbols;
    collectSymbols(type, symbols);
    if (!symbols.empty())
      return op->emitOpError() << "uses symbol '" << symbols.front() << "' in " << type << "; a kernel has everything bound";
    if (isa<BundleType>(type))
      return op->emitOpError() << "has a value of type " << type << "; a kernel has no bundles";
    return success();
  });
  if (failed(types))
    return failure();
  WalkResult walk = this->walk([&](Operation *op) {
    if (isa<ProjectOp, ContractOp>(op) && !algorithmOf(op) && dimensionsOf(op).empty()) {
      op->emitOpError() << "needs 'using' and an algorithm in a kernel";
      return WalkResult::interrupt();
    }
    if (!isa<ApplyOp, ParamOp>(op) && dimensionsOf(op).empty())
      return WalkResult::advance();
    op->emitOpError() << "belongs to templates; a kernel has everything bound";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

// ---- arguments of kernels -----------------------------------------------------------------------

std::optional<ScalarRole> KernelOp::scalarOf(BlockArgument argument) {
  auto role = dyn_cast<ScalarRoleAttr>(getRoles()[argument.getArgNumber()]);
  return role ? std::optional(role.getValue()) : std::nullopt;
}

StringAttr KernelOp::bufferOf(BlockArgument argument) {
  auto role = dyn_cast<FlatSymbolRefAttr>(getRoles()[argument.getArgNumber()]);
  return role ? role.getAttr() : StringAttr();
}

BlockArgument KernelOp::findScalar(ScalarRole role) {
  auto arguments = getBody().getArguments();
  auto *found = llvm::find_if(arguments, [&](BlockArgument argument) { return scalarOf(argument) == role; });
  return found == arguments.end() ? BlockArgument() : *found;
}

LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getCodeAttr())
    return success();
  auto other = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getCodeAttr());
  if (!other)
    return emitOpError() << "runs the code of " << getCodeAttr() << ", which is no kernel of this module";
  if (other.getCodeAttr())
    return emitOpError() << "runs the code of " << getCodeAttr() << ", which runs that of " << other.getCodeAttr() << "; name that one";
  if (other.getBody().getArgumentTypes() != getBody().getArgumentTypes())
    return emitOpError() << "runs the code of " << getCodeAttr() << ", which has arguments of other types";
  return success();
}
