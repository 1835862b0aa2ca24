// CpuRates.cpp - measures products in registers, reading of memory and taking of pages, once for a
// machine, and keeps what came out.
#include "runtime/cpu/CpuRates.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/cpu/CpuModel.h"
#include "runtime/support/NewPages.h"
#include <algorithm>
#include <array>
#include <cpuid.h>
#include <ctime>
#include <immintrin.h>
#include <sstream>
#include <sys/mman.h>
#include <vector>
using namespace logitile;

// ---- table --------------------------------------------------------------------------------------

std::optional<UnitRates> logitile::tabledRates(unsigned family, unsigned model) {
  struct Row {
    unsigned family, model;
    UnitRates rates;
  };
  // Of what is not here, vdpbf16ps multiplies twice as fast as float32 does, as on Zen 4 and 5.
  static constexpr Row kRows[] = {
      {6, 143, {100, 50}}, // Sapphire Rapids: 2 cycles for a vdpbf16ps, half of one for a multiplication and addition of float32
      {6, 207, {100, 50}}, // Emerald Rapids: the same cores
  };
  const Row *row = std::ranges::find_if(kRows, [&](const Row &row) { return row.family == family && row.model == model; });
  return row == std::end(kRows) ? std::nullopt : std::optional(row->rates);
}

// ---- measurement --------------------------------------------------------------------------------

/// Seconds that this thread worked: others may use the machine too.
static double workedSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Twelve sums that do not wait for each other hide the latency; all are zero. What is in registers
// by name needs no intrinsics, which compilers would see through.
#define LOGITILE_TWELVE(instruction)                                                                                                       \
  instruction("0") instruction("1") instruction("2") instruction("3") instruction("4") instruction("5") instruction("6") instruction("7")  \
      instruction("8") instruction("9") instruction("10") instruction("11")
#define LOGITILE_CLEAR(sum) "vpxord %%zmm" sum ", %%zmm" sum ", %%zmm" sum "\n"
#define LOGITILE_FMA(sum) "vfmadd231ps %%zmm12, %%zmm12, %%zmm" sum "\n"
#define LOGITILE_DOT(sum) "vdpbf16ps %%zmm12, %%zmm12, %%zmm" sum "\n"
#define LOGITILE_CLEAR_HALF(sum) "vxorps %%ymm" sum ", %%ymm" sum ", %%ymm" sum "\n"
#define LOGITILE_FMA_HALF(sum) "vfmadd231ps %%ymm12, %%ymm12, %%ymm" sum "\n"
#define LOGITILE_CLOBBERS                                                                                                                  \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12"
#define LOGITILE_SECONDS_OF(clear, instruction)                                                                                            \
  const double start = workedSeconds();                                                                                                    \
  asm volatile(LOGITILE_TWELVE(clear) clear("12")::: LOGITILE_CLOBBERS);                                                                   \
  for (long step = 0; step < kSteps; ++step)                                                                                               \
    asm volatile(LOGITILE_TWELVE(instruction)::: LOGITILE_CLOBBERS);                                                                       \
  asm volatile("vzeroupper" ::: LOGITILE_CLOBBERS);                                                                                        \
  return workedSeconds() - start

static constexpr long kSteps = 200'000, kTileSteps = 10'000;
__attribute__((target("avx2,fma"))) static double secondsOfAvx2() { LOGITILE_SECONDS_OF(LOGITILE_CLEAR_HALF, LOGITILE_FMA_HALF); }
__attribute__((target("avx512f"))) static double secondsOfAvx512() { LOGITILE_SECONDS_OF(LOGITILE_CLEAR, LOGITILE_FMA); }
__attribute__((target("avx512f,avx512bf16"))) static double secondsOfBfloat16() { LOGITILE_SECONDS_OF(LOGITILE_CLEAR, LOGITILE_DOT); }

