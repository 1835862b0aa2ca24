// disk_cache_test.cpp - entries of the disk cache: what is found, what is refused, what goes when
// there is no room. Many processes at once are in runtime_disk_processes_test.cpp; the way through
// an engine is in runtime_engine_test.cpp.
#include "runtime/plan/Bytes.h"
#include "test/unit/runtime/DiskCaches.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
using namespace logitile;
using namespace logitile::test;
namespace fs = std::filesystem;

namespace {
class DiskCacheTest : public testing::Test {
protected:
  TemporaryFolder temporary;
  std::string folder = temporary.path + "/cache/logitile";
  DiskCache cache{{folder}};

  /// Files below the folder, those of killed processes too.
  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    if (fs::exists(folder))
      for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder))
        if (!entry.is_directory())
          result.push_back(entry.path());
    return result;
  }
  fs::path onlyFile() const {
    EXPECT_EQ(files().size(), 1u);
    return files().at(0);
  }
  std::string onlyNotice() {
    std::vector<std::string> notices = cache.takeNotices();
    EXPECT_EQ(notices.size(), 1u);
    return notices.empty() ? "" : notices[0];
  }
};

mode_t modeOf(const fs::path &path) {
  struct stat facts;
  EXPECT_EQ(lstat(path.c_str(), &facts), 0);
  return facts.st_mode & 07777;
}
void setAge(const fs::path &path, double seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  struct timespec times[2] = {now, now};
  times[0].tv_sec = times[1].tv_sec = now.tv_sec - static_cast<time_t>(seconds);
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}
double ageOf(const fs::path &path) {
  struct stat facts;
  EXPECT_EQ(stat(path.c_str(), &facts), 0);
  return static_cast<double>(fileClock()) / 1e9 - static_cast<double>(facts.st_mtim.tv_sec) - 1e-9 * facts.st_mtim.tv_nsec;
}
void write(const fs::path &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }
std::string contents(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
} // namespace

// ---- an entry as bytes --------------------------------------------------------------------------

TEST(DiskEntry, BytesOfBytesAreTheSame) {
  LaunchPlan plan = smallPlan(3, 40);
  std::string bytes = writeEntry("the key", plan);
  Result<DiskEntry> entry = readEntry(bytes);
  ASSERT_TRUE(entry.isOk()) << entry.status().error().text;
  EXPECT_EQ(entry->key, "the key");
  EXPECT_EQ(entry->plan.code, plan.code);
  EXPECT_EQ(entry->native.maker, "");
  EXPECT_EQ(writeEntry(entry->key, entry->plan), bytes);
  bytes = writeEntry("the key", plan, {"a driver", std::string("\0code", 5)});
  entry = readEntry(bytes);
  ASSERT_TRUE(entry.isOk()) << entry.status().error().text;
  EXPECT_EQ(entry->native.maker, "a driver");
  EXPECT_EQ(entry->native.bytes, std::string("\0code", 5));
  EXPECT_EQ(writeEntry(entry->key, entry->plan, entry->native), bytes);
}
TEST(DiskEntry, EveryTruncationIsRefused) {
  std::string bytes = writeEntry("the key", smallPlan(0, 9), {"driver", "native"});
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(readEntry(std::string_view(bytes).substr(0, size)).isOk()) << size;
  EXPECT_FALSE(readEntry(bytes + '\0').isOk());
}
TEST(DiskEntry, EveryFlippedBitIsRefused) {
  std::string bytes = writeEntry("the key", smallPlan(0, 9), {"driver", "native"});
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= 1 << bit % 8;
    ASSERT_FALSE(readEntry(bytes).isOk()) << bit;
    bytes[bit / 8] ^= 1 << bit % 8;
  }
  EXPECT_TRUE(readEntry(bytes).isOk());
}
/// The bytes of fields that the writer would not write, with a right checksum before them.
static std::string sealed(const std::string &body) {
  ByteWriter file;
  file.bytes = "logitile entry\n";
  file.number(static_cast<int64_t>(checksum(body)));
  return file.bytes + body;
}
static std::string reason(const std::string &bytes) { return readEntry(bytes).status().error().text; }

