// FloatEnvironment.h - the floating-point environment that everything of a call runs in, whatever the caller has set.
// Threads of the pool set the same for themselves.
#pragma once
#include <cfenv>

namespace logitile {
/// Rounding to nearest, denormals kept, no traps. The former environment comes back at the end of the scope.
class DefaultFloatEnvironment {
public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;

private:
  std::fenv_t saved;
};
} // namespace logitile
