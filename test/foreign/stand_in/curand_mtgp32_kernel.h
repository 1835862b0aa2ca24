// curand_mtgp32_kernel.h - nothing: clang's header for CUDA includes it, and no kernel draws
// numbers.
#pragma once
