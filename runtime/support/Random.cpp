// Random.cpp - the random numbers that libraries of LLVM and C++ ask the C library for. Its own
// function came with glibc 2.36, and many machines with GPUs have 2.35.
#include <cstdint>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t number = 0;
  // Kernels since 3.17 give so few bytes at once; no secret is made of them.
  [[maybe_unused]] ssize_t bytes = getrandom(&number, sizeof(number), 0);
  return number;
}