/// Products as kernels have them, all of zeros: four sums in tile registers of 16 rows of 64 bytes
/// each. Sums and rows on the left come from the L2 cache, a panel on the right comes from L1.
/// Between registers alone, products are 1.6 times as fast.
__attribute__((target("amx-tile,amx-bf16"))) static double secondsOfTiles() {
  struct {
    uint8_t palette = 1, rest[15] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } configuration;
  constexpr long kTile = 1024, kPair = 2 * kTile, kBlockSteps = 8, kLeft = 128 * kPair, kRight = kBlockSteps * kPair, kSums = 128 * kPair;
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> lines((kLeft + kRight + kSums) / sizeof(Line));
  char *left = lines[0].bytes, *right = left + kLeft;
  const double start = workedSeconds();
  asm volatile("ldtilecfg %0" ::"m"(configuration));
  for (long block = 0; block < kTileSteps / kBlockSteps; ++block) {
    char *sums = right + kRight + block * 2 * kPair % kSums;
    asm volatile("tileloadd (%0, %1), %%tmm0\n tileloadd 1024(%0, %1), %%tmm1\n"
                 "tileloadd 2048(%0, %1), %%tmm2\n tileloadd 3072(%0, %1), %%tmm3" ::"r"(sums),
                 "r"(64L)
                 : "memory");
    for (long step = block * kBlockSteps; step < (block + 1) * kBlockSteps; ++step)
      asm volatile("tileloadd (%0, %2), %%tmm4\n tileloadd (%1, %2), %%tmm6\n tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n"
                   "tileloadd 1024(%1, %2), %%tmm7\n tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n"
                   "tileloadd 1024(%0, %2), %%tmm5\n tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::"r"(
                       left + step * kPair % kLeft),
                   "r"(right + step * kPair % kRight), "r"(64L)
                   : "memory");
    asm volatile("tilestored %%tmm0, (%0, %1)\n tilestored %%tmm1, 1024(%0, %1)\n"
                 "tilestored %%tmm2, 2048(%0, %1)\n tilestored %%tmm3, 3072(%0, %1)" ::"r"(sums),
                 "r"(64L)
                 : "memory");
  }
  asm volatile("tilerelease");
  return workedSeconds() - start;
}

/// The best of some rounds, in 1e9 of 'work' a second.
template <typename Seconds>
static double bestRate(int rounds, double work, Seconds seconds) {
  double best = 0;
  for (int round = 0; round < rounds; ++round)
    best = std::max(best, 1e-9 * work / seconds());
  return best;
}

namespace {
/// Memory of its own: so much that its pages, which are small as those of large arrays usually are,
/// are too many for the tables of a core. Of 8 MiB a Zen 4 reads 40 GB/s, of this 24, and of a
/// gigabyte 18 on each of two cores.
class Stretch {
public:
  static constexpr int64_t kBytes = int64_t(64) << 20, kLine = 64;
  ~Stretch() { drop(); }

  double secondsToTake() {
    drop();
    const double start = workedSeconds();
    void *memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
    if (data) {
      takePages(data, kBytes);
      for (int64_t i = 0; i < kBytes; i += 4096) // systems before Linux 5.14 take them here
        data[i] = 1;
    }
    return workedSeconds() - start;
  }

  /// From memory, at four places that are far apart: that is quicker than one, whatever is done
  /// with the bytes.
  double secondsToRead() {
    constexpr int64_t kPlaces = 4;
    for (int64_t i = 0; data && i < kBytes; i += kLine)
      _mm_clflush(data + i);
    _mm_mfence();
    const double start = workedSeconds();
    __m128i sum = _mm_setzero_si128();
    for (int64_t i = 0; data && i < kBytes / kPlaces; i += kLine)
      for (int64_t place = 0; place < kPlaces; ++place)
        sum = _mm_xor_si128(sum, _mm_load_si128(reinterpret_cast<const __m128i *>(data + place * kBytes / kPlaces + i)));
    asm volatile("" : : "x"(sum));
    return workedSeconds() - start;
  }
  bool isThere() const { return data != nullptr; }

private:
  void drop() {
    if (data)
      munmap(data, kBytes);
    data = nullptr;
  }
  char *data = nullptr;
};
} // namespace

