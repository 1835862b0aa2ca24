// KernelKey.h - the identity of a program: a digest of the request and of the compiler. It does not
// contain paths, line numbers or numbers of tokens; plans for several intervals of tokens share a
// key.
#pragma once
#include "compiler/Request.h"
#include <array>
#include <cstring>
#include <string_view>

namespace logitile {
/// All fields of a request, and the compiler's 'buildId', as bytes. A key is the digest of these
/// bytes.
std::string requestBytes(const Request &request, std::string_view buildId);
/// The 'buildId' of such bytes.
std::string_view buildIdOf(std::string_view requestBytes);

class KernelKey {
public:
  KernelKey() = default;
  /// The key of a program that the compiler 'buildId' compiles.
  static KernelKey of(const Request &request, std::string_view buildId);
  /// The task digest: it does not depend on the compiler or on tile sizes. Tuning stores its
  /// results under it.
  static KernelKey ofTask(Request request);
  /// A key for a plan that was loaded without its request: the digest of the plan's bytes.
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
  static KernelKey ofRequestBytes(std::string_view bytes);
  std::array<uint8_t, 32> digest{};
};

/// Names the compiler and the runtime in this build: the version and a digest of their code.
std::string_view compilerBuildId();
} // namespace logitile

template <> struct std::hash<logitile::KernelKey> {
  size_t operator()(const logitile::KernelKey &key) const { return key.hash(); }
};
