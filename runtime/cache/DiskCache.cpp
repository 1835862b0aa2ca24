// DiskCache.cpp - addresses of entries, lookup, and removal when there is no room. An entry is
// <folder>/<first two digits of the key>/<key>-<first token count>-<end of the token counts>.plan.
#include "runtime/cache/DiskCache.h"
#include "compiler/Support/SizeText.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <tuple>
using namespace logitile;

namespace {
constexpr size_t kKeyDigits = 64, kShardDigits = 2;
constexpr std::string_view kSuffix = ".plan";
constexpr const char *kRemedy = "; put that right, or let LOGITILE_CACHE_DIR name another folder or be off; until then programs are "
                                "kept in memory only";

struct EntryName {
  std::string key;
  int64_t first = 0, end = 0;

  std::string text() const { return key + "-" + std::to_string(first) + "-" + std::to_string(end) + std::string(kSuffix); }
  static std::optional<EntryName> parse(std::string_view name) {
    if (name.size() < kKeyDigits || !name.ends_with(kSuffix))
      return std::nullopt;
    EntryName result{std::string(name.substr(0, kKeyDigits))};
    name.remove_suffix(kSuffix.size());
    const char *at = name.data() + kKeyDigits, *end = name.data() + name.size();
    for (int64_t *number : {&result.first, &result.end}) {
      if (at == end || *at != '-')
        return std::nullopt;
      auto [next, error] = std::from_chars(at + 1, end, *number);
      if (error != std::errc())
        return std::nullopt;
      at = next;
    }
    return at == end ? std::optional(result) : std::nullopt;
  }
  bool holds(int64_t tokens) const { return first <= tokens && tokens < end; }
};

std::string shardOf(const std::string &key) { return key.substr(0, kShardDigits); }

bool isShard(const std::string &name) {
  return name.size() == kShardDigits && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Visits every file of every shard that is this user's alone.
template <typename Visit> void forEachFile(const CacheFolder &root, Visit visit) {
  for (const std::string &name : root.names()) {
    if (!isShard(name))
      continue;
    Result<CacheFolder> shard = root.openInside(name, CacheFolder::Missing::Leave);
    if (!shard.isOk() || !shard->isOpen())
      continue;
    for (const std::string &file : shard->names())
      visit(name, *shard, file);
  }
}

/// A variable of the environment; "" where it is not there.
std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}
bool isAbsolute(const std::string &path) { return path.starts_with("/"); }

std::string userFolder() {
  constexpr const char *kName = "/logitile";
  if (std::string caches = environment("XDG_CACHE_HOME"); isAbsolute(caches))
    return caches + kName;
  if (std::string home = environment("HOME"); isAbsolute(home))
    return home + "/.cache" + kName;
  return "";
}
} // namespace

Result<std::optional<DiskCache::Options>> DiskCache::fromEnvironment(const char *folder) {
  Options options;
  options.folder = folder ? folder : environment("LOGITILE_CACHE_DIR");
  if (std::string text = environment("LOGITILE_CACHE_BYTES"); !text.empty()) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.bytes);
    if (error != std::errc() || end != text.data() + text.size() || options.bytes < 1)
      return Status(ErrorCode::Value, "LOGITILE_CACHE_BYTES is '" + text + "'; expected a positive number of bytes");
  }
  if (options.folder == "off")
    return std::optional<Options>();
  if (options.folder.empty())
    options.folder = userFolder();
  else if (!isAbsolute(options.folder))
    return Status(ErrorCode::Value,
                  "the folder of the disk cache (LOGITILE_CACHE_DIR) is '" + options.folder + "'; expected an absolute path, or off");
  return options.folder.empty() ? std::optional<Options>() : std::optional(options);
}

// ---- notices ------------------------------------------------------------------------------------

void DiskCache::tell(Trouble trouble, std::string text) {
  std::lock_guard lock(mutex);
  if (!std::exchange(isTold[static_cast<size_t>(trouble)], true))
    notices.push_back("disk cache: " + std::move(text));
}
std::vector<std::string> DiskCache::takeNotices() {
  std::lock_guard lock(mutex);
  return std::exchange(notices, {});
}

