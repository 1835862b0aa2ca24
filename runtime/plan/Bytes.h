// Bytes.h - numbers, texts and lists as bytes and back, for files of the runtime. Numbers are
// 64-bit little-endian words; texts and lists have their length before them.
#pragma once
#include "dialect/types/Enums.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace logitile {
/// Appends fields.
class ByteWriter {
public:
  std::string bytes;

  void number(int64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes += static_cast<char>(static_cast<uint64_t>(value) >> shift);
  }
  void field(int64_t value) { number(value); }
  void field(bool value) { number(value); }
  void field(const std::string &text) {
    number(static_cast<int64_t>(text.size()));
    bytes += text;
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void field(Enum value, Enum /*last*/) {
    number(static_cast<int64_t>(value));
  }
  template <HasWords Enum> void field(Enum value) { field(value, kLast<Enum>); }
  void field(const std::optional<int64_t> &value) {
    field(value.has_value());
    number(value.value_or(0));
  }
  template <typename T, typename One> void list(const std::vector<T> &values, One one) {
    number(static_cast<int64_t>(values.size()));
    for (const T &value : values)
      one(value);
  }
};

/// Reads bytes of ByteWriter. After the first field with an impossible value, 'isFine' is false and
/// all fields are empty.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : rest(bytes) {}
  bool isFine = true;
  bool isAtEnd() const { return rest.empty(); }
  std::string_view left() const { return rest; }

  int64_t number() {
    uint64_t value = 0;
    std::string_view word = take(8);
    for (size_t i = 0; i < word.size(); ++i)
      value |= static_cast<uint64_t>(static_cast<uint8_t>(word[i])) << 8 * i;
    return static_cast<int64_t>(value);
  }
  void field(int64_t &value) { value = number(); }
  void field(bool &value) {
    int64_t word = number();
    isFine &= word == 0 || word == 1;
    value = word == 1;
  }
  void field(std::string &text) { text = take(number()); }
  void field(std::optional<int64_t> &value) {
    bool isThere = false;
    field(isThere);
    int64_t word = number();
    value = isThere ? std::optional(word) : std::nullopt;
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void field(Enum &value, Enum last) {
    int64_t word = number();
    isFine &= word >= 0 && word <= static_cast<int64_t>(last);
    value = isFine ? static_cast<Enum>(word) : Enum();
  }
  template <HasWords Enum> void field(Enum &value) { field(value, kLast<Enum>); }
  template <typename T, typename One> void list(std::vector<T> &values, One one) {
    int64_t count = number();
    constexpr int64_t kSmallest = 8; // bytes of an element: no list is longer than what is left
    isFine &= count >= 0 && count <= static_cast<int64_t>(rest.size()) / kSmallest;
    for (int64_t i = 0; isFine && i < count; ++i)
      one(values.emplace_back());
  }
  std::string_view take(int64_t count) {
    isFine &= count >= 0 && count <= static_cast<int64_t>(rest.size());
    std::string_view taken = isFine ? rest.substr(0, count) : std::string_view();
    rest.remove_prefix(taken.size());
    return taken;
  }

private:
  std::string_view rest;
};

/// A checksum that detects damaged bytes. It does not protect against deliberate changes.
uint64_t checksum(std::string_view bytes);
} // namespace logitile
