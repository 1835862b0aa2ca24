// DescribeCompiler.cpp - what the compiler can do, as JSON: targets, operations of the language,
// names.
#include "compiler/Target/Backend.h"
#include "runtime/device/Platform.h"
#include "runtime/engine/Describe.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
using namespace logitile;
namespace json = llvm::json;

static std::string textOf(json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

std::string logitile::describeOperations(const std::vector<ScalarOperation> &operations) {
  auto text = [](std::string_view letters) { return llvm::StringRef(letters).str(); };
  json::Array list;
  for (const ScalarOperation &operation : operations)
    list.push_back(json::Object{{"name", text(operation.name)},
                                {"operands", text(operation.operands)},
                                {"result", text(operation.result)},
                                {"flows", text(operation.flows)}});
  return textOf(std::move(list));
}
std::string logitile::describeNames(const std::vector<std::string> &names) { return textOf(json::Array(names)); }

/// The stages of a target, in their order. The last one is what the runtime loads.
static json::Array stagesOf(const Target &target) {
  json::Array stages;
  for (Stage stage : {Stage::Spec, Stage::Plan, Stage::Tiles, Stage::Device})
    stages.push_back(llvm::StringRef(stageName(stage)));
  if (target.asLLVM())
    stages.push_back(llvm::StringRef(stageName(Stage::Llvm)));
  if (target.codeStage() > Stage::Llvm)
    stages.push_back(llvm::StringRef(stageName(target.codeStage())));
  return stages;
}

Result<std::string> logitile::describeTarget(const std::string &name) {
  Result<const Platform *> platform = findPlatform(name);
  if (!platform.isOk())
    return platform.status();
  const PlatformFacts facts = (*platform)->facts();
  json::Object object{{"platform", llvm::StringRef((*platform)->prefix())},
                      {"memory", llvm::StringRef(facts.memory)},
                      {"host_memory", facts.readsHostMemory},
                      {"host_threads", facts.runsOnHostThreads}};
  if (name.find(':') != name.npos) {
    std::string error;
    std::shared_ptr<const Target> target = findTarget(name, error);
    if (!target)
      return Status(ErrorCode::Target, error);
    object["stages"] = stagesOf(*target);
    json::Object chip;
    for (auto [figure, value] : target->chipFigures())
      chip[llvm::StringRef(figure)] = value;
    if (!chip.empty())
      object["chip"] = std::move(chip);
  }
  return textOf(std::move(object));
}