TEST(DiskEntry, WrongFieldsWithARightChecksumAreRefused) {
  std::string good = writeEntry("the key", smallPlan(0, 9)), body = good.substr(15 + 8);
  ASSERT_EQ(sealed(body), good);
  EXPECT_EQ(reason(sealed("")), "it has format 0, not 2");
  std::string version = body;
  version[0] = 7;
  EXPECT_EQ(reason(sealed(version)), "it has format 7, not 2");
  std::string key = body;
  key[8] = 127; // its length
  EXPECT_NE(reason(sealed(key)), "");
  std::string length = body;
  length[8 + 8 + 7 + 5] = 1; // of the plan: more than there is
  EXPECT_EQ(reason(sealed(length)), "its fields do not fit together");
  EXPECT_EQ(reason(sealed(body + "x")), "its fields do not fit together");
  std::string plan = body;
  plan[plan.size() - 1 - 16] ^= 1; // before the two lengths of native code
  EXPECT_NE(reason(sealed(plan)).find("their checksum is wrong"), std::string::npos) << "the plan has one of its own";
}
TEST(DiskEntry, TextsSayWhy) {
  EXPECT_EQ(reason("hello"), "it does not start like an entry");
  EXPECT_EQ(reason("logitile entry\n1234"), "its checksum is wrong");
}

// ---- finding ------------------------------------------------------------------------------------

TEST_F(DiskCacheTest, WhatWasKeptIsFound) {
  LaunchPlan plan = smallPlan(5, 50);
  cache.publish(keyOf("a"), plan);
  EXPECT_EQ(find(cache, "a", 5), plan.code);
  EXPECT_EQ(find(cache, "a", 49), plan.code);
  EXPECT_EQ(find(cache, "a", 4), "");
  EXPECT_EQ(find(cache, "a", 50), "");
  EXPECT_EQ(find(cache, "b", 5), "");
  DiskCache another({folder});
  EXPECT_EQ(find(another, "a", 5), plan.code);
  EXPECT_TRUE(cache.takeNotices().empty());
}
TEST_F(DiskCacheTest, ThePlanForFewerTokensComesFirst) {
  cache.publish(keyOf("a"), smallPlan(0, 100, "hundred"));
  cache.publish(keyOf("a"), smallPlan(0, 1000, "thousand"));
  EXPECT_EQ(find(cache, "a", 10), "hundred");
  EXPECT_EQ(find(cache, "a", 100), "thousand");
}
TEST_F(DiskCacheTest, APlanForTheSameTokensIsReplaced) {
  cache.publish(keyOf("a"), smallPlan(0, 100, "first"));
  cache.publish(keyOf("a"), smallPlan(0, 100, "better"));
  EXPECT_EQ(find(cache, "a", 10), "better");
  onlyFile();
}
TEST_F(DiskCacheTest, LookingMakesNoFolder) {
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_FALSE(fs::exists(temporary.path + "/cache"));
  EXPECT_TRUE(cache.takeNotices().empty());
}
TEST_F(DiskCacheTest, FoldersAndFilesAreTheUsersOwn) {
  mode_t before = umask(0);
  cache.publish(keyOf("a"), smallPlan(0, 100));
  umask(before);
  EXPECT_EQ(modeOf(temporary.path + "/cache"), 0700u);
  EXPECT_EQ(modeOf(folder), 0700u);
  EXPECT_EQ(modeOf(onlyFile().parent_path()), 0700u);
  EXPECT_EQ(modeOf(onlyFile()), 0600u);
}

// ---- damage -------------------------------------------------------------------------------------