// ---- entries ------------------------------------------------------------------------------------

/// Reads one entry and offers its plan. False where it is gone, damaged or somebody else's.
bool DiskCache::takeEntry(const CacheFolder &shard, const std::string &name, const DiskKey &key, int64_t tokens, const Take &take) {
  Result<std::optional<std::string>> bytes = shard.read(name);
  if (!bytes.isOk() && bytes.status().error().code == ErrorCode::Internal) {
    // It may be readable again tomorrow, so it stays.
    tell(Trouble::Reading, bytes.status().error().text + "; the program is compiled instead");
    return false;
  }
  if (bytes.isOk() && !*bytes)
    return false;
  auto offer = [&]() -> Status {
    if (!bytes.isOk())
      return bytes.status();
    Result<DiskEntry> entry = readEntry(**bytes);
    if (!entry.isOk())
      return entry.status();
    if (entry->key != key.bytes)
      return Status(ErrorCode::Value, "it belongs to another program");
    if (tokens < entry->plan.tokensFirst || tokens >= entry->plan.tokensEnd)
      return Status(ErrorCode::Value, "its plan is for other numbers of tokens than its name says");
    return take(std::move(*entry));
  };
  Status status = offer();
  if (status.isOk()) {
    shard.touch(name);
    return true;
  }
  const char *fate = shard.remove(name) ? "; it is removed" : "; it cannot be removed,";
  tell(Trouble::Damage,
       "entry '" + shard.pathOf(name) + "' cannot be used: " + status.error().text + fate + " and the program is compiled again");
  return false;
}

bool DiskCache::find(const DiskKey &key, int64_t tokens, const Take &take) {
  const std::string digest = key.digest.hex();
  Result<CacheFolder> shard = openShard(digest, CacheFolder::Missing::Leave);
  if (!shard.isOk() || !shard->isOpen())
    return false;
  std::vector<EntryName> fitting;
  for (const std::string &name : shard->names())
    if (std::optional<EntryName> entry = EntryName::parse(name); entry && entry->key == digest && entry->holds(tokens))
      fitting.push_back(std::move(*entry));
  std::ranges::sort(fitting, {}, &EntryName::end);
  return std::ranges::any_of(fitting, [&](const EntryName &name) { return takeEntry(*shard, name.text(), key, tokens, take); });
}

Result<CacheFolder> DiskCache::openShard(const std::string &digest, CacheFolder::Missing missing) {
  Result<CacheFolder> folder = CacheFolder::open(options.folder, missing);
  if (folder.isOk() && folder->isOpen())
    folder = folder->openInside(shardOf(digest), missing);
  if (!folder.isOk())
    tell(Trouble::Folder, folder.status().error().text + kRemedy);
  return folder;
}

void DiskCache::publish(const DiskKey &key, const LaunchPlan &plan, const NativeCode &native) {
  std::string bytes = writeEntry(key.bytes, plan, native);
  int64_t size = static_cast<int64_t>(bytes.size());
  if (size > options.bytes)
    return tell(Trouble::Size, "the plan of '" + plan.name + "' has " + sizeText(size) + ", more than the " +
                                   sizeText(options.bytes) + " of the whole cache; raise LOGITILE_CACHE_BYTES");
  EntryName name{key.digest.hex(), plan.tokensFirst, plan.tokensEnd};
  Result<CacheFolder> shard = openShard(name.key, CacheFolder::Missing::Make);
  if (!shard.isOk() || !shard->isOpen())
    return;
  if (Status status = shard->publish(name.text(), bytes); !status.isOk())
    return tell(Trouble::Writing, status.error().text + kRemedy);
  if (isSweepDue(size))
    sweep(name.text());
}

// ---- room ---------------------------------------------------------------------------------------

/// Sweeping looks at every entry, so a process does it for its first entry and then once for a 64th
/// of the room that it filled.
bool DiskCache::isSweepDue(int64_t bytes) {
  std::lock_guard lock(mutex);
  if (isSwept && (unsweptBytes += bytes) < options.bytes / 64)
    return false;
  isSwept = true;
  unsweptBytes = 0;
  return true;
}

