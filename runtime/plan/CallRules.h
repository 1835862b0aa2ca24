// CallRules.h - how calls reduce their loss and recognise ignored tokens. A saved plan contains
// these rules.
#pragma once
#include "dialect/types/Enums.h"
#include <cstdint>
#include <optional>
#include <string>

namespace logitile {
enum class Reduction : uint8_t { None, Sum, Mean };
inline constexpr std::array<std::string_view, 3> kReductionWords = {"none", "sum", "mean"};
constexpr const auto &wordsOf(Reduction) { return kReductionWords; }

struct CallRules {
  Reduction reduction = Reduction::None;
  std::string ignore;                 // name of an input; empty: none
  std::optional<int64_t> ignoreIndex; // lt.valid is compiled for it
  bool isZeroWhenAllIgnored = false;
};
} // namespace logitile
