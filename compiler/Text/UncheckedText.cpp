// UncheckedText.cpp - finds text that would end a process inside of MLIR and LLVM. Their verifiers
// find other errors.
#include "compiler/Text/UncheckedText.h"
#include "compiler/Target/Backend.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringMap.h"
using namespace mlir;
using namespace logitile;

/// The parser makes a table of so many rows for the results of an op.
constexpr uint64_t kMostResults = 65535;
/// It calls itself for each level, and so do those who walk through attributes and types.
constexpr int64_t kMostNesting = 256;
/// LLVM splits larger vectors into registers for minutes, parsers of ops list the elements, and
/// constants of larger arrays fill memory.
constexpr int64_t kMostVectorElements = 4096;
constexpr int64_t kMostArrayElements = int64_t(1) << 20;
/// Arithmetic on wider integers is code for each word of them.
constexpr unsigned kMostIntegerBits = 128;

// ---- the text -----------------------------------------------------------------------------------

namespace {
/// Walks through a text, past strings and comments.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  /// What is wrong where 'at' stands then; "" at the end.
  std::string run() {
    for (; at < text.size(); ++at) {
      char c = text[at];
      bool isAlias = c == '#' || c == '!';
      if (c == '"')
        skipString();
      else if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size() - 1);
      else if (c == '#' && isResult())
        return "an op has at most " + std::to_string(kMostResults) + " results";
      else if (c == 'v' && isLargeVector())
        return "a vector has at most " + std::to_string(kMostVectorElements) + " elements";
      else if (isAlias && (at == 0 || text[at - 1] == '\n'))
        beginAlias();
      else if (isAlias)
        deepen(levels.lookup(nameAt()));
      else if (StringRef("([{<").contains(c))
        deepen(1), ++depth;
      else if (StringRef(")]}").contains(c) || (c == '>' && text.substr(0, at).back() != '-'))
        depth = std::max<int64_t>(depth - 1, 0);
      if (deepest > kMostNesting)
        return "more than " + std::to_string(kMostNesting) + " brackets are nested";
    }
    return "";
  }
  size_t at = 0;

private:
  StringRef nameAt() const {
    return text.substr(at).take_while([](char c) { return llvm::isAlnum(c) || StringRef("#!_$.-").contains(c); });
  }
  /// `#name = ...`: what stands after it counts where the name is used.
  void beginAlias() {
    endAlias();
    alias = nameAt();
  }
  void endAlias() {
    if (!alias.empty())
      levels[alias] = deepest;
    depth = deepest = 0;
  }
  void deepen(int64_t levels) { deepest = std::max(deepest, depth + levels); }
  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
  }
  /// Whether `#` begins the number of a result that no op has.
  bool isResult() const {
    StringRef digits = text.substr(at + 1).take_while(llvm::isDigit);
    uint64_t number = 0;
    return !digits.empty() && (digits.getAsInteger(10, number) || number > kMostResults);
  }
  /// Whether `vector<...>` begins, of more elements than any vector has.
  bool isLargeVector() const {
    StringRef rest = text.substr(at);
    if (!rest.consume_front("vector"))
      return false;
    uint64_t elements = 1, extent = 0;
    for (rest = rest.ltrim(); rest.consume_front("<") || rest.consume_front("x"); rest = rest.ltrim(" \t\n]")) {
      rest = rest.ltrim(" \t\n[");
      if (rest.empty() || !llvm::isDigit(rest.front()))
        return false;
      if (rest.consumeInteger(10, extent) || extent > kMostVectorElements || (elements *= extent) > kMostVectorElements)
        return true;
    }
    return false;
  }

  const StringRef text;
  int64_t depth = 0, deepest = 0;  // brackets that are open; the most that were since the last alias began
  StringRef alias;                 // whose definition is read
  llvm::StringMap<int64_t> levels; // of the brackets in aliases
};
} // namespace

std::string logitile::findUnparsable(StringRef text, StringRef place) {
  Scanner scanner(text);
  std::string reason = scanner.run();
  if (reason.empty())
    return reason;
  StringRef before = text.take_front(scanner.at);
  size_t line = before.count('\n') + 1, column = before.size() - (before.rfind('\n') + 1) + 1;
  return (place + ":" + Twine(line) + ":" + Twine(column) + ": " + reason).str();
}

// ---- ops ----------------------------------------------------------------------------------------

/// "" where LLVM can work with 'type'.
static std::string whyNot(Type type) {
  auto spell = [&](const Twine &reason) {
    std::string text;
    llvm::raw_string_ostream(text) << "uses '" << type << "'" << reason;
    return text;
  };
  if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasStaticShape()) {
    int64_t most = isa<VectorType>(type) ? kMostVectorElements : kMostArrayElements, elements = 1;
    for (int64_t extent : shaped.getShape())
      if (elements = extent > most ? most + 1 : elements * extent; elements > most)
        return spell("; it has more than " + Twine(most) + " elements");
  }
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type); array && array.getNumElements() > uint64_t(kMostArrayElements))
    return spell("; it has more than " + Twine(kMostArrayElements) + " elements");
  if (auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() > kMostIntegerBits)
    return spell("; integers have at most " + Twine(kMostIntegerBits) + " bits here");
  return "";
}

/// Types that an op and its attributes name.
static LogicalResult checkTypes(Operation *op, AttrTypeWalker &walker) {
  SmallVector<Type> types(op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(types, block.getArgumentTypes());
  WalkResult walk = walker.walk(op->getAttrDictionary());
  for (Type type : types)
    if (!walk.wasInterrupted())
      walk = walker.walk(type);
  return failure(walk.wasInterrupted());
}

/// What is addressed has a size.
static LogicalResult checkAddress(LLVM::GEPOp op) {
  Type element = op.getElemType();
  bool hasNoSize = isa<LLVM::LLVMVoidType, LLVM::LLVMFunctionType, LLVM::LLVMLabelType, LLVM::LLVMMetadataType>(element);
  if (LLVM::isCompatibleType(element) && !hasNoSize)
    return success();
  return op.emitOpError() << "steps over elements of " << element << ", which has no size";
}

LogicalResult logitile::checkParsed(ModuleOp module) {
  Operation *current = nullptr;
  AttrTypeWalker walker;
  std::string reason;
  const std::vector<const Backend *> backends = listBackends();
  walker.addWalk([&](Type type) {
    reason = whyNot(type);
    return reason.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  WalkResult walk = module.walk([&](Operation *op) {
    current = op;
    if (failed(checkTypes(op, walker)))
      return op->emitOpError() << reason, WalkResult::interrupt();
    if (auto address = dyn_cast<LLVM::GEPOp>(op); address && failed(checkAddress(address)))
      return WalkResult::interrupt();
    auto accepts = [&](const Backend *backend) { return succeeded(backend->checkParsed(op)); };
    return llvm::all_of(backends, accepts) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}
