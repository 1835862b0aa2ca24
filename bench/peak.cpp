// peak.cpp - what this machine can do at most: fused multiply-adds that touch registers only, and
// bytes read from a file in memory. Rates of kernels are stated as shares of these. Prints JSON:
// GFLOP/s of all threads together, for reading GB/s.
#include <algorithm>
#include <cerrno>
#include <cpuid.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <immintrin.h>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

/// Seconds that this thread worked. On a machine that others use too, wall time would count what
/// they took.
static double workedSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Twelve independent sums hide the latency; their values stay small.
constexpr int kSums = 12;
constexpr long kSteps = 1 << 21;
/// Without this compilers see that all sums are equal and that nobody reads them, and make one of
/// them, or none.
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

/// Four sums in tile registers of AMX, 16 rows of 64 bytes each; two more such registers are the
/// operands. All are zero.
static double flopsTiles(int) {
  constexpr long kTileSteps = kSteps / 64;
  struct {
    uint8_t palette = 1, rest[15] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  } shapes;
  asm volatile("ldtilecfg %0\n tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n tilezero %%tmm3\n"
               "tilezero %%tmm4\n tilezero %%tmm5" ::"m"(shapes));
  for (long i = 0; i < kTileSteps; ++i)
    asm volatile("tdpbf16ps %tmm5, %tmm4, %tmm0\n tdpbf16ps %tmm5, %tmm4, %tmm1\n"
                 "tdpbf16ps %tmm5, %tmm4, %tmm2\n tdpbf16ps %tmm5, %tmm4, %tmm3");
  asm volatile("tilerelease");
  return 2.0 * 16 * 16 * 32 * 4 * kTileSteps;
}

/// Of the processor, and of the kernel, which makes room for the registers only where a process
/// asks for it.
static bool hasTiles() {
  constexpr unsigned kTiles = 1u << 24, kBf16 = 1u << 22;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kTiles) && (d & kBf16) &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

static volatile float sink;
constexpr int kMostThreads = 64;

/// A file that other processes map, which no cache holds.
struct MappedFile {
  const char *bytes = nullptr;
  size_t size = 0;
  int threads = 1;
};
static MappedFile mappedFile;

static void mapFile(const char *path, int threads) {
  int file = open(path, O_RDONLY);
  struct stat facts;
  if (file < 0 || fstat(file, &facts) != 0)
    throw std::system_error(errno, std::generic_category(), path);
  void *memory = mmap(nullptr, facts.st_size, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), path);
  mappedFile = {static_cast<const char *>(memory), static_cast<size_t>(facts.st_size), threads};
}
/// Reads the part of one thread at four places that are far apart: that is quicker than one,
/// whatever is done with the bytes. SSE is enough: memory is slower.
__attribute__((target("sse2"))) static double bytesRead(int thread) {
  constexpr size_t kPlaces = 4, kLine = 64;
  size_t part = mappedFile.size / mappedFile.threads / kPlaces / kLine * kLine;
  const char *first = mappedFile.bytes + thread * kPlaces * part;
  __m128i sums[kPlaces] = {};
  for (size_t i = 0; i < part; i += kLine)
    for (size_t place = 0; place < kPlaces; ++place)
      for (size_t piece = 0; piece < kLine; piece += sizeof(__m128i))
        sums[place] = _mm_xor_si128(sums[place], _mm_load_si128(reinterpret_cast<const __m128i *>(first + place * part + i + piece)));
  for (__m128i sum : sums)
    sink = static_cast<float>(_mm_cvtsi128_si32(sum));
  return static_cast<double>(kPlaces * part);
}

/// Five rounds, all threads together, in units of 1e9 per second. The best of them for what a core
/// does by itself; the median for memory, whose speed other machines on the same host have a say
/// in.
static double measure(double (*work)(int), int threads, bool isOfMemory) {
  std::vector<double> rounds;
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
    rounds.push_back(std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  std::sort(rounds.begin(), rounds.end());
  return isOfMemory ? rounds[rounds.size() / 2] : rounds.back();
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  if (threads < 1 || threads > kMostThreads || argc > 4) {
    std::fprintf(stderr, "usage: %s THREADS [FIGURE [FILE]]; threads: 1 to %d; FILE: what 'read' reads\n", argv[0], kMostThreads);
    return 1;
  }
  if (argc > 3)
    mapFile(argv[3], threads);
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
      {"bf16_amx", hasTiles(), flopsTiles},
      {"read", argc > 3, bytesRead},
  };
  const char *separator = "{";
  for (const Figure &figure : figures) {
    if (!figure.isThere || (argc > 2 && std::strcmp(argv[2], figure.name) != 0))
      continue;
    std::printf("%s\"%s\": %.2f", separator, figure.name, measure(figure.work, threads, figure.work == bytesRead));
    separator = ", ";
  }
  std::printf("}\n");
}
