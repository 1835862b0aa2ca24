// CallRules.h - how calls reduce their loss and tell ignored tokens. A saved plan holds what it was saved for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace logitile {
enum class Reduction : uint8_t { None, Sum, Mean };

struct CallRules {
  Reduction reduction = Reduction::None;
  std::string ignore;                 // name of an input; empty: none
  std::optional<int64_t> ignoreIndex; // lt.valid is compiled for it
  bool isZeroWhenAllIgnored = false;
};
} // namespace logitile
