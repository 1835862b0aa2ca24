// SizeText.cpp - picks the unit of a number of bytes.
#include "compiler/Support/SizeText.h"
#include <utility>

std::string logitile::sizeText(int64_t bytes) {
  const std::string exact = std::to_string(bytes) + " bytes";
  constexpr std::pair<int64_t, const char *> kUnits[] = {
      {int64_t(1) << 40, "TiB"}, {int64_t(1) << 30, "GiB"}, {int64_t(1) << 20, "MiB"}, {int64_t(1) << 10, "KiB"}};
  for (auto [unit, name] : kUnits) {
    if (bytes < unit)
      continue;
    int64_t tenths = bytes / unit * 10 + (bytes % unit * 10 + unit - 1) / unit;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + name + " (" + exact + ")";
  }
  return exact;
}
