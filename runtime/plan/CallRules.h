// CallRules.h - how calls reduce their loss and recognise ignored tokens. A saved plan contains
// these rules.
#pragma once
#include "dialect/types/Enums.h"
#include <cstdint>
#include <optional>
#include <string>

namespace logitile {
struct CallRules {
  Reduction reduction = Reduction::None;
  std::string ignore;                 // name of an input; empty: none
  std::optional<int64_t> ignoreIndex; // the value for which lt.valid was compiled
  bool isZeroWhenAllIgnored = false;
};
} // namespace logitile
