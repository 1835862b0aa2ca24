// TensorMaps.cpp - the rules of cuTensorMapEncodeTiled for maps of two dimensions.
#include "runtime/device/TensorMaps.h"
using namespace logitile;

namespace {
constexpr int64_t kAlignment = 16, kPitchEnd = int64_t(1) << 40, kMostExtent = int64_t(1) << 32;
} // namespace

bool TensorMatrix::isReadable() const {
  bool isAligned = reinterpret_cast<uintptr_t>(address) % kAlignment == 0 && pitch() % kAlignment == 0;
  bool hasSize = rows > 0 && rows <= kMostExtent && columns > 0 && columns <= kMostExtent;
  return isAligned && hasSize && stride1 == 1 && stride0 >= columns && pitch() < kPitchEnd;
}

Status TensorMapArguments::encode(std::span<const TensorMatrix> matrices, const Encode &encodeOne) {
  firstColumns.clear();
  maps.clear();
  for (const TensorMatrix &matrix : matrices) {
    firstColumns.push_back(matrix.isReadable() ? matrix.firstColumn : -1);
    maps.emplace_back();
    if (!matrix.isReadable())
      continue;
    if (Status status = encodeOne(matrix, maps.back()); !status.isOk())
      return status;
  }
  return Status();
}

void TensorMapArguments::addTo(std::vector<const void *> &parameters) const {
  for (size_t i = 0; i < maps.size(); ++i) {
    parameters.push_back(&firstColumns[i]);
    parameters.push_back(&maps[i]);
  }
}
