// PlanOrigin.h - where a plan came from, and the time that took.
#pragma once
#include "compiler/Stages.h"
#include <cstdint>
#include <vector>

namespace logitile {
/// Where the plan of a call came from.
enum class PlanEvent : uint8_t {
  Hit,     // from memory
  Compile, // made now
  Load,    // from bytes of the caller
  Disk,    // from the disk cache
};

struct StageMilliseconds {
  Stage stage;
  double milliseconds;
};

struct PlanOrigin {
  PlanEvent event = PlanEvent::Hit;
  std::vector<StageMilliseconds> stages; // of a compilation
  double loadMilliseconds = 0;           // of code that was brought in
};
} // namespace logitile
