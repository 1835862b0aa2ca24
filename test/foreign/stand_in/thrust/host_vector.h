// host_vector.h - nothing: the programs around foreign kernels use it, the kernels do not.
#pragma once
#include <vector>

namespace thrust {
template <typename T> using host_vector = std::vector<T>;
} // namespace thrust
