// DiskEntry.cpp - the format: a magic word, the checksum of all that follows, a version, the key,
// the bytes of the plan, and native code with its maker. Nothing is read before the checksum is
// verified.
#include "runtime/cache/DiskEntry.h"
#include "runtime/plan/Bytes.h"
#include "runtime/plan/PlanFile.h"
using namespace logitile;

namespace {
constexpr std::string_view kMagic = "logitile entry\n";
constexpr int64_t kVersion = 2;

Status damaged(const std::string &why) { return Status(ErrorCode::Value, why); }
} // namespace

std::string logitile::writeEntry(std::string_view key, const LaunchPlan &plan, const NativeCode &native) {
  ByteWriter body;
  body.number(kVersion);
  body.field(std::string(key));
  body.field(writePlan(plan, {}));
  body.field(native.maker);
  body.field(native.bytes);
  ByteWriter file;
  file.bytes = kMagic;
  file.number(static_cast<int64_t>(checksum(body.bytes)));
  file.bytes += body.bytes;
  return file.bytes;
}

Result<DiskEntry> logitile::readEntry(std::string_view bytes) {
  ByteReader file(bytes);
  if (file.take(kMagic.size()) != kMagic)
    return damaged("it does not start like an entry");
  uint64_t expected = static_cast<uint64_t>(file.number());
  if (!file.isFine || checksum(file.left()) != expected)
    return damaged("its checksum is wrong");
  if (int64_t version = file.number(); version != kVersion)
    return damaged("it has format " + std::to_string(version) + ", not " + std::to_string(kVersion));
  DiskEntry entry;
  file.field(entry.key);
  std::string_view plan = file.take(file.number());
  file.field(entry.native.maker);
  file.field(entry.native.bytes);
  if (!file.isFine || !file.isAtEnd())
    return damaged("its fields do not fit together");
  Result<SavedPlan> saved = readPlan(plan);
  if (!saved.isOk())
    return saved.status();
  entry.plan = std::move(saved->plan);
  return entry;
}
