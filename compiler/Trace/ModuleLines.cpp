// ModuleLines.cpp - prints modules, reads places of operations and sets them.
#include "compiler/Trace/ModuleLines.h"
#include "dialect/Logitile.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"
using namespace mlir;
using namespace logitile;

static OpPrintingFlags withNames() { return OpPrintingFlags().printNameLocAsPrefix(); }

static std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, withNames());
  return text;
}

static void addPlaces(Location loc, std::vector<LinePlace> &places) {
  loc->walk([&](Location inner) {
    auto place = dyn_cast<FileLineColLoc>(inner);
    if (!place || place.getLine() == 0)
      return WalkResult::advance();
    LinePlace found{place.getFilename().str(), place.getLine()};
    if (llvm::none_of(places, [&](const LinePlace &other) { return other.file == found.file && other.line == found.line; }))
      places.push_back(std::move(found));
    return WalkResult::advance();
  });
}

/// The place of an operation that stands at 'line', under the name that it had.
static Location placeOf(Operation *op, StringRef stage, unsigned line, unsigned column) {
  Location place = FileLineColLoc::get(op->getContext(), stage, line, column);
  auto named = op->getLoc()->findInstanceOf<NameLoc>(); // as printing does
  return named ? NameLoc::get(named.getName(), place) : place;
}

/// The tile sizes that a launch binds: parameters of skeletons whose names begin with a T are such.
static std::string tileSizesOf(LaunchOp launch) {
  std::string sizes;
  for (NamedAttribute binding : launch.getBindings())
    if (auto size = dyn_cast<IntegerAttr>(binding.getValue()); size && binding.getName().strref().starts_with("T"))
      sizes += (sizes.empty() ? "" : ",") + binding.getName().str() + "=" + std::to_string(size.getInt());
  return sizes;
}

TracedStage logitile::traceModule(ModuleOp module, StringRef name) {
  TracedStage stage;
  stage.name = name.str();
  AsmState::LocationMap lines;
  AsmState state(module, withNames(), &lines);
  llvm::raw_string_ostream stream(stage.text);
  module->print(stream, state);
  stage.origins.resize(llvm::count(stage.text, '\n') + 1);
  for (auto [op, at] : lines)
    addPlaces(op->getLoc(), stage.origins.at(at.first - 1));
  for (Operation &op : *module.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      stage.symbols.push_back({symbol.getName().str(), lines.lookup(&op).first});
  module.walk([&](LaunchOp launch) { stage.tiles.push_back({launch.getKernel().str(), tileSizesOf(launch)}); });
  for (auto [op, at] : lines)
    op->setLoc(placeOf(op, name, at.first, at.second));
  return stage;
}

PassRecorder::PassRecorder(ModuleOp module, std::vector<TracedPass> &passes) : passes(passes), last(printed(module)) {}

void PassRecorder::runAfterPass(Pass *pass, Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  std::string text = printed(module);
  if (text == last)
    return;
  StringRef name = pass->getArgument();
  passes.push_back({name.empty() ? pass->getName().str() : name.str(), text});
  last = std::move(text);
}
