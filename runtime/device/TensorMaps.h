// TensorMaps.h - what a tensor map describes, and when an array can have one. Each device encodes
// maps.
#pragma once
#include "compiler/Plan/ElementType.h"
#include "runtime/support/Status.h"
#include <functional>
#include <span>
#include <vector>

namespace logitile {
/// A matrix in memory, and the size of the boxes that a kernel copies from it.
struct TensorMatrix {
  char *address = nullptr; // of the first row's column 'firstColumn'
  ElementType element = ElementType::F32;
  int64_t firstColumn = 0;          // of the buffer
  int64_t rows = 0, columns = 0;    // from there on
  int64_t stride0 = 0, stride1 = 0; // in elements
  int64_t boxRows = 0, boxColumns = 0;

  int64_t pitch() const { return stride0 * elementBytes(element); } // bytes from row to row
  /// Whether a tensor map can describe it: its address and its pitch are multiples of 16 bytes,
  /// rows do not overlap, and the elements of a row are neighbours in memory.
  bool isReadable() const;
};

/// The bytes of a CUtensorMap. Kernels take them by value.
struct alignas(128) EncodedTensorMap {
  unsigned char bytes[128] = {};
};

/// The parameters of a kernel for its tensor maps (KernelPlan), in one launch.
class TensorMapArguments {
public:
  using Encode = std::function<Status(const TensorMatrix &matrix, EncodedTensorMap &map)>;
  /// Encodes a map for each matrix that a map can describe.
  Status encode(std::span<const TensorMatrix> matrices, const Encode &encodeOne);
  /// Appends the addresses of the parameters. They are valid until the next call of encode.
  void addTo(std::vector<const void *> &parameters) const;

private:
  std::vector<int64_t> firstColumns;
  std::vector<EncodedTensorMap> maps;
};
} // namespace logitile
