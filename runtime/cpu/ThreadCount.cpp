// ThreadCount.cpp - what the user, the cores of this process and its control groups say about the
// number of threads.
#include "runtime/cpu/ThreadCount.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <thread>
#include <vector>
using namespace logitile;

// ---- quotas of control groups -------------------------------------------------------------------

namespace {
/// A hierarchy of control groups that limits CPU time, and the group of this process in it.
struct Hierarchy {
  bool isVersion2 = false;
  std::string mountPoint, mountedGroup, group;
};

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}
bool hasCpu(const std::string &list) { return std::ranges::count(split(list, ','), "cpu") > 0; }

/// Where the groups of a version are mounted, by a line of mountinfo:
/// "31 23 0:26 /docker/7f /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu,cpuacct".
bool readMount(const std::string &line, Hierarchy &found) {
  size_t dash = line.find(" - ");
  if (dash == std::string::npos)
    return false;
  std::vector<std::string> before = split(line.substr(0, dash), ' '), after = split(line.substr(dash + 3), ' ');
  if (before.size() < 5 || after.size() < 3 || after[0] != (found.isVersion2 ? "cgroup2" : "cgroup"))
    return false;
  if (!found.isVersion2 && !hasCpu(after[2]))
    return false;
  found.mountedGroup = before[3];
  found.mountPoint = before[4];
  return true;
}

/// The group of this process, by a line of /proc/self/cgroup: "0::/user.slice" in version 2,
/// "4:cpu,cpuacct:/docker/7f" in version 1.
bool readGroup(const std::string &line, Hierarchy &found) {
  size_t first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos)
    return false;
  std::string controllers = line.substr(first + 1, second - first - 1);
  if (found.isVersion2 ? !controllers.empty() : !hasCpu(controllers))
    return false;
  found.group = line.substr(second + 1);
  return true;
}

template <typename Read> bool anyLine(const std::string &path, Read read) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (read(line))
      return true;
  return false;
}

/// Cores that one group may keep busy; none where it has no limit.
std::optional<double> limitOf(const std::string &folder, bool isVersion2) {
  double quota = 0, period = 0;
  if (isVersion2) { // "max 100000" or "150000 100000"
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else { // -1 for no limit
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

/// The smallest limit of the group and of those that it is in, as far as they can be seen.
std::optional<double> limitOf(const std::string &root, const Hierarchy &hierarchy) {
  std::string group = hierarchy.group;
  if (hierarchy.mountedGroup != "/" && group.starts_with(hierarchy.mountedGroup))
    group = group.substr(hierarchy.mountedGroup.size());
  std::optional<double> least;
  for (;; group.resize(group.find_last_of('/'))) {
    while (group.ends_with('/'))
      group.pop_back();
    std::optional<double> limit = limitOf(root + hierarchy.mountPoint + group, hierarchy.isVersion2);
    if (limit)
      least = std::min(*limit, least.value_or(*limit));
    if (group.find('/') == std::string::npos)
      return least;
  }
}
} // namespace

std::optional<int> logitile::quotaOfCores(const std::string &root) {
  std::optional<double> least;
  for (bool isVersion2 : {true, false}) { // a machine may have both, but only one limits CPU time
    Hierarchy found{isVersion2, {}, {}, {}};
    bool isThere = anyLine(root + "/proc/self/mountinfo", [&](const std::string &line) { return readMount(line, found); }) &&
                   anyLine(root + "/proc/self/cgroup", [&](const std::string &line) { return readGroup(line, found); });
    std::optional<double> limit = isThere ? limitOf(root, found) : std::nullopt;
    if (limit)
      least = std::min(*limit, least.value_or(*limit));
  }
  if (!least)
    return std::nullopt;
  return static_cast<int>(std::min(*least + 0.999, 1e6)); // rounded up, where it is more than noise
}

// ---- all together -------------------------------------------------------------------------------

static int coresOfProcess() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
    return CPU_COUNT(&cores);
  return static_cast<int>(std::thread::hardware_concurrency());
}

Result<int> logitile::chooseThreads(int wanted) {
  constexpr int kMost = 1024;
  if (const char *text = std::getenv("LOGITILE_NUM_THREADS"); text && *text) {
    int count = 0;
    auto [end, error] = std::from_chars(text, text + std::strlen(text), count);
    if (error != std::errc() || *end || count < 1 || count > kMost)
      return Status(ErrorCode::Value,
                    "LOGITILE_NUM_THREADS is '" + std::string(text) + "'; it must be a number from 1 to " + std::to_string(kMost));
    return count;
  }
  static const std::optional<int> quota = quotaOfCores(); // every call asks, and files are slow
  int count = wanted > 0 ? wanted : coresOfProcess();
  return std::clamp(std::min(count, quota.value_or(count)), 1, kMost);
}
