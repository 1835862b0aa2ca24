// FloatEnvironment.h - the floating-point environment of a call. It is the same whatever the caller
// has set, except for the treatment of subnormal numbers.
#pragma once
#include <cfenv>
#include <cstdint>
#include <xmmintrin.h>

namespace logitile {
/// What a thread does with subnormal numbers: whether such results become 0 (FTZ), and whether such
/// operands count as 0 (DAZ).
class SubnormalMode {
public:
  static SubnormalMode ofThisThread() { return SubnormalMode(_mm_getcsr() & (kFlushToZero | kDenormalsAreZero)); }
  static SubnormalMode keep() { return SubnormalMode(0); }

  void set() const { _mm_setcsr((_mm_getcsr() & ~(kFlushToZero | kDenormalsAreZero)) | bits); }

private:
  // Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3.
  static constexpr uint32_t kFlushToZero = 1u << 15, kDenormalsAreZero = 1u << 6;
  explicit SubnormalMode(uint32_t bits) : bits(bits) {}
  uint32_t bits;
};

/// Sets rounding to nearest and no traps. Restores the former environment at the end of the scope.
class DefaultFloatEnvironment {
public:
  explicit DefaultFloatEnvironment(SubnormalMode subnormals = SubnormalMode::ofThisThread()) {
    std::fegetenv(&saved);
    std::fesetenv(FE_DFL_ENV);
    subnormals.set();
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;

private:
  std::fenv_t saved;
};
} // namespace logitile
