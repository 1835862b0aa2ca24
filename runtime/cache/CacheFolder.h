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
  /// Returns the descriptor, which the caller then owns.
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

/// Nanoseconds since 1970, by the clock of the time stamps of files.
int64_t fileClock();

class CacheFolder {
public:
  enum class Missing : uint8_t { Leave, Make };

  /// Opens the folder at an absolute path. If there is no such folder, the result is not open. An
  /// error if the folder belongs to another user, or if others may write to it.
  static Result<CacheFolder> open(const std::string &path, Missing missing);
  /// The same for a folder inside this one. Links are not followed.
  Result<CacheFolder> openInside(const std::string &name, Missing missing) const;
  bool isOpen() const { return folder.isOpen(); }
  std::string pathOf(std::string_view name) const { return path + "/" + std::string(name); }

  std::vector<std::string> names() const;
  struct Facts {
    int64_t bytes;
    int64_t lastUse; // as fileClock
  };
  /// None if there is no such file.
  std::optional<Facts> facts(const std::string &name) const;
  /// The bytes of a file; none if there is no such file. ErrorCode::Value if it is no regular file,
  /// or if others can write to it. ErrorCode::Internal if it cannot be read.
  Result<std::optional<std::string>> read(const std::string &name) const;
  /// Replaces a file atomically: a reader gets either the old bytes or the new ones.
  Status publish(const std::string &name, std::string_view bytes) const;
  /// Marks a file as used now. Nothing happens if the file is gone or the folder is read-only.
  void touch(const std::string &name) const;
  /// Removes a file. Whether the file does not exist afterwards.
  bool remove(const std::string &name) const;

  /// Whether a file was abandoned by a process that was killed while it published: its process is
  /// gone, or it is an hour old.
  static bool isTemporary(std::string_view name);
  bool isAbandoned(const std::string &name) const;

private:
  CacheFolder(std::string path, Descriptor folder) : path(std::move(path)), folder(std::move(folder)) {}
  static Result<CacheFolder> openAt(int parent, const std::string &name, const std::string &path, int flags);

  std::string path; // for messages
  Descriptor folder;
};
} // namespace logitile
