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
  std::string bytes; // the bytes of which 'digest' is the digest
};

class DiskCache {
public:
  struct Options {
    std::string folder; // an absolute path
    int64_t bytes = int64_t(1) << 30;
  };
  /// The options from LOGITILE_CACHE_DIR and LOGITILE_CACHE_BYTES. Without the first, the folder is
  /// in the user's folder for caches. If 'folder' is not null, it replaces LOGITILE_CACHE_DIR. None
  /// if the cache is off or there is no such folder.
  static Result<std::optional<Options>> fromEnvironment(const char *folder);

  explicit DiskCache(Options options) : options(std::move(options)) {}

  /// Calls 'take' with the plans of 'key' that serve 'tokens' tokens, until it returns no error.
  /// The plan that begins at the fewest tokens comes first. A plan for which 'take' returns an
  /// error counts as damaged.
  using Take = std::function<Status(DiskEntry)>;
  bool find(const DiskKey &key, int64_t tokens, const Take &take);
  /// Stores a plan. It replaces a plan for the same interval of tokens. In this way, native code is
  /// added to a stored plan later.
  void publish(const DiskKey &key, const LaunchPlan &plan, const NativeCode &native = {});
  /// Texts for the user about problems since the last call. Each kind of problem is told only once.
  std::vector<std::string> takeNotices();

  /// An entry as it is shown to users.
  struct Listed {
    std::string key; // 64 hexadecimal digits
    std::string path;
    int64_t bytes;
    int64_t lastUse; // as fileClock
    Result<DiskEntry> entry;
  };
  /// All entries whose keys begin with 'keyPrefix'. The most recently used entry comes first. An
  /// error if the folder cannot be used.
  static Result<std::vector<Listed>> list(const std::string &folder, const std::string &keyPrefix);
  struct Removed {
    int64_t entries = 0, bytes = 0;
  };
  /// Removes all entries, and the unfinished files of killed processes.
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
  int64_t unsweptBytes = 0; // published since the last sweep
};
} // namespace logitile
