// TensorMaps.h - what a tensor map describes, and when an array can have one. Each device encodes
// maps.
#pragma once
#include "compiler/Plan/ElementType.h"
#include "runtime/support/Status.h"
#include <functional>
#include <span>
#include <vector>

namespace logitile {
/// Rows of a buffer in memory, and the boxes that a kernel copies of them.
struct TensorMatrix {
  char *address = nullptr; // of the first row's column 'firstColumn'
  ElementType element = ElementType::F32;
  int64_t firstColumn = 0;          // of the buffer
  int64_t rows = 0, columns = 0;    // from there on
  int64_t stride0 = 0, stride1 = 0; // in elements
  int64_t boxRows = 0, boxColumns = 0;

  int64_t pitch() const { return stride0 * elementBytes(element); } // bytes from row to row
  /// Whether copies of boxes can read it: addresses and pitches are multiples of 16 bytes, rows do
  /// not overlap, and neighbours of a row lie side by side.
  bool isReadable() const;
};

/// The bytes of a CUtensorMap. Kernels take them by value.
struct alignas(128) EncodedTensorMap {
  unsigned char bytes[128] = {};
};

/// What a kernel takes for its tensor maps (KernelPlan), in one launch.
class TensorMapArguments {
public:
  using Encode = std::function<Status(const TensorMatrix &matrix, EncodedTensorMap &map)>;
  /// Encodes the maps that there can be.
  Status encode(std::span<const TensorMatrix> matrices, const Encode &encodeOne);
  /// Adds the places of the parameters, which are valid until the next call of encode.
  void addTo(std::vector<const void *> &parameters) const;

private:
  std::vector<int64_t> firstColumns;
  std::vector<EncodedTensorMap> maps;
};
} // namespace logitile
