// peak.cpp - what this machine can do at most: fused multiply-adds that touch registers only, and bytes read from memory.
// Rates of kernels are stated as shares of these.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <immintrin.h>
#include <string>
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
static volatile float sink;

__attribute__((target("sse2"))) static double flopsSse() {
  __m128 a = _mm_set1_ps(0.5f), b = _mm_set1_ps(0.25f), sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i)
    for (__m128 &sum : sums)
      sum = _mm_add_ps(_mm_mul_ps(sum, a), b);
  for (__m128 sum : sums)
    sink = _mm_cvtss_f32(sum);
  return 2.0 * 4 * kSums * kSteps;
}
__attribute__((target("avx2,fma"))) static double flopsAvx2() {
  __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f), sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i)
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, a, b);
  for (__m256 sum : sums)
    sink = _mm256_cvtss_f32(sum);
  return 2.0 * 8 * kSums * kSteps;
}
__attribute__((target("avx512f"))) static double flopsAvx512() {
  __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f), sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i)
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, a, b);
  for (__m512 sum : sums)
    sink = _mm512_cvtss_f32(sum);
  return 2.0 * 16 * kSums * kSteps;
}
__attribute__((target("avx512f,avx512bf16"))) static double flopsBf16() {
  __m512bh a, b;
  std::memset(&a, 0, sizeof(a)), std::memset(&b, 0, sizeof(b));
  __m512 sums[kSums] = {};
  for (long i = 0; i < kSteps; ++i)
    for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, a, b);
      asm volatile("" : "+v"(sum)); // with operands of 0 the loop would be gone
    }
  for (__m512 sum : sums)
    sink = _mm512_cvtss_f32(sum);
  return 2.0 * 32 * kSums * kSteps;
}

constexpr size_t kBytes = size_t(256) << 20;
/// Reads memory that no cache holds.
__attribute__((target("sse2"))) static double bytesRead() {
  static thread_local char *memory = [] {
    char *fresh = static_cast<char *>(std::aligned_alloc(2 << 20, kBytes));
    madvise(fresh, kBytes, MADV_HUGEPAGE);
    std::memset(fresh, 1, kBytes);
    return fresh;
  }();
  __m128i sums[4] = {};
  for (size_t i = 0; i < kBytes; i += 64)
    for (int part = 0; part < 4; ++part)
      sums[part] = _mm_xor_si128(sums[part], _mm_load_si128(reinterpret_cast<const __m128i *>(memory + i) + part));
  for (__m128i sum : sums)
    sink = static_cast<float>(_mm_cvtsi128_si32(sum));
  return kBytes;
}

/// The best of five rounds, all threads together, in units of 1e9 per second.
static double measure(double (*work)(), int threads) {
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<double> rates(threads);
    std::vector<std::thread> others;
    auto run = [&](int thread) {
      work(); // wakes the units and touches the memory
      double start = workedSeconds(), done = work();
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
  if (argc > 4) {
    std::fprintf(stderr, "usage: %s [most threads, default 2] [file for JSON] [the one figure to measure]\n", argv[0]);
    return 1;
  }
  int maxThreads = argc > 1 ? std::atoi(argv[1]) : 2;
  std::string jsonPath = argc > 2 ? argv[2] : "", only = argc > 3 ? argv[3] : "";
  struct Figure {
    const char *name, *unit;
    bool isThere;
    double (*work)();
  };
  const Figure figures[] = {
      {"f32_sse", "GFLOP/s", true, flopsSse},
      {"f32_avx2", "GFLOP/s", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), flopsAvx2},
      {"f32_avx512", "GFLOP/s", bool(__builtin_cpu_supports("avx512f")), flopsAvx512},
      {"bf16_avx512", "GFLOP/s", bool(__builtin_cpu_supports("avx512bf16")), flopsBf16},
      {"read", "GB/s", true, bytesRead},
  };
  std::string json = "{";
  std::printf("%-12s", "threads");
  for (int threads = 1; threads <= maxThreads; threads *= 2)
    std::printf("%10d", threads);
  std::printf("\n");
  for (const Figure &figure : figures) {
    if (!figure.isThere || (!only.empty() && only != figure.name))
      continue;
    std::printf("%-12s", figure.name);
    json += std::string(json.size() > 1 ? ", \"" : "\"") + figure.name + "\": {";
    for (int threads = 1; threads <= maxThreads; threads *= 2) {
      double rate = measure(figure.work, threads);
      std::printf("%10.1f", rate);
      json += (threads > 1 ? ", \"" : "\"") + std::to_string(threads) + "\": " + std::to_string(rate);
    }
    std::printf("  %s\n", figure.unit);
    json += "}";
  }
  json += "}\n";
  if (jsonPath.empty())
    return 0;
  FILE *file = std::fopen(jsonPath.c_str(), "w");
  if (!file || std::fputs(json.c_str(), file) < 0 || std::fclose(file) != 0) {
    std::fprintf(stderr, "cannot write '%s'\n", jsonPath.c_str());
    return 1;
  }
}
