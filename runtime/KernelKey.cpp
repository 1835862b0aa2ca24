// KernelKey.cpp - the bytes that a key is the digest of: every field has a tag and a length before it, so that no two
// requests spell the same bytes.
#include "runtime/KernelKey.h"
#include "llvm/Support/BLAKE3.h"
using namespace logitile;

namespace {
enum class KeyField : uint8_t {
  BuildId,
  Spec,
  Pair,
  Hidden,
  Element,
  Dense,
  Gradient,
  GradientElement,
  Mode,
  Workspace,
  Chunks,
  Accumulate,
  Target,
  Threads,
  Bytes,
  SliceColumns,
  SlicePart,
  SliceSweep,
  Tiles
};

class KeyBuilder {
public:
  void add(KeyField field, std::string_view bytes) {
    addWord(static_cast<uint64_t>(field));
    addWord(bytes.size());
    hasher.update(llvm::StringRef(bytes.data(), bytes.size()));
  }
  void add(KeyField field, int64_t value) {
    addWord(static_cast<uint64_t>(field));
    addWord(sizeof(value));
    addWord(static_cast<uint64_t>(value));
  }
  void add(KeyField field, ElementType type) { add(field, static_cast<int64_t>(type)); }
  std::array<uint8_t, 32> digest() { return hasher.final(); }

private:
  void addWord(uint64_t word) {
    uint8_t bytes[8]; // little-endian, whatever the machine
    for (uint8_t &byte : bytes) {
      byte = static_cast<uint8_t>(word);
      word >>= 8;
    }
    hasher.update(llvm::ArrayRef<uint8_t>(bytes));
  }
  llvm::BLAKE3 hasher;
};
} // namespace

KernelKey KernelKey::of(const Request &request, std::string_view buildId) {
  KeyBuilder builder;
  builder.add(KeyField::BuildId, buildId);
  builder.add(KeyField::Spec, request.spec);
  for (const PairPlan &pair : request.pairs) {
    builder.add(KeyField::Pair, pair.name);
    builder.add(KeyField::Hidden, pair.hidden);
    builder.add(KeyField::Element, pair.element);
  }
  for (const auto &[name, element] : request.dense) {
    builder.add(KeyField::Dense, name);
    builder.add(KeyField::Element, element);
  }
  for (const std::string &name : request.gradients)
    builder.add(KeyField::Gradient, name);
  for (const auto &[name, element] : request.gradientElements) {
    builder.add(KeyField::GradientElement, name);
    builder.add(KeyField::Element, element);
  }
  builder.add(KeyField::Mode, static_cast<int64_t>(request.mode));
  builder.add(KeyField::Workspace, request.workspace);
  builder.add(KeyField::Chunks, request.chunks);
  builder.add(KeyField::Accumulate, request.accumulate);
  builder.add(KeyField::Target, request.target);
  builder.add(KeyField::Threads, request.threads);
  if (request.slice) {
    builder.add(KeyField::SliceColumns, request.slice->columns);
    builder.add(KeyField::SlicePart, static_cast<int64_t>(request.slice->part));
    builder.add(KeyField::SliceSweep, request.slice->sweep);
  }
  if (!request.tiles.empty())
    builder.add(KeyField::Tiles, request.tiles);
  KernelKey key;
  key.digest = builder.digest();
  return key;
}

KernelKey KernelKey::ofBytes(std::string_view bytes) {
  KeyBuilder builder;
  builder.add(KeyField::Bytes, bytes);
  KernelKey key;
  key.digest = builder.digest();
  return key;
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
