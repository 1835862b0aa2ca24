// Random.cpp - the random numbers that libraries of LLVM and C++ ask the C library for. Its own function came with glibc 2.36,
// and many machines with GPUs have 2.35.
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t number;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    std::abort(); // as glibc's does; so few bytes are never interrupted
  return number;
}
