// StaticData.cpp - keeps the library's static data until the very end of the process, that of LLVM
// and MLIR included. Threads may still compile or run kernels when the process ends: background
// jobs that nobody waits for, and daemon threads of Python. Nothing of this library has to be
// destroyed then, so nothing waits for them. They stop with the process.

/// What compilers call to have static objects destroyed. The library has this one for itself.
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (*)(void *), void *, void *) { return 0; }
