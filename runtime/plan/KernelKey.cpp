// KernelKey.cpp - the bytes that a key is the digest of: every field has a tag and a length before it, so that no two
// requests spell the same bytes.
#include "runtime/plan/KernelKey.h"
#include "runtime/plan/Bytes.h"
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
    writer.number(static_cast<int64_t>(field));
    writer.number(static_cast<int64_t>(bytes.size()));
    writer.bytes += bytes;
  }
  void add(KeyField field, int64_t value) {
    writer.number(static_cast<int64_t>(field));
    writer.number(sizeof(value));
    writer.number(value);
  }
  void add(KeyField field, ElementType type) { add(field, static_cast<int64_t>(type)); }
  std::string bytes() && { return std::move(writer.bytes); }

private:
  ByteWriter writer;
};
} // namespace

std::string logitile::requestBytes(const Request &request, std::string_view buildId) {
  KeyBuilder builder;
  builder.add(KeyField::BuildId, buildId);
  builder.add(KeyField::Spec, request.spec);
  for (const PairPlan &pair : request.pairs) {
    builder.add(KeyField::Pair, pair.name);
    builder.add(KeyField::Hidden, pair.hidden);
    for (ElementType element : {pair.element, pair.hiddenMemory, pair.weightMemory})
      builder.add(KeyField::Element, element);
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
  return std::move(builder).bytes();
}

std::string_view logitile::buildIdOf(std::string_view requestBytes) {
  ByteReader reader(requestBytes);
  bool isThere = reader.number() == static_cast<int64_t>(KeyField::BuildId);
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
  builder.add(KeyField::Bytes, bytes);
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