/// Removes the entries that were not used for longest, as others may do at the same time, but not
/// the one that just came.
void DiskCache::sweep(const std::string &kept) {
  struct Candidate {
    int64_t lastUse;
    std::string shard, name;
    int64_t bytes;
  };
  Result<CacheFolder> root = CacheFolder::open(options.folder, CacheFolder::Missing::Leave);
  if (!root.isOk() || !root->isOpen())
    return;
  const int64_t now = fileClock();
  std::vector<Candidate> candidates;
  int64_t total = 0;
  forEachFile(*root, [&](const std::string &shard, const CacheFolder &folder, const std::string &name) {
    if (folder.isAbandoned(name))
      folder.remove(name);
    std::optional<CacheFolder::Facts> facts = folder.facts(name);
    if (!facts || !EntryName::parse(name))
      return;
    if (facts->lastUse > now) { // the clock went back: without this it would stay for as long as that
      folder.touch(name);
      facts->lastUse = now;
    }
    total += facts->bytes;
    if (name != kept)
      candidates.push_back({facts->lastUse, shard, name, facts->bytes});
  });
  if (total <= options.bytes)
    return;
  std::ranges::sort(candidates,
                    [](const Candidate &a, const Candidate &b) { return std::tie(a.lastUse, a.name) < std::tie(b.lastUse, b.name); });
  for (const Candidate &candidate : candidates) {
    if (total <= options.bytes - options.bytes / 8) // room for what comes before the next sweep, of other processes too
      return;
    Result<CacheFolder> shard = root->openInside(candidate.shard, CacheFolder::Missing::Leave);
    if (shard.isOk() && shard->isOpen() && shard->remove(candidate.name))
      total -= candidate.bytes;
  }
}

// ---- for people ---------------------------------------------------------------------------------

/// A folder that the user names and that cannot be used.
static Status ofUser(const Status &status) { return Status(ErrorCode::Value, status.error().text); }

Result<std::vector<DiskCache::Listed>> DiskCache::list(const std::string &folder, const std::string &keyPrefix) {
  std::vector<Listed> found;
  Result<CacheFolder> root = CacheFolder::open(folder, CacheFolder::Missing::Leave);
  if (!root.isOk())
    return ofUser(root.status());
  if (!root->isOpen())
    return found;
  forEachFile(*root, [&](const std::string &, const CacheFolder &shard, const std::string &file) {
    std::optional<EntryName> name = EntryName::parse(file);
    std::optional<CacheFolder::Facts> facts = shard.facts(file);
    if (!name || !facts || !name->key.starts_with(keyPrefix))
      return;
    Result<std::optional<std::string>> bytes = shard.read(file);
    if (bytes.isOk() && !*bytes)
      return;
    found.push_back({name->key, shard.pathOf(file), facts->bytes, facts->lastUse,
                     bytes.isOk() ? readEntry(**bytes) : Result<DiskEntry>(bytes.status())});
  });
  std::ranges::sort(found, [](const Listed &a, const Listed &b) { return std::tie(b.lastUse, a.path) < std::tie(a.lastUse, b.path); });
  return found;
}

Result<DiskCache::Removed> DiskCache::clear(const std::string &folder) {
  Removed removed;
  Result<CacheFolder> root = CacheFolder::open(folder, CacheFolder::Missing::Leave);
  if (!root.isOk())
    return ofUser(root.status());
  if (!root->isOpen())
    return removed;
  Status failed;
  forEachFile(*root, [&](const std::string &, const CacheFolder &shard, const std::string &file) {
    bool isEntry = EntryName::parse(file).has_value();
    std::optional<CacheFolder::Facts> facts = shard.facts(file);
    if (!facts || (!isEntry && !shard.isAbandoned(file)))
      return;
    if (!shard.remove(file))
      failed = Status(ErrorCode::Value, "cannot remove '" + shard.pathOf(file) + "': " + std::strerror(errno));
    else if (isEntry)
      removed = {removed.entries + 1, removed.bytes + facts->bytes};
  });
  return failed.isOk() ? Result<Removed>(removed) : Result<Removed>(failed);
}
