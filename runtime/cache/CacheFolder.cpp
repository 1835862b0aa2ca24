// CacheFolder.cpp - the system calls of the disk cache. Everything below the folder goes through
// its descriptor, so that no name is resolved twice.
#include "runtime/cache/CacheFolder.h"
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
using namespace logitile;

namespace {
constexpr std::string_view kTemporary = "tmp-"; // then the process and a random number
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr int64_t kMostBytes = int64_t(256) << 20; // of a file: a length that is wrong must not take all memory

Status refuse(std::string text) { return Status(ErrorCode::Value, std::move(text)); }
Status failure(const std::string &what) { return Status(ErrorCode::Internal, what + ": " + std::strerror(errno)); }

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof(text), "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

/// Why a file or folder is not this user's alone to write; "" where it is.
std::string wrongOwnerOrMode(const struct stat &facts, const std::string &path) {
  if (facts.st_uid != geteuid())
    return "'" + path + "' belongs to user " + std::to_string(facts.st_uid) + ", not to user " + std::to_string(geteuid());
  if (facts.st_mode & kOthersWrite)
    return "'" + path + "' has mode " + octal(facts.st_mode) + ", but only its owner may write there (chmod go-w)";
  return "";
}

/// Makes a folder and those around it, for this user alone. Others may make the same ones
/// meanwhile. Returns the first error.
int makeFolders(const std::string &path) {
  int error = 0;
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    if (mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST && error == 0)
      error = errno;
  }
  return error;
}

int64_t nanoseconds(const struct timespec &time) { return time.tv_sec * INT64_C(1000000000) + time.tv_nsec; }

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes.remove_prefix(written);
  }
  return true;
}

/// A name that no other process uses, on other machines and in other name spaces of processes too.
std::string temporaryName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    number = fileClock();
  return std::string(kTemporary) + std::to_string(getpid()) + "-" + std::to_string(number);
}
} // namespace

Descriptor::~Descriptor() {
  if (isOpen())
    ::close(number);
}

int64_t logitile::fileClock() {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

// ---- folders ------------------------------------------------------------------------------------

Result<CacheFolder> CacheFolder::openAt(int parent, const std::string &name, const std::string &path, int flags) {
  Descriptor folder(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (!folder.isOpen() && errno == ENOENT)
    return CacheFolder(path, Descriptor());
  if (!folder.isOpen())
    return failure("cannot open folder '" + path + "'");
  struct stat facts;
  if (fstat(folder.get(), &facts) != 0)
    return failure("cannot look at folder '" + path + "'");
  if (std::string why = wrongOwnerOrMode(facts, path); !why.empty())
    return refuse(why);
  return CacheFolder(path, std::move(folder));
}

Result<CacheFolder> CacheFolder::open(const std::string &path, Missing missing) {
  Result<CacheFolder> found = openAt(AT_FDCWD, path, path, 0);
  if (missing == Missing::Leave || !found.isOk() || found->isOpen())
    return found;
  int error = makeFolders(path);
  found = openAt(AT_FDCWD, path, path, 0);
  if (!found.isOk() || found->isOpen())
    return found;
  errno = error;
  return failure("cannot make folder '" + path + "'");
}

Result<CacheFolder> CacheFolder::openInside(const std::string &name, Missing missing) const {
  if (missing == Missing::Make && mkdirat(folder.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return failure("cannot make folder '" + pathOf(name) + "'");
  return openAt(folder.get(), name, pathOf(name), O_NOFOLLOW);
}

std::vector<std::string> CacheFolder::names() const {
  std::vector<std::string> result;
  Descriptor again(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); // reading moves a position that copies share
  DIR *stream = again.isOpen() ? fdopendir(again.get()) : nullptr;
  if (!stream)
    return result;
  again.release(); // closedir closes it
  while (const struct dirent *entry = readdir(stream))
    if (entry->d_name[0] != '.')
      result.emplace_back(entry->d_name);
  closedir(stream);
  return result;
}

// ---- files --------------------------------------------------------------------------------------

std::optional<CacheFolder::Facts> CacheFolder::facts(const std::string &name) const {
  struct stat facts;
  if (fstatat(folder.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return std::nullopt;
  return Facts{facts.st_size, nanoseconds(facts.st_mtim)};
}

Result<std::optional<std::string>> CacheFolder::read(const std::string &name) const {
  using Bytes = std::optional<std::string>;
  // Not blocking: a pipe in the place of a file must not hold the call up.
  Descriptor file(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.isOpen() && errno == ENOENT)
    return Bytes();
  if (!file.isOpen() && errno == ELOOP)
    return refuse("'" + pathOf(name) + "' is a link");
  if (!file.isOpen())
    return failure("cannot open '" + pathOf(name) + "'");
  struct stat facts;
  if (fstat(file.get(), &facts) != 0)
    return failure("cannot look at '" + pathOf(name) + "'");
  if (!S_ISREG(facts.st_mode))
    return refuse("'" + pathOf(name) + "' is no file");
  if (std::string why = wrongOwnerOrMode(facts, pathOf(name)); !why.empty())
    return refuse(why);
  if (facts.st_size > kMostBytes)
    return refuse("'" + pathOf(name) + "' has " + std::to_string(facts.st_size) + " bytes, more than any program");
  std::string bytes(facts.st_size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failure("cannot read '" + pathOf(name) + "'");
    if (count == 0)
      break;
    done += count;
  }
  bytes.resize(done);
  return Bytes(std::move(bytes));
}

Status CacheFolder::publish(const std::string &name, std::string_view bytes) const {
  std::string temporary = temporaryName();
  Descriptor file(openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.isOpen())
    return failure("cannot write in '" + path + "'");
  // Not synced: after a loss of power the checksum finds what is missing.
  bool isWritten = writeAll(file.get(), bytes) && ::close(file.release()) == 0;
  if (isWritten && renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) == 0)
    return Status();
  if (isWritten && errno == ENOENT) // taken for abandoned, or all was cleared: as good as evicted
    return Status();
  Status failed = failure("cannot write in '" + path + "'");
  unlinkat(folder.get(), temporary.c_str(), 0);
  return failed;
}

void CacheFolder::touch(const std::string &name) const { utimensat(folder.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

bool CacheFolder::remove(const std::string &name) const { return unlinkat(folder.get(), name.c_str(), 0) == 0 || errno == ENOENT; }

bool CacheFolder::isTemporary(std::string_view name) { return name.starts_with(kTemporary); }

bool CacheFolder::isAbandoned(const std::string &name) const {
  constexpr int64_t kHour = INT64_C(3600) * 1000000000;
  std::optional<Facts> found = facts(name);
  if (!isTemporary(name) || !found)
    return false;
  pid_t process = 0;
  std::from_chars(name.data() + kTemporary.size(), name.data() + name.size(), process);
  bool isGone = process <= 0 || (kill(process, 0) != 0 && errno == ESRCH);
  return isGone || std::abs(fileClock() - found->lastUse) > kHour; // either way: clocks go backwards too
}
