// DLPack.h - reads tensors of DLPack capsules. It declares only the structures of that standard
// that reading needs, so that no header of another project has to be installed.
#pragma once
#include "runtime/logitile.h"
#include <optional>
#include <string>
#include <vector>

typedef struct _object PyObject;

namespace logitile::python {
/// The tensor of a capsule ("dltensor" or "dltensor_versioned") that lies in memory of the CPU.
struct DLPackArray {
  void *data = nullptr;
  lt_type type = LT_FLOAT32;
  std::vector<int64_t> shape, strides; // strides in elements
};

/// Reads a capsule, which stays as it is: its owner frees the tensor. Says in 'error' why there is
/// no array.
std::optional<DLPackArray> readCapsule(PyObject *capsule, std::string &error);
} // namespace logitile::python
