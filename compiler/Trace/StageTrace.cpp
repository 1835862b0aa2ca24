// StageTrace.cpp - a trace as JSON.
#include "compiler/Trace/StageTrace.h"
#include "llvm/Support/JSON.h"
using namespace logitile;

static void writeStage(llvm::json::OStream &json, const TracedStage &stage) {
  json.attribute("stage", stage.name);
  json.attribute("text", llvm::json::fixUTF8(stage.text));
  json.attributeArray("origins", [&] {
    for (const std::vector<LinePlace> &places : stage.origins)
      json.array([&] {
        for (const LinePlace &place : places)
          json.value(llvm::json::Array{llvm::json::fixUTF8(place.file), place.line});
      });
  });
  json.attributeArray("symbols", [&] {
    for (const TracedSymbol &symbol : stage.symbols)
      json.value(llvm::json::Array{llvm::json::fixUTF8(symbol.name), symbol.line});
  });
  json.attributeArray("tiles", [&] {
    for (const TracedTiles &tiles : stage.tiles)
      json.value(llvm::json::Array{tiles.kernel, tiles.sizes});
  });
  json.attributeArray("passes", [&] {
    for (const TracedPass &pass : stage.passes)
      json.value(llvm::json::Array{pass.name, llvm::json::fixUTF8(pass.text)});
  });
}

std::string logitile::writeTrace(const std::vector<TracedStage> &stages) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.array([&] {
    for (const TracedStage &stage : stages)
      json.object([&] { writeStage(json, stage); });
  });
  return text;
}
