// DiskCache.h - compiled plans that outlive the process: files in a folder that many processes
// share. The oldest are removed when there is no room. Any problem leads to a notice and a miss,
// never to an error.
#pragma once
#include "runtime/cache/CacheFolder.h"
#include "runtime/cache/DiskEntry.h"
#include "runtime/support/ForkGuard.h"
#include "runtime/plan/KernelKey.h"
#include <functional>

namespace logitile {
/// Names the entries of one program: one for each interval of tokens.
struct DiskKey {
  KernelKey digest;
  std::string bytes; // what it is the digest of
};

class DiskCache {
public:
  struct Options {
    std::string folder; // an absolute path
    int64_t bytes = int64_t(1) << 30;
  };
  /// What LOGITILE_CACHE_DIR and LOGITILE_CACHE_BYTES say, and else the user's folder for caches;
  /// nothing where the cache is off or there is no such folder. 'folder' takes the place of the
  /// first unless it is null.
  static Result<std::optional<Options>> fromEnvironment(const char *folder);

  explicit DiskCache(Options options) : options(std::move(options)) {}

  /// Gives the plans of 'key' for 'tokens' tokens to 'take', that for the fewest tokens first,
  /// until it takes one. What it refuses counts as damaged.
  using Take = std::function<Status(DiskEntry)>;
  bool find(const DiskKey &key, int64_t tokens, const Take &take);
  /// Keeps a plan. One that is there for the same tokens is replaced: so native code comes to it
  /// later.
  void publish(const DiskKey &key, const LaunchPlan &plan, const NativeCode &native = {});
  /// What went wrong since the last time, as texts for the user: each kind of trouble once.
  std::vector<std::string> takeNotices();

  /// An entry as people see it.
  struct Listed {
    std::string key; // 64 hexadecimal digits
    std::string path;
    int64_t bytes;
    int64_t lastUse; // as fileClock
    Result<DiskEntry> entry;
  };
  /// All entries whose keys start so, the last used first. An error where the folder is refused.
  static Result<std::vector<Listed>> list(const std::string &folder, const std::string &keyPrefix);
  struct Removed {
    int64_t entries = 0, bytes = 0;
  };
  /// Removes all entries, and what killed processes left behind.
  static Result<Removed> clear(const std::string &folder);

private:
  enum class Trouble : uint8_t { Folder, Damage, Reading, Writing, Size };
  static constexpr size_t kTroubles = 5;

  Result<CacheFolder> openShard(const std::string &digest, CacheFolder::Missing missing);
  bool takeEntry(const CacheFolder &shard, const std::string &name, const DiskKey &key, int64_t tokens, const Take &take);
  bool isSweepDue(int64_t bytes);
  void sweep(const std::string &kept);
  void tell(Trouble trouble, std::string text);

  const Options options;
  ForkSafeMutex mutex;
  std::vector<std::string> notices;
  bool isTold[kTroubles] = {};
  bool isSwept = false;
  int64_t unsweptBytes = 0; // published since
};
} // namespace logitile
