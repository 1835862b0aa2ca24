// ObjectLoader.h - loads compiled code into this process: an object file, or an archive of them.
#pragma once
#include "runtime/support/Interrupt.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace logitile {
/// A kernel of an object file. Its parameters are the words of its arguments, the number of the
/// task, scratch memory of the thread, and a checkpoint that says whether to end early.
using CpuKernel = void (*)(const int64_t *arguments, int64_t task, void *scratch, Checkpoint *checkpoint);

/// Object files that are linked into this process. Their functions exist until this object is
/// destroyed.
class ObjectLoader {
public:
  /// Null, with the reason in 'error', if 'object' is no object file for x86-64, or if it needs a
  /// symbol that it is not allowed to use.
  static std::unique_ptr<ObjectLoader> load(std::string_view object, std::string &error);
  ~ObjectLoader();
  /// The function 'name'; null, with the reason in 'error', if the object does not have it.
  CpuKernel find(const std::string &name, std::string &error) const;

  struct Image;

private:
  explicit ObjectLoader(std::unique_ptr<Image> image);
  std::unique_ptr<Image> image;
};
} // namespace logitile
