// CpuRates.cpp - measures products in registers, once for a machine, and keeps what came out.
#include "runtime/cpu/CpuRates.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/cpu/CpuModel.h"
#include <algorithm>
#include <cpuid.h>
#include <ctime>
#include <immintrin.h>
#include <sstream>
using namespace logitile;

// ---- table ------------------------------------------------------------------------------------------------------------------------

std::optional<ProductRates> logitile::tabledRates(unsigned family, unsigned model) {
  struct Row {
    unsigned family, model;
    ProductRates rates;
  };
  // Of what is not here, vdpbf16ps multiplies twice as fast as float32 does, as on Zen 4 and 5.
  static constexpr Row kRows[] = {
      {6, 143, {100, 50}}, // Sapphire Rapids: 2 cycles for a vdpbf16ps, half of one for a multiplication and addition of float32
      {6, 207, {100, 50}}, // Emerald Rapids: the same cores
  };
  const Row *row = std::ranges::find_if(kRows, [&](const Row &row) { return row.family == family && row.model == model; });
  return row == std::end(kRows) ? std::nullopt : std::optional(row->rates);
}

// ---- measurement ------------------------------------------------------------------------------------------------------------------

/// Seconds that this thread worked: others may use the machine too.
static double workedSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Twelve sums that do not wait for each other hide the latency; all are zero. What is in registers by name needs no intrinsics, which
// compilers would see through.
#define LOGITILE_TWELVE(instruction)                                                                                                       \
  instruction("0") instruction("1") instruction("2") instruction("3") instruction("4") instruction("5") instruction("6") instruction("7")  \
      instruction("8") instruction("9") instruction("10") instruction("11")
#define LOGITILE_CLEAR(sum) "vpxord %%zmm" sum ", %%zmm" sum ", %%zmm" sum "\n"
#define LOGITILE_FMA(sum) "vfmadd231ps %%zmm12, %%zmm12, %%zmm" sum "\n"
#define LOGITILE_DOT(sum) "vdpbf16ps %%zmm12, %%zmm12, %%zmm" sum "\n"
#define LOGITILE_CLOBBERS                                                                                                                  \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12"
#define LOGITILE_SECONDS_OF(instruction)                                                                                                   \
  const double start = workedSeconds();                                                                                                    \
  asm volatile(LOGITILE_TWELVE(LOGITILE_CLEAR) LOGITILE_CLEAR("12")::: LOGITILE_CLOBBERS);                                                 \
  for (long step = 0; step < kSteps; ++step)                                                                                               \
    asm volatile(LOGITILE_TWELVE(instruction)::: LOGITILE_CLOBBERS);                                                                       \
  asm volatile("vzeroupper" ::: LOGITILE_CLOBBERS);                                                                                        \
  return workedSeconds() - start

static constexpr long kSteps = 200'000;
__attribute__((target("avx512f"))) static double secondsOfFloat32() { LOGITILE_SECONDS_OF(LOGITILE_FMA); }
__attribute__((target("avx512f,avx512bf16"))) static double secondsOfBfloat16() { LOGITILE_SECONDS_OF(LOGITILE_DOT); }

ProductRates logitile::measureRates() {
  constexpr double kProducts = 2e-9 * 16 * 12 * kSteps; // of float32; twice as many of bfloat16
  ProductRates best;
  for (int round = 0; round < 10; ++round) {
    best.float32 = std::max(best.float32, kProducts / secondsOfFloat32());
    best.bfloat16 = std::max(best.bfloat16, 2 * kProducts / secondsOfBfloat16());
  }
  return best;
}

// ---- record -----------------------------------------------------------------------------------------------------------------------

// A line for each processor that has used the folder: its name, a tab, and its rates.
static constexpr char kFile[] = "cpu-rates";

static std::string readRecords(const CacheFolder &folder) {
  Result<std::optional<std::string>> text = folder.read(kFile);
  return text.isOk() ? text->value_or("") : "";
}
static bool isOf(const std::string &line, const std::string &cpu) { return line.starts_with(cpu + "\t"); }

std::optional<ProductRates> logitile::recordedRates(const CacheFolder &folder, const std::string &cpu) {
  std::istringstream lines(readRecords(folder));
  for (std::string line; std::getline(lines, line);) {
    if (!isOf(line, cpu))
      continue;
    ProductRates rates;
    std::istringstream numbers(line.substr(cpu.size()));
    if (numbers >> rates.float32 >> rates.bfloat16 && rates.float32 > 0 && rates.bfloat16 > 0)
      return rates;
  }
  return std::nullopt;
}

void logitile::recordRates(const CacheFolder &folder, const std::string &cpu, const ProductRates &rates) {
  std::ostringstream text;
  std::istringstream lines(readRecords(folder));
  for (std::string line; std::getline(lines, line);)
    if (!isOf(line, cpu))
      text << line << '\n';
  text << cpu << '\t' << rates.float32 << '\t' << rates.bfloat16 << '\n';
  static_cast<void>(folder.publish(kFile, text.str())); // what is not kept is measured again
}

// ---- this machine -----------------------------------------------------------------------------------------------------------------

static std::optional<ProductRates> hostTabledRates() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return std::nullopt;
  // Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID, figure 3-6.
  const unsigned family = (a >> 8) & 15, model = (a >> 4) & 15, moreFamily = (a >> 20) & 255, moreModel = (a >> 16) & 15;
  return tabledRates(family == 15 ? family + moreFamily : family, model + (moreModel << 4));
}

std::optional<ProductRates> logitile::hostRates() {
  Result<std::optional<DiskCache::Options>> cache = DiskCache::fromEnvironment(nullptr);
  if (!cache.isOk() || !*cache)
    return hostTabledRates();
  Result<CacheFolder> folder = CacheFolder::open((*cache)->folder, CacheFolder::Missing::Make);
  if (!folder.isOk() || !folder->isOpen())
    return hostTabledRates();
  if (std::optional<ProductRates> recorded = recordedRates(*folder, cpuModel()))
    return recorded;
  const ProductRates measured = measureRates();
  recordRates(*folder, cpuModel(), measured);
  return measured;
}