TEST_F(DiskCacheTest, ADamagedEntryIsOneNoticeAndGone) {
  for (const char *name : {"a", "b"}) {
    cache.publish(keyOf(name), smallPlan(0, 100));
    fs::path file = onlyFile();
    std::string bytes = contents(file);
    bytes[bytes.size() / 2] ^= 16;
    write(file, bytes);
    EXPECT_EQ(find(cache, name, 5), "");
    EXPECT_TRUE(files().empty());
    if (name == std::string("a"))
      EXPECT_EQ(onlyNotice(), "disk cache: entry '" + file.string() +
                                  "' cannot be used: its checksum is wrong; it is removed and the program is compiled again");
    else
      EXPECT_TRUE(cache.takeNotices().empty()) << "each kind of trouble is told once";
  }
}
TEST_F(DiskCacheTest, DamageAnywhereInAFileIsAMiss) {
  cache.publish(keyOf("a"), smallPlan(0, 100, "code"));
  fs::path file = onlyFile();
  const std::string good = contents(file);
  for (size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] ^= 1 << at % 8;
    write(file, bad);
    ASSERT_EQ(find(cache, "a", 5), "") << at;
    write(file, good.substr(0, at));
    chmod(file.c_str(), 0600);
    ASSERT_EQ(find(cache, "a", 5), "") << at;
  }
  write(file, good);
  chmod(file.c_str(), 0600);
  EXPECT_EQ(find(cache, "a", 5), "code");
}
TEST_F(DiskCacheTest, TheWholeKeyIsCompared) {
  DiskKey liar = keyOf("a");
  liar.bytes = "what another program asks for";
  cache.publish(liar, smallPlan(0, 100));
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_NE(onlyNotice().find("it belongs to another program"), std::string::npos);
}
TEST_F(DiskCacheTest, TheNameOfAFileProvesNothing) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  fs::path file = onlyFile(), other = file;
  fs::rename(file, other.replace_filename(keyOf("a").digest.hex() + "-100-200.plan"));
  EXPECT_EQ(find(cache, "a", 150), "");
  EXPECT_NE(onlyNotice().find("its plan is for other numbers of tokens than its name says"), std::string::npos);
}
TEST_F(DiskCacheTest, WhatIsRefusedCountsAsDamaged) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  EXPECT_FALSE(cache.find(keyOf("a"), 5, [](const DiskEntry &) { return Status(ErrorCode::Internal, "it does not load"); }));
  EXPECT_NE(onlyNotice().find("it does not load"), std::string::npos);
  EXPECT_TRUE(files().empty());
}
TEST_F(DiskCacheTest, OtherFilesAreLeftAlone) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  fs::path shard = onlyFile().parent_path();
  for (const char *name : {"notes.txt", "a.plan", "-1-2.plan"})
    write(shard / name, "hello");
  write(shard / (keyOf("a").digest.hex() + "-1.plan"), "hello");
  write(shard / (keyOf("a").digest.hex() + "-1-2-3.plan"), "hello");
  EXPECT_NE(find(cache, "a", 5), "");
  EXPECT_EQ(files().size(), 6u);
  EXPECT_EQ(DiskCache::clear(folder)->entries, 1);
  EXPECT_EQ(files().size(), 5u);
}

// ---- owners and modes ---------------------------------------------------------------------------

