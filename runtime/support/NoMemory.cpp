// NoMemory.cpp - what happens in this library where malloc has nothing left: an exception, as where
// operator new has nothing. MLIR does not look at what malloc gives, so the process would die. The
// linker puts these functions in the place of those that they call (--wrap).
#include <cstddef>
#include <new>

/// The runtime of C++ makes an exception, and has memory of its own for that.
static thread_local bool makesException = false;

extern "C" {
void *__real_malloc(size_t bytes);
void *__real___cxa_allocate_exception(size_t bytes) noexcept;

[[gnu::visibility("hidden")]] void *__wrap_malloc(size_t bytes) {
  void *memory = __real_malloc(bytes);
  if (memory || makesException)
    return memory;
  throw std::bad_alloc();
}

[[gnu::visibility("hidden")]] void *__wrap___cxa_allocate_exception(size_t bytes) noexcept {
  makesException = true;
  void *memory = __real___cxa_allocate_exception(bytes);
  makesException = false;
  return memory;
}
}
