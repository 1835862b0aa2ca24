// peak.cpp - what this machine can do at most: fused multiply-adds that touch registers only, and bytes read from memory.
// Rates of kernels are stated as shares of these. Prints JSON: GFLOP/s of all threads together, for reading GB/s.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <immintrin.h>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <vector>

/// Seconds that this thread worked. On a machine that others use too, wall time would count what they took.
static double workedSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Twelve independent sums hide the latency; their values stay small.
constexpr int kSums = 12;
constexpr long kSteps = 1 << 21;
/// Without this compilers see that all sums are equal and that nobody reads them, and make one of them, or none.
#define HIDDEN(sum) asm volatile("" : "+v"(sum))
/// A loop over the array would keep the sums in memory, with some compilers.
#define TWELVE(step)                                                                                                                       \
  step(sums[0]);                                                                                                                           \
  step(sums[1]);                                                                                                                           \
  step(sums[2]);                                                                                                                           \
  step(sums[3]);                                                                                                                           \
  step(sums[4]);                                                                                                                           \
  step(sums[5]);                                                                                                                           \
  step(sums[6]);                                                                                                                           \
  step(sums[7]);                                                                                                                           \
  step(sums[8]);                                                                                                                           \
  step(sums[9]);                                                                                                                           \
  step(sums[10]);                                                                                                                          \
  step(sums[11]);

#define STEP(sum) HIDDEN(sum = _mm_add_ps(_mm_mul_ps(sum, a), b))
__attribute__((target("sse2"))) static double flopsSse(int) {
  __m128 a = _mm_set1_ps(0.5f), b = _mm_set1_ps(0.25f), sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i) {
    TWELVE(STEP)
  }
  return 2.0 * 4 * kSums * kSteps;
}
#undef STEP
#define STEP(sum) HIDDEN(sum = _mm256_fmadd_ps(sum, a, b))
__attribute__((target("avx2,fma"))) static double flopsAvx2(int) {
  __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f), sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i) {
    TWELVE(STEP)
  }
  return 2.0 * 8 * kSums * kSteps;
}
#undef STEP
#define STEP(sum) HIDDEN(sum = _mm512_fmadd_ps(sum, a, b))
__attribute__((target("avx512f"))) static double flopsAvx512(int) {
  __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f), sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i) {
    TWELVE(STEP)
  }
  return 2.0 * 16 * kSums * kSteps;
}
#undef STEP
#define STEP(sum) HIDDEN(sum = _mm512_dpbf16_ps(sum, a, b))
__attribute__((target("avx512f,avx512bf16"))) static double flopsBf16(int) {
  __m512bh a = {}, b = {};
  __m512 sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i) {
    TWELVE(STEP)
  }
  return 2.0 * 32 * kSums * kSteps;
}
#undef STEP

static volatile float sink;
constexpr size_t kBytes = size_t(256) << 20;
constexpr int kMostThreads = 64;

/// Reads memory of one thread that no cache holds. SSE is enough: memory is slower.
__attribute__((target("sse2"))) static double bytesRead(char *&memory, bool isShared) {
  if (!memory) {
    int kind = isShared ? MAP_SHARED : MAP_PRIVATE;
    memory = static_cast<char *>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED)
      throw std::bad_alloc();
    if (!isShared)
      madvise(memory, kBytes, MADV_HUGEPAGE);
    auto *words = reinterpret_cast<uint64_t *>(memory);
    for (size_t i = 0; i < kBytes / sizeof(uint64_t); ++i)
      words[i] = (reinterpret_cast<uintptr_t>(words) + i) * 0x9E3779B97F4A7C15u; // hypervisors keep equal pages once, in a cache
  }
  __m128i sums[4] = {};
  for (size_t i = 0; i < kBytes; i += 64)
    for (int part = 0; part < 4; ++part)
      sums[part] = _mm_xor_si128(sums[part], _mm_load_si128(reinterpret_cast<const __m128i *>(memory + i) + part));
  for (__m128i sum : sums)
    sink = static_cast<float>(_mm_cvtsi128_si32(sum));
  return kBytes;
}
/// Of memory as processes share it.
static double bytesReadShared(int thread) {
  static char *memories[kMostThreads];
  return bytesRead(memories[thread], true);
}
/// Of memory in huge pages, where the system grants them.
static double bytesReadHuge(int thread) {
  static char *memories[kMostThreads];
  return bytesRead(memories[thread], false);
}

/// The best of five rounds, all threads together, in units of 1e9 per second.
static double measure(double (*work)(int), int threads) {
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<double> rates(threads);
    std::vector<std::thread> others;
    auto run = [&](int thread) {
      work(thread); // wakes the units and touches the memory
      double start = workedSeconds(), done = work(thread);
      rates[thread] = done / (workedSeconds() - start) * 1e-9;
    };
    for (int thread = 1; thread < threads; ++thread)
      others.emplace_back(run, thread);
    run(0);
    for (std::thread &other : others)
      other.join();
    double total = 0;
    for (double rate : rates)
      total += rate;
    best = std::max(best, total);
  }
  return best;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  if (threads < 1 || threads > kMostThreads || argc > 3) {
    std::fprintf(stderr, "usage: %s THREADS [FIGURE]; threads: 1 to %d\n", argv[0], kMostThreads);
    return 1;
  }
  struct Figure {
    const char *name;
    bool isThere;
    double (*work)(int);
  };
  const Figure figures[] = {
      {"f32_sse", true, flopsSse},
      {"f32_avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), flopsAvx2},
      {"f32_avx512", bool(__builtin_cpu_supports("avx512f")), flopsAvx512},
      {"bf16_avx512", bool(__builtin_cpu_supports("avx512bf16")), flopsBf16},
      {"read_shared", true, bytesReadShared},
      {"read_huge", true, bytesReadHuge},
  };
  const char *separator = "{";
  for (const Figure &figure : figures) {
    if (!figure.isThere || (argc > 2 && std::strcmp(argv[2], figure.name) != 0))
      continue;
    std::printf("%s\"%s\": %.2f", separator, figure.name, measure(figure.work, threads));
    separator = ", ";
  }
  std::printf("}\n");
}