TEST_F(DiskCacheTest, AFolderThatOthersMayWriteIsNotUsed) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  for (mode_t mode : {0770, 0702}) {
    DiskCache fresh({folder});
    chmod(folder.c_str(), mode);
    EXPECT_EQ(find(fresh, "a", 5), "");
    fresh.publish(keyOf("b"), smallPlan(0, 100));
    EXPECT_EQ(files().size(), 1u);
    std::string text = mode == 0770 ? "0770" : "0702";
    EXPECT_EQ(fresh.takeNotices(),
              std::vector<std::string>{"disk cache: '" + folder + "' has mode " + text +
                                       ", but only its owner may write there (chmod go-w); put that right, or let LOGITILE_CACHE_DIR name "
                                       "another folder or be off; until then programs are kept in memory only"});
    EXPECT_FALSE(DiskCache::list(folder, "").isOk());
    EXPECT_FALSE(DiskCache::clear(folder).isOk());
  }
  chmod(folder.c_str(), 0755); // others may read
  EXPECT_NE(find(cache, "a", 5), "");
}
TEST_F(DiskCacheTest, NorIsAPartOfIt) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  chmod(onlyFile().parent_path().c_str(), 0777);
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_NE(onlyNotice().find("has mode 0777"), std::string::npos);
  EXPECT_TRUE(DiskCache::list(folder, "")->empty());
}
TEST_F(DiskCacheTest, NorAFileThatOthersMayWrite) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  chmod(onlyFile().c_str(), 0620);
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_NE(onlyNotice().find("has mode 0620"), std::string::npos);
  EXPECT_TRUE(files().empty());
}
TEST_F(DiskCacheTest, FilesOfOthersAreNotRun) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  cache.publish(keyOf("a"), smallPlan(0, 100));
  ASSERT_EQ(chown(onlyFile().c_str(), 12345, -1), 0);
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_NE(onlyNotice().find("belongs to user 12345, not to user 0"), std::string::npos);
  ASSERT_EQ(chown(folder.c_str(), 12345, -1), 0);
  cache.publish(keyOf("a"), smallPlan(0, 100));
  EXPECT_TRUE(files().empty());
  EXPECT_NE(onlyNotice().find("'" + folder + "' belongs to user 12345"), std::string::npos);
}
TEST_F(DiskCacheTest, LinksAreNotFollowed) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  fs::path file = onlyFile(), elsewhere = temporary.path + "/elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_NE(onlyNotice().find("is a link"), std::string::npos);
  EXPECT_TRUE(fs::exists(elsewhere));
  fs::path shard = file.parent_path();
  fs::rename(shard, temporary.path + "/shard");
  fs::create_directory_symlink(temporary.path + "/shard", shard);
  cache.publish(keyOf("a"), smallPlan(0, 100));
  EXPECT_TRUE(fs::is_empty(temporary.path + "/shard"));
  EXPECT_NE(onlyNotice().find("cannot open folder"), std::string::npos);
}
TEST_F(DiskCacheTest, AHugeFileIsNotRead) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  fs::resize_file(onlyFile(), uintmax_t(1) << 40); // without blocks on disk
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_NE(onlyNotice().find("more than any program"), std::string::npos);
}
TEST_F(DiskCacheTest, APipeDoesNotHoldACallUp) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  fs::path file = onlyFile();
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(find(cache, "a", 5), "");
  EXPECT_NE(onlyNotice().find("is no file"), std::string::npos);
}

// ---- no room, no right --------------------------------------------------------------------------

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeIsOneNotice) {
  write(temporary.path + "/cache", "a file");
  for (const char *name : {"a", "b"})
    cache.publish(keyOf(name), smallPlan(0, 100));
  EXPECT_NE(onlyNotice().find("'" + folder + "': Not a directory"), std::string::npos);
}
TEST_F(DiskCacheTest, AFullDiskIsOneNoticeAndLeavesNothing) {
  cache.publish(keyOf("a"), smallPlan(0, 100));
  struct rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 100;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  for (const char *name : {"b", "c"})
    cache.publish(keyOf(name), smallPlan(0, 100));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(onlyNotice().find("File too large; put that right"), std::string::npos);
  onlyFile();
  cache.publish(keyOf("b"), smallPlan(0, 100));
  EXPECT_NE(find(cache, "b", 5), "") << "there may be room later";
}
TEST_F(DiskCacheTest, AReadOnlyFolderIsReadAndOneNotice) {
  constexpr uid_t kNobody = 65534;
  cache.publish(keyOf("a"), smallPlan(0, 100));
  fs::path shard = onlyFile().parent_path();
  const bool isRoot = geteuid() == 0; // who may write everywhere
  for (const fs::path &path : {fs::path(temporary.path), fs::path(folder).parent_path(), onlyFile(), shard, fs::path(folder)}) {
    chmod(path.c_str(), path == onlyFile() ? 0400 : 0500);
    if (isRoot)
      ASSERT_EQ(chown(path.c_str(), kNobody, -1), 0);
  }
  if (isRoot)
    ASSERT_EQ(seteuid(kNobody), 0);
  std::string found = find(cache, "a", 5);
  for (const char *name : {"b", "c"})
    cache.publish(keyOf(name), smallPlan(0, 100));
  std::vector<std::string> notices = cache.takeNotices();
  if (isRoot)
    ASSERT_EQ(seteuid(0), 0);
  for (const fs::path &path : {fs::path(temporary.path), fs::path(folder).parent_path(), fs::path(folder), shard})
    chmod(path.c_str(), 0700);
  EXPECT_EQ(found, "code");
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("Permission denied; put that right"), std::string::npos) << notices[0];
}
TEST_F(DiskCacheTest, AnEntryLargerThanTheCacheIsNotKept) {
  DiskCache small({folder, 3000});
  small.publish(keyOf("a"), smallPlan(0, 100, std::string(10000, 'x')));
  EXPECT_TRUE(files().empty());
  std::vector<std::string> notices = small.takeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("more than the 3.0 KiB (3000 bytes) of the whole cache; raise LOGITILE_CACHE_BYTES"), std::string::npos);
}

