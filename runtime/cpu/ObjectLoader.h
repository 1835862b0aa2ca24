// ObjectLoader.h - loads compiled code into this process: an object file, or an archive of them.
#pragma once
#include "runtime/support/Interrupt.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace logitile {
/// One kernel of an object: words of arguments, number of the task, scratch of the thread, and whom
/// to ask whether to end early.
using CpuKernel = void (*)(const int64_t *arguments, int64_t task, void *scratch, Checkpoint *checkpoint);

/// Object files, linked into memory. Its functions are gone when it is destroyed.
class ObjectLoader {
public:
  /// Null with the reason in 'error' where 'object' is no object file for x86-64, or needs a symbol
  /// that it may not have.
  static std::unique_ptr<ObjectLoader> load(std::string_view object, std::string &error);
  ~ObjectLoader();
  /// Null with the reason in 'error' where the object has no function 'name'.
  CpuKernel find(const std::string &name, std::string &error) const;

  struct Image;

private:
  explicit ObjectLoader(std::unique_ptr<Image> image);
  std::unique_ptr<Image> image;
};
} // namespace logitile
