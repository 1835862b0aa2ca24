// Inputs.cpp - conversion of input elements to f32, i32 and bytes.
#include "runtime/arrays/Inputs.h"
#include "runtime/arrays/Values.h"
#include <algorithm>
using namespace logitile;

namespace {
/// Which integers one entry of an input may hold.
struct Allowed {
  bool isIndex;
  int64_t vocab;
  std::optional<int64_t> exempt;

  template <typename T> bool contains(T value) const {
    bool fits = std::cmp_greater_equal(value, INT32_MIN) && std::cmp_less_equal(value, INT32_MAX);
    bool isInside = std::cmp_greater_equal(value, 0) && std::cmp_less(value, vocab);
    return fits && (!isIndex || isInside || (exempt && std::cmp_equal(value, *exempt)));
  }
};

/// One entry of an input: where its elements are, and what they are called in errors.
struct Source {
  const Array &array;
  const char *data;
  TokenLayout layout;
  int64_t entry; // -1 where the input has only one
};

Status outsideError(const Source &source, const Tokens &tokens, const Allowed &allowed, int64_t token, const std::string &value) {
  int64_t natural = tokens.allCount() ? token : tokens.map[token];
  std::string where = "'" + std::string(source.array.name) + "'" + positionText(natural, tokens.leading, source.entry) + " is " + value;
  if (!allowed.isIndex)
    return Status(ErrorCode::Value, where + ", which does not fit in 32 bits");
  std::string vocab = std::to_string(allowed.vocab), last = std::to_string(allowed.vocab - 1);
  std::string exempt = allowed.exempt ? " or ignore_index " + std::to_string(*allowed.exempt) : "";
  return Status(ErrorCode::Index, where + ", outside the vocabulary of " + vocab + " entries: it must be 0 to " + last + exempt);
}

template <typename T> Status loadIntegers(const Source &source, const Tokens &tokens, const Allowed &allowed, int32_t *out) {
  const T *data = reinterpret_cast<const T *>(source.data);
  bool isFine = true;
  forCounted(source.layout, tokens, [&](int64_t token, int64_t offset) {
    T value = data[offset];
    isFine &= allowed.contains(value);
    out[token] = static_cast<int32_t>(value);
  });
  if (isFine)
    return Status();
  int64_t wrong = -1;
  T value = 0;
  forCounted(source.layout, tokens, [&](int64_t token, int64_t offset) {
    if (wrong >= 0 || allowed.contains(data[offset]))
      return;
    wrong = token;
    value = data[offset];
  });
  return outsideError(source, tokens, allowed, wrong, std::to_string(value));
}

Status loadEntry(const Source &source, const Tokens &tokens, ElementType element, const Allowed &allowed, char *out) {
  return withElement(source.array.type, [&](auto example) -> Status {
    using T = decltype(example);
    const T *data = reinterpret_cast<const T *>(source.data);
    if constexpr (std::is_integral_v<T>)
      if (element == ElementType::I32)
        return loadIntegers<T>(source, tokens, allowed, reinterpret_cast<int32_t *>(out));
    if (element == ElementType::Bool)
      forCounted(source.layout, tokens, [&](int64_t token, int64_t offset) { out[token] = data[offset] != 0; });
    else
      forCounted(source.layout, tokens,
                 [&](int64_t token, int64_t offset) { reinterpret_cast<float *>(out)[token] = static_cast<float>(data[offset]); });
    return Status();
  });
}

Status checkType(const InputPlan &input, const Array &array) {
  bool isScalar = input.kind == InputKind::Scalar;
  const char *wanted = input.element == ElementType::F32 ? "floats" : input.element == ElementType::I32 ? "integers" : "bools";
  bool isFine = input.element == ElementType::F32   ? isFloat(array.type) || (isScalar && isInteger(array.type))
                : input.element == ElementType::I32 ? isInteger(array.type)
                                                    : array.type == ElementType::Bool;
  return isFine ? Status() : Status(ErrorCode::Type, "'" + input.name + "' is " + describe(array) + "; " + wanted + " are needed");
}

} // namespace

Status logitile::checkInput(const InputPlan &input, const Array &array, const Tokens &tokens, int64_t columns) {
  if (Status status = checkType(input, array); !status.isOk())
    return status;
  std::vector<int64_t> wanted;
  if (input.kind == InputKind::Token)
    wanted.assign(tokens.leading.begin(), tokens.leading.end());
  if (input.kind == InputKind::Vocab)
    wanted = {columns};
  if (input.entries > 0 && array.rank > 0 && array.extent(-1) >= input.entries)
    wanted.push_back(array.extent(-1)); // entries that the program does not read may be there
  else if (input.entries > 0)
    wanted.push_back(input.entries);
  if (std::ranges::equal(wanted, array.extents()))
    return Status();
  return Status(ErrorCode::Value, "'" + input.name + "' has shape " + shapeText(array.extents()) + "; it must be " + shapeText(wanted));
}

Status logitile::loadInput(const InputPlan &input, const Array &array, const Tokens &tokens, const IntegerRules &rules,
                           std::span<char *const> buffers, int64_t lanes) {
  Tokens all{array.extents(), array.elements(), array.elements(), nullptr}; // Vocab and Scalar inputs: every element counts
  const Tokens &counted = input.kind == InputKind::Token ? tokens : all;
  size_t axes = counted.leading.size();
  int64_t size = input.element == ElementType::Bool ? 1 : 4;
  for (size_t entry = 0; entry < buffers.size(); ++entry) {
    if (!buffers[entry])
      continue;
    bool hasEntries = input.entries > 0;
    int64_t offset = hasEntries ? entry * array.stride(-1) * elementBytes(array.type) : 0;
    Source source{array, array.bytes() + offset, TokenLayout(counted.leading, {array.strides, axes}),
                  hasEntries ? static_cast<int64_t>(entry) : -1};
    bool mayBeIgnored = hasEntries || input.name == rules.ignore;
    Allowed allowed{input.isIndex, rules.vocab, mayBeIgnored ? rules.ignoreIndex : std::nullopt};
    if (Status status = loadEntry(source, counted, input.element, allowed, buffers[entry]); !status.isOk())
      return status;
    std::fill(buffers[entry] + counted.counted * size, buffers[entry] + lanes * size, 0);
  }
  return Status();
}