class DiskCacheRoomTest : public DiskCacheTest {
protected:
  static constexpr int64_t kCode = 100000;
  DiskCache five{{folder, 5 * kCode + 50000}};

  fs::path publish(const char *name) {
    five.publish(keyOf(name), smallPlan(0, 100, std::string(kCode, 'x')));
    return pathOf(name);
  }
  fs::path pathOf(const char *name) const {
    std::string key = keyOf(name).digest.hex();
    return fs::path(folder) / key.substr(0, 2) / (key + "-0-100.plan");
  }
  bool isThere(const char *name) const { return fs::exists(pathOf(name)); }
};

TEST_F(DiskCacheRoomTest, WhatWasNotUsedForLongestGoes) {
  double age = 1000;
  for (const char *name : {"a", "b", "c", "d", "e"})
    setAge(publish(name), age -= 100);
  EXPECT_EQ(files().size(), 5u);
  EXPECT_NE(find(five, "a", 5), "");
  publish("f"); // down to seven eighths: four
  EXPECT_TRUE(isThere("a"));
  EXPECT_FALSE(isThere("b"));
  EXPECT_FALSE(isThere("c"));
  EXPECT_TRUE(isThere("d"));
  EXPECT_TRUE(isThere("e"));
  EXPECT_TRUE(isThere("f"));
}
TEST_F(DiskCacheRoomTest, WhatJustCameStays) {
  for (const char *name : {"a", "b", "c", "d", "e"})
    publish(name);
  for (const char *name : {"a", "b", "c", "d", "e"})
    setAge(pathOf(name), -1000); // from the future: all look younger than what comes now
  publish("f");
  EXPECT_TRUE(isThere("f"));
  EXPECT_EQ(files().size(), 4u);
}
TEST_F(DiskCacheRoomTest, AClockThatWentBackDoesNotKeepEntriesForEver) {
  setAge(publish("a"), -1e7);
  setAge(publish("b"), 300);
  EXPECT_LE(std::abs(ageOf(pathOf("a"))), 60) << "from the future: taken for used now";
  for (const char *name : {"c", "d", "e"})
    setAge(publish(name), 200);
  setAge(pathOf("a"), 400); // time goes on
  publish("f");
  EXPECT_FALSE(isThere("a"));
  EXPECT_FALSE(isThere("b"));
  EXPECT_EQ(files().size(), 4u);
}
TEST_F(DiskCacheRoomTest, ASmallerLimitShrinksTheCache) {
  for (const char *name : {"a", "b", "c", "d", "e"})
    publish(name);
  DiskCache({folder, 250000}).publish(keyOf("f"), smallPlan(0, 100));
  EXPECT_LE(files().size(), 3u);
  EXPECT_TRUE(isThere("f"));
}
TEST_F(DiskCacheRoomTest, FilesOfKilledProcessesGo) {
  fs::path shard = publish("a").parent_path();
  std::string dead = "tmp-999999999-1", own = "tmp-" + std::to_string(getpid()) + "-";
  write(shard / dead, "half");
  write(shard / "tmp-x", "half");
  for (auto [suffix, age] : {std::pair("1", 10), {"2", 7200}, {"3", -7200}}) {
    write(shard / (own + suffix), "half");
    setAge(shard / (own + suffix), age);
  }
  DiskCache({folder}).publish(keyOf("b"), smallPlan(0, 100));
  EXPECT_FALSE(fs::exists(shard / dead));
  EXPECT_FALSE(fs::exists(shard / "tmp-x"));
  EXPECT_TRUE(fs::exists(shard / (own + "1"))) << "its process still writes";
  EXPECT_FALSE(fs::exists(shard / (own + "2")));
  EXPECT_FALSE(fs::exists(shard / (own + "3")));
}

