// CallOptions.h - options that all calls of a head share.
#pragma once
#include "python/bindings/Bindings.h"
#include <optional>

namespace logitile::python {
struct CallOptions {
  lt_reduction reduction;
  std::optional<std::string> ignore;
  std::optional<int64_t> ignoreIndex;
  bool zeroIfAllIgnored;
  int threads;

  void copyTo(lt_call &call) const {
    call.reduction = reduction;
    call.ignore = ignore ? ignore->c_str() : nullptr;
    call.ignore_index = ignoreIndex ? &*ignoreIndex : nullptr;
    call.zero_if_all_ignored = zeroIfAllIgnored;
    call.threads = threads;
  }
};
} // namespace logitile::python
