// launch.h - how a case hands its kernel to the driver. The device's code has an instance of the
// kernel, whose name holds the case; the host's code has the parameters of the launch. Each is
// compiled from the same text, and neither needs the other's part.
#pragma once
#include <cute/tensor.hpp>

/// Of the driver: runs the kernel whose name holds 'name'.
extern "C" void foreign_launch(const char *name, const unsigned *grid, unsigned threads, unsigned sharedBytes, const void *const *parameters,
                               unsigned count);

/// A factor 1 whose type says which case it is.
#define FOREIGN_TAG(name)                                                                                                                    \
  struct name {                                                                                                                              \
    CUTE_HOST_DEVICE operator float() const { return 1; }                                                                                    \
    static constexpr const char *kName = #name;                                                                                              \
  }

/// Hands the places of all parameters to the driver.
template <class... Parameters> void launch(const char *name, dim3 grid, unsigned threads, unsigned bytes, const Parameters &...parameters) {
  const unsigned blocks[] = {grid.x, grid.y, grid.z};
  const void *const places[] = {&parameters...};
  foreign_launch(name, blocks, threads, bytes, places, sizeof...(parameters));
}

#if defined(__CUDA_ARCH__) // an instance of a kernel comes to be, and is not called
#define FOREIGN_KERNEL(kernel) (void)(kernel)
#else
#define FOREIGN_KERNEL(kernel) (void)0
#endif