// ---- for people ---------------------------------------------------------------------------------

TEST_F(DiskCacheTest, ListsShowTheLastUsedFirstAndDamage) {
  EXPECT_TRUE(DiskCache::list(folder, "")->empty());
  cache.publish(keyOf("a"), smallPlan(0, 100));
  setAge(onlyFile(), 100);
  write(onlyFile(), "hello");
  setAge(onlyFile(), 100);
  cache.publish(keyOf("b"), smallPlan(3, 100));
  std::vector<DiskCache::Listed> entries = *DiskCache::list(folder, "");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].key, keyOf("b").digest.hex());
  EXPECT_EQ(entries[0].entry->plan.tokensFirst, 3);
  EXPECT_EQ(entries[1].bytes, 5);
  EXPECT_EQ(entries[1].entry.status().error().text, "it does not start like an entry");
  EXPECT_EQ(DiskCache::list(folder, keyOf("a").digest.hex().substr(0, 9))->size(), 1u);
  Result<DiskCache::Removed> removed = DiskCache::clear(folder);
  EXPECT_EQ(removed->entries, 2);
  EXPECT_EQ(removed->bytes, 5 + entries[0].bytes);
  EXPECT_TRUE(files().empty());
}

// ---- the environment ----------------------------------------------------------------------------

namespace {
/// Variables that are what the test says, and afterwards what they were.
class DiskCacheEnvironment : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : kNames) {
      const char *value = std::getenv(name);
      before.push_back(value ? std::optional<std::string>(value) : std::nullopt);
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (size_t i = 0; i < std::size(kNames); ++i)
      before[i] ? setenv(kNames[i], before[i]->c_str(), 1) : unsetenv(kNames[i]);
  }
  static std::string folder() {
    Result<std::optional<DiskCache::Options>> options = DiskCache::fromEnvironment(nullptr);
    return !options.isOk() ? options.status().error().text : *options ? (*options)->folder : "none";
  }

private:
  static constexpr const char *kNames[] = {"LOGITILE_CACHE_DIR", "LOGITILE_CACHE_BYTES", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> before;
};
} // namespace

TEST_F(DiskCacheEnvironment, NamesTheFolder) {
  EXPECT_EQ(folder(), "none");
  setenv("HOME", "/there", 1);
  EXPECT_EQ(folder(), "/there/.cache/logitile");
  setenv("XDG_CACHE_HOME", "caches", 1);
  EXPECT_EQ(folder(), "/there/.cache/logitile") << "its own rules: relative ones are ignored";
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(folder(), "/caches/logitile");
  setenv("LOGITILE_CACHE_DIR", "", 1);
  EXPECT_EQ(folder(), "/caches/logitile");
  setenv("LOGITILE_CACHE_DIR", "/mine", 1);
  EXPECT_EQ(folder(), "/mine");
  setenv("LOGITILE_CACHE_DIR", "off", 1);
  EXPECT_EQ(folder(), "none");
  setenv("LOGITILE_CACHE_DIR", "mine", 1);
  EXPECT_EQ(folder(), "the folder of the disk cache (LOGITILE_CACHE_DIR) is 'mine'; expected an absolute path, or off");
}
TEST_F(DiskCacheEnvironment, GivesTheRoom) {
  auto bytes = [] { return (*DiskCache::fromEnvironment("/mine"))->bytes; };
  EXPECT_EQ(bytes(), int64_t(1) << 30);
  setenv("LOGITILE_CACHE_BYTES", "4096", 1);
  EXPECT_EQ(bytes(), 4096);
  for (const char *wrong : {"0", "-1", "1e9", "1GiB", " 5", "99999999999999999999"}) {
    setenv("LOGITILE_CACHE_BYTES", wrong, 1);
    EXPECT_EQ(folder(), "LOGITILE_CACHE_BYTES is '" + std::string(wrong) + "'; expected a positive number of bytes");
  }
}
