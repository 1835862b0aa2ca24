// KernelKey.h - what makes two programs the same: a digest of the request and of the compiler that serves it.
// Never of paths, line numbers or numbers of tokens; plans for several intervals of tokens share a key.
#pragma once
#include "runtime/Request.h"
#include <array>
#include <cstring>
#include <string_view>

namespace logitile {
class KernelKey {
public:
  KernelKey() = default;
  /// The key of a program that the compiler 'buildId' makes.
  static KernelKey of(const Request &request, std::string_view buildId);
  /// The key of a plan that came without its request, by its bytes.
  static KernelKey ofBytes(std::string_view bytes);

  /// 64 hexadecimal digits.
  std::string hex() const;
  size_t hash() const {
    size_t value;
    std::memcpy(&value, digest.data(), sizeof(value));
    return value;
  }
  friend bool operator==(const KernelKey &, const KernelKey &) = default;

private:
  std::array<uint8_t, 32> digest{};
};

/// Names the compiler in this build: the version and a digest of its code.
std::string_view compilerBuildId();
} // namespace logitile

template <> struct std::hash<logitile::KernelKey> {
  size_t operator()(const logitile::KernelKey &key) const { return key.hash(); }
};
