// CacheFolder.h - a folder that only this user can write, and its files: they are checked before
// they are read, and published by one rename. DiskCache.h interprets the files.
#pragma once
#include "runtime/support/Status.h"
#include <string_view>
#include <vector>

namespace logitile {
/// An open file, closed at the end of its scope.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor();
  bool isOpen() const { return number >= 0; }
  int get() const { return number; }
  /// Gives it to the caller.
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

/// Nanoseconds since 1970, by the clock that files are stamped with.
int64_t fileClock();

class CacheFolder {
public:
  enum class Missing : uint8_t { Leave, Make };

  /// The folder at an absolute path; one that is not open where there is none. An error where it is
  /// not this user's, or others may write it.
  static Result<CacheFolder> open(const std::string &path, Missing missing);
  /// The same for a folder in this one; links are not followed.
  Result<CacheFolder> openInside(const std::string &name, Missing missing) const;
  bool isOpen() const { return folder.isOpen(); }
  std::string pathOf(std::string_view name) const { return path + "/" + std::string(name); }

  std::vector<std::string> names() const;
  struct Facts {
    int64_t bytes;
    int64_t lastUse; // as fileClock
  };
  /// Nothing where there is no such file.
  std::optional<Facts> facts(const std::string &name) const;
  /// The bytes of a file; nothing where there is none. ErrorCode::Value where it is no file that
  /// only this user can write, ErrorCode::Internal where it cannot be read.
  Result<std::optional<std::string>> read(const std::string &name) const;
  /// Replaces a file at once: whoever reads finds the old bytes or the new ones.
  Status publish(const std::string &name, std::string_view bytes) const;
  /// Marks a file as used now. It may be gone, and the folder may be read-only.
  void touch(const std::string &name) const;
  /// Whether it is gone now.
  bool remove(const std::string &name) const;

  /// Whether a file was left behind by a process that was killed while it published: its process is
  /// gone, or it is an hour old.
  static bool isTemporary(std::string_view name);
  bool isLeftBehind(const std::string &name) const;

private:
  CacheFolder(std::string path, Descriptor folder) : path(std::move(path)), folder(std::move(folder)) {}
  static Result<CacheFolder> openAt(int parent, const std::string &name, const std::string &path, int flags);

  std::string path; // for messages
  Descriptor folder;
};
} // namespace logitile
