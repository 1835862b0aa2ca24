// Stages.h - the named levels of the pipeline. A stage's name is also its dump name and the key of
// head.ir(...).
#pragma once
#include <optional>
#include <string_view>

namespace logitile {
enum class Stage { Spec, Plan, Tiles, Device, Llvm, Obj, Ptx };
inline constexpr std::string_view kStageNames[] = {"spec", "plan", "tiles", "device", "llvm", "obj", "ptx"};

constexpr std::string_view stageName(Stage stage) { return kStageNames[static_cast<int>(stage)]; }
constexpr std::optional<Stage> parseStage(std::string_view name) {
  for (Stage stage : {Stage::Spec, Stage::Plan, Stage::Tiles, Stage::Device, Stage::Llvm, Stage::Obj, Stage::Ptx})
    if (stageName(stage) == name)
      return stage;
  return std::nullopt;
}
} // namespace logitile
