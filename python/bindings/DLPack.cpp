// DLPack.cpp - the structures of DLPack 1.x (https://dmlc.github.io/dlpack/latest/c_api.html), as
// far as they are read.
#include "python/bindings/DLPack.h"
#include <Python.h>
using namespace logitile::python;

namespace {
struct DLTensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides; // no strides: contiguous
  uint64_t byteOffset;
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor tensor;
};
static_assert(sizeof(void *) == 8 && sizeof(DLTensor) == 48 && offsetof(DLManagedTensorVersioned, tensor) == 32);

std::optional<lt_type> typeOf(const DLTensor &tensor) {
  constexpr lt_type kSigned[] = {LT_INT8, LT_INT16, LT_INT32, LT_INT64};
  constexpr lt_type kUnsigned[] = {LT_UINT8, LT_UINT16, LT_UINT32, LT_UINT64};
  if (tensor.lanes != 1)
    return std::nullopt;
  int width = tensor.bits == 8 ? 0 : tensor.bits == 16 ? 1 : tensor.bits == 32 ? 2 : tensor.bits == 64 ? 3 : -1;
  if (width < 0)
    return std::nullopt;
  switch (tensor.code) {
  case 0:
    return kSigned[width];
  case 1:
    return kUnsigned[width];
  case 2:
    if (width > 0)
      return width == 1 ? LT_FLOAT16 : width == 2 ? LT_FLOAT32 : LT_FLOAT64;
    return std::nullopt;
  case 4:
    return width == 1 ? std::optional(LT_BFLOAT16) : std::nullopt;
  case 6:
    return width == 0 ? std::optional(LT_BOOL) : std::nullopt;
  default:
    return std::nullopt;
  }
}

const DLTensor *tensorOf(PyObject *capsule, std::string &error) {
  if (PyCapsule_IsValid(capsule, "dltensor"))
    return static_cast<const DLTensor *>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    error = "is no capsule of DLPack, or one that was consumed";
    return nullptr;
  }
  auto *managed = static_cast<const DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  if (managed->major == 1)
    return &managed->tensor;
  error = "is of DLPack " + std::to_string(managed->major) + "; version 1 is known";
  return nullptr;
}
} // namespace

std::optional<DLPackArray> logitile::python::readCapsule(PyObject *capsule, std::string &error) {
  constexpr int32_t kCpu = 1, kCudaHost = 3;
  const DLTensor *tensor = tensorOf(capsule, error);
  if (!tensor)
    return std::nullopt;
  std::optional<lt_type> type = typeOf(*tensor);
  if (!type) {
    error = "has elements of DLPack code " + std::to_string(tensor->code) + " with " + std::to_string(tensor->bits) + " bits and " +
            std::to_string(tensor->lanes) + " lanes, which no array of a call has";
    return std::nullopt;
  }
  if (tensor->deviceType != kCpu && tensor->deviceType != kCudaHost) {
    error = "lies on DLPack device " + std::to_string(tensor->deviceType) + ", not in memory of the CPU";
    return std::nullopt;
  }
  DLPackArray array{static_cast<char *>(tensor->data) + tensor->byteOffset, *type, {}, {}};
  array.shape.assign(tensor->shape, tensor->shape + tensor->rank);
  array.strides.resize(tensor->rank);
  int64_t contiguous = 1;
  for (int axis = tensor->rank - 1; axis >= 0; --axis) {
    array.strides[axis] = tensor->strides ? tensor->strides[axis] : contiguous;
    contiguous *= array.shape[axis];
  }
  return array;
}
