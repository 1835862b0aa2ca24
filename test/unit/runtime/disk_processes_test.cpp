// disk_processes_test.cpp - a folder that many processes use at once, and processes that are killed
// while they publish. What one process finds and refuses is in runtime_disk_cache_test.cpp.
#include "test/unit/runtime/DiskCaches.h"
#include "gtest/gtest.h"
#include <csignal>
#include <random>
#include <sys/wait.h>
#include <unistd.h>
using namespace logitile;
using namespace logitile::test;

namespace {
constexpr int kProcesses = 16;

/// Code that belongs to this name and no other, in several versions, larger than what a disk writes
/// at once.
std::string codeOf(const std::string &name, int version) {
  std::string code;
  while (code.size() < 20000 + 5000 * static_cast<size_t>(version % 3))
    code += name + ",";
  return code;
}
bool isCodeOf(const std::string &code, const std::string &name) {
  return code == codeOf(name, 0) || code == codeOf(name, 1) || code == codeOf(name, 2);
}

/// Publishes and looks up in turn. How many of the plans found were wrong.
int useCache(const std::string &folder, int64_t bytes, int process, int names, int rounds) {
  std::mt19937 random(process);
  DiskCache cache({folder, bytes});
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string name = "program " + std::to_string(random() % names);
    std::string found = find(cache, name, 5);
    wrong += !found.empty() && !isCodeOf(found, name);
    if (found.empty() || round % 4 == 0)
      cache.publish(keyOf(name), smallPlan(0, 100, codeOf(name, round)));
  }
  return wrong + static_cast<int>(cache.takeNotices().size());
}

/// Runs it in many processes at once; how many of them saw something wrong.
int useByMany(const std::string &folder, int64_t bytes, int names, int rounds) {
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    pid_t child = fork();
    if (child == 0)
      _exit(useCache(folder, bytes, process, names, rounds) == 0 ? 0 : 1);
    children.push_back(child);
  }
  int wrong = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status != 0;
  }
  return wrong;
}

int64_t bytesIn(const std::string &folder) {
  int64_t bytes = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    bytes += entry.is_regular_file() ? static_cast<int64_t>(entry.file_size()) : 0;
  return bytes;
}
} // namespace

TEST(DiskCacheProcesses, SixteenOnOneKey) {
  TemporaryFolder temporary;
  EXPECT_EQ(useByMany(temporary.path, 1 << 30, /*names=*/1, /*rounds=*/200), 0);
  EXPECT_EQ(DiskCache::list(temporary.path, "")->size(), 1u);
}
TEST(DiskCacheProcesses, SixteenOnManyKeys) {
  TemporaryFolder temporary;
  EXPECT_EQ(useByMany(temporary.path, 1 << 30, /*names=*/50, /*rounds=*/200), 0);
  EXPECT_EQ(DiskCache::list(temporary.path, "")->size(), 50u);
}
TEST(DiskCacheProcesses, SixteenWithoutRoom) {
  TemporaryFolder temporary;
  constexpr int64_t kRoom = 500000; // of about 1.3 million
  EXPECT_EQ(useByMany(temporary.path, kRoom, /*names=*/50, /*rounds=*/100), 0);
  DiskCache last({temporary.path, kRoom});
  last.publish(keyOf("last"), smallPlan(0, 100));
  EXPECT_LE(bytesIn(temporary.path), kRoom);
  EXPECT_EQ(find(last, "last", 5), "code");
}

TEST(DiskCacheProcesses, KilledWhilePublishing) {
  TemporaryFolder temporary;
  std::mt19937 random(5);
  int found = 0, leftBehind = 0;
  for (int round = 0; round < 250 || (leftBehind == 0 && round < 5000); ++round) { // until one dies while it writes
    pid_t child = fork();
    if (child == 0) {
      DiskCache cache({temporary.path});
      for (int version = round;; ++version) {
        std::string name = "program " + std::to_string(version % 7);
        cache.publish(keyOf(name), smallPlan(0, 100, codeOf(name, version)));
      }
    }
    usleep(500 + random() % 6000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    DiskCache cache({temporary.path});
    for (int i = 0; i < 7; ++i) {
      std::string name = "program " + std::to_string(i), code = find(cache, name, 5);
      ASSERT_TRUE(code.empty() || isCodeOf(code, name)) << name << " after round " << round;
      found += !code.empty();
    }
    ASSERT_EQ(cache.takeNotices(), std::vector<std::string>()) << "after round " << round;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(temporary.path))
      leftBehind += CacheFolder::isTemporary(entry.path().filename().string());
  }
  EXPECT_GT(found, 250);
  EXPECT_GT(leftBehind, 0) << "no process was killed while it wrote";
  DiskCache({temporary.path}).publish(keyOf("last"), smallPlan(0, 100));
  for (const auto &entry : std::filesystem::recursive_directory_iterator(temporary.path))
    EXPECT_FALSE(CacheFolder::isTemporary(entry.path().filename().string())) << entry.path();
}