UnitRates logitile::measureRates(CpuTier tier) {
  constexpr double kProducts = 2.0 * 16 * 12 * kSteps; // of float32 on 16 lanes
  UnitRates rates;
  if (tier == CpuTier::Avx2)
    rates.float32 = bestRate(10, kProducts / 2, secondsOfAvx2);
  if (tier >= CpuTier::Avx512)
    rates.float32 = bestRate(10, kProducts, secondsOfAvx512);
  if (tier == CpuTier::Avx512Bf16)
    rates.bfloat16 = bestRate(10, kProducts * 2, secondsOfBfloat16);
  if (tier == CpuTier::AmxBf16)
    rates.bfloat16 = bestRate(40, 2.0 * 16 * 16 * 32 * 4 * kTileSteps, secondsOfTiles); // it takes some milliseconds to reach its speed
  Stretch stretch;
  const double pages = bestRate(2, Stretch::kBytes, [&] { return stretch.secondsToTake(); });
  if (!stretch.isThere())
    return rates;
  rates.pages = pages;
  rates.memory = bestRate(3, Stretch::kBytes, [&] { return stretch.secondsToRead(); });
  return rates;
}

// ---- record -------------------------------------------------------------------------------------

// A line for each processor that has used the folder: its name, and its rates, each after a tab.
static constexpr char kFile[] = "cpu-rates";

static std::string readRecords(const CacheFolder &folder) {
  Result<std::optional<std::string>> text = folder.read(kFile);
  return text.isOk() ? text->value_or("") : "";
}
static bool isOf(const std::string &line, const std::string &cpu) { return line.starts_with(cpu + "\t"); }

std::optional<UnitRates> logitile::recordedRates(const CacheFolder &folder, const std::string &cpu) {
  std::istringstream lines(readRecords(folder));
  for (std::string line; std::getline(lines, line);) {
    if (!isOf(line, cpu))
      continue;
    UnitRates rates;
    std::istringstream numbers(line.substr(cpu.size()));
    numbers >> rates.float32 >> rates.bfloat16 >> rates.memory >> rates.pages;
    if (numbers && std::min({rates.float32, rates.bfloat16, rates.memory, rates.pages}) >= 0 && rates.memory > 0)
      return rates;
  }
  return std::nullopt;
}

void logitile::recordRates(const CacheFolder &folder, const std::string &cpu, const UnitRates &rates) {
  std::ostringstream text;
  std::istringstream lines(readRecords(folder));
  for (std::string line; std::getline(lines, line);)
    if (!isOf(line, cpu))
      text << line << '\n';
  text << cpu << '\t' << rates.float32 << '\t' << rates.bfloat16 << '\t' << rates.memory << '\t' << rates.pages << '\n';
  static_cast<void>(folder.publish(kFile, text.str())); // what is not kept is measured again
}

// ---- this machine -------------------------------------------------------------------------------

static std::optional<UnitRates> hostTabledRates() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return std::nullopt;
  // Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID, figure
  // 3-6.
  const unsigned family = (a >> 8) & 15, model = (a >> 4) & 15, moreFamily = (a >> 20) & 255, moreModel = (a >> 16) & 15;
  return tabledRates(family == 15 ? family + moreFamily : family, model + (moreModel << 4));
}

std::optional<UnitRates> logitile::hostRates() {
  Result<std::optional<DiskCache::Options>> cache = DiskCache::fromEnvironment(nullptr);
  if (!cache.isOk() || !*cache)
    return hostTabledRates();
  Result<CacheFolder> folder = CacheFolder::open((*cache)->folder, CacheFolder::Missing::Make);
  if (!folder.isOk() || !folder->isOpen())
    return hostTabledRates();
  const std::string cpu = cpuModel() + (detectTier() == CpuTier::AmxBf16 ? ", AMX" : ""); // systems may keep it from processes
  if (std::optional<UnitRates> recorded = recordedRates(*folder, cpu))
    return recorded;
  const UnitRates measured = measureRates(detectTier());
  recordRates(*folder, cpu, measured);
  return measured;
}
