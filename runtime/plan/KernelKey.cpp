// KernelKey.cpp - the bytes that a key is the digest of: every field has its name and a length
// before it, so that no two requests spell the same bytes.
#include "runtime/plan/KernelKey.h"
#include "runtime/plan/Bytes.h"
#include "llvm/Support/BLAKE3.h"
using namespace logitile;

namespace {
/// Fields one after the other: the name, the length of the value, the value.
class KeyBuilder {
public:
  template <typename T> void add(std::string_view name, const T &value) {
    ByteWriter outer = std::move(writer);
    writer = {};
    put(value);
    if (!writer.bytes.empty()) { // what a request does not have is no part of its key
      outer.field(std::string(name));
      outer.field(writer.bytes);
    }
    writer = std::move(outer);
  }
  std::string bytes() && { return std::move(writer.bytes); }

private:
  void put(int64_t number) { writer.number(number); }
  void put(bool flag) { writer.field(flag); }
  void put(std::string_view text) { writer.field(std::string(text)); }
  template <HasWords Enum> void put(Enum value) { put(wordOf(value)); }
  template <typename Struct>
    requires requires(const Struct &value) { value.inKey(); }
  void put(const Struct &value) {
    std::apply([&](const auto &...member) { (put(member), ...); }, value.inKey());
  }
  template <typename T> void put(const std::vector<T> &list) {
    for (const T &value : list)
      put(value);
  }
  template <typename... T> void put(const std::map<std::string, T...> &named) {
    for (const auto &[name, value] : named) {
      put(name);
      put(value);
    }
  }
  template <typename T> void put(const std::optional<T> &value) {
    if (value)
      put(*value);
  }

  ByteWriter writer;
};

constexpr std::string_view kBuildId = "build_id";
} // namespace

std::string logitile::requestBytes(const Request &request, std::string_view buildId) {
  KeyBuilder builder;
  builder.add(kBuildId, buildId);
#define LOGITILE_REQUEST(Type, member, name) builder.add(#name, request.member);
#define LOGITILE_REQUEST_NOTE(Type, member, name)
#include "compiler/Request.def"
  return std::move(builder).bytes();
}

std::string_view logitile::buildIdOf(std::string_view requestBytes) {
  ByteReader reader(requestBytes);
  bool isThere = reader.take(reader.number()) == kBuildId;
  reader.number(); // the length of the value, which has one of its own
  std::string_view id = reader.take(reader.number());
  return isThere ? id : std::string_view();
}

KernelKey KernelKey::ofRequestBytes(std::string_view bytes) {
  KernelKey key;
  key.digest = llvm::BLAKE3::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return key;
}

KernelKey KernelKey::of(const Request &request, std::string_view buildId) { return ofRequestBytes(requestBytes(request, buildId)); }

KernelKey KernelKey::ofTask(Request request) {
  request.tiles.clear();
  return of(request, "");
}

KernelKey KernelKey::ofBytes(std::string_view bytes) {
  KeyBuilder builder;
  builder.add("bytes", bytes);
  return ofRequestBytes(std::move(builder).bytes());
}

std::string KernelKey::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}
