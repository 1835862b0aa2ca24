// device_vector.h - enough for the programs around foreign kernels to compile; they never run.
#pragma once
#include "thrust/host_vector.h"

namespace thrust {
template <typename T> struct device_vector : std::vector<T> {
  device_vector() = default;
  device_vector(const std::vector<T> &values) : std::vector<T>(values) {}
  struct Pointer {
    T *at;
    T *get() const { return at; }
  };
  Pointer data() { return {std::vector<T>::data()}; }
};
} // namespace thrust
