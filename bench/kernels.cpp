// kernels.cpp - the kernels of a cross-entropy training step, one by one: time, rate and share of the peak that bench/peak
// measures. No Python, no Engine: buffers and the loop over chunks are laid out by hand.
#include "test/unit/KernelHarness.h"
#include "test/unit/Numbers.h"
#include "llvm/Support/CommandLine.h"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/mman.h>
using namespace logitile;
namespace cl = llvm::cl;

static cl::opt<std::string> element("element", cl::desc("f32 or bf16"), cl::init("f32"));
static cl::opt<std::string> tierName("tier", cl::desc("CPU tier; default: the host's"), cl::init(""));
static cl::opt<int64_t> tokens("n", cl::init(1024)), hidden("d", cl::init(1024)), vocab("v", cl::init(32000)),
    chunk("chunk", cl::init(512));
static cl::opt<int> threads("threads", cl::init(2)), rounds("rounds", cl::init(3));
static cl::opt<int64_t> tm("tm", cl::init(512)), tn("tn", cl::init(112)), td("td", cl::init(512)), tkProject("tk-project", cl::init(512)),
    tkHidden("tk-hidden", cl::init(224)), tkWeight("tk-weight", cl::init(512)), slabTiles("slab-tiles", cl::init(2));
static cl::opt<int64_t> tdHidden("td-hidden", cl::init(0)), tnWeight("tn-weight", cl::init(0));
static cl::opt<double> peak("peak", cl::desc("GFLOP/s of bench/peak for these threads, to print shares of it"), cl::init(0));
static cl::opt<bool> onlyTimes("compile-only", cl::init(false));

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
/// Seconds that all threads worked. On a machine that others use too, wall time would count what they took.
static double workedSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

/// The plan, with the numbers of the command line.
static std::string planText(CpuTier tier) {
  bool isHalf = element != "f32", dots = getTierInfo(tier).hasBf16Dot;
  std::string in = element, op = isHalf && dots ? in : "f32", name(getTierInfo(tier).name);
  int64_t slab = tn * slabTiles;
  const char *round = "logitile.launch \"round\" from @round_weight<TN = $WN, TD = $TD, D = $D, acc = f32, out = $IN> "
                      "views {sum = \"sum.z.weight\", out = \"gradient.z.weight\"}";
  std::stringstream plan;
  plan << std::ifstream(LOGITILE_BENCH_PLAN).rdbuf();
  return fill(plan.str(), {{"ROUND", isHalf ? round : ""},
                           {"WEIGHTOUT", isHalf ? "sum.z.weight" : "gradient.z.weight"},
                           {"WN", text(tnWeight ? tnWeight : tn)},
                           {"HD", text(tdHidden ? tdHidden : td)},
                           {"TIER", name},
                           {"SLABS", text((vocab + slab - 1) / slab)},
                           {"SLAB", text(slab)},
                           {"CHUNK", text(chunk)},
                           {"KP", text(tkProject)},
                           {"KH", text(tkHidden)},
                           {"KW", text(tkWeight)},
                           {"TM", text(tm)},
                           {"TN", text(tn)},
                           {"TD", text(td)},
                           {"IN", in},
                           {"OP", op},
                           {"D", text(hidden)},
                           {"V", text(vocab)},
                           {"N", text(tokens)},
                           {"G", op}});
}

/// Zeroed memory on huge pages.
template <typename T> static T *allocate(int64_t count) {
  size_t bytes = (count * sizeof(T) + (2 << 20) - 1) & ~size_t((2 << 20) - 1);
  void *memory = std::aligned_alloc(2 << 20, bytes);
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  return static_cast<T *>(memory);
}
namespace {
/// Inputs, outputs and workspace of one step.
struct Step {
  KernelHarness &kernels;
  bool isHalf, isPacked; // 16-bit inputs; 16-bit operands
  int64_t width, stride;
  char *x, *w, *dx, *dw;
  float *sum, *kept, *loss, *up;
  int32_t *map, *target;
  std::map<std::string, double> seconds;

  Step(KernelHarness &kernels, CpuTier tier)
      : kernels(kernels), isHalf(element != "f32"), isPacked(isHalf && getTierInfo(tier).hasBf16Dot), width(getTierInfo(tier).panelWidth()),
        stride((chunk + width - 1) / width * width + 16) {
    int64_t bytes = isHalf ? 2 : 4, slabs = (vocab + tn * slabTiles - 1) / (tn * slabTiles);
    x = allocate<char>(tokens * hidden * bytes), dx = allocate<char>(tokens * hidden * bytes);
    w = allocate<char>(vocab * hidden * bytes), dw = allocate<char>(vocab * hidden * bytes);
    sum = isHalf ? allocate<float>(vocab * hidden) : nullptr;
    kept = allocate<float>(vocab * stride);
    loss = allocate<float>(tokens), up = allocate<float>(tokens);
    map = allocate<int32_t>(tokens), target = allocate<int32_t>(tokens + width);
    fill();
    for (const char *name : {"known.max", "known.log_sum", "known.row.z.0", "known.up"})
      kernels.bind(name, allocate<float>(stride));
    for (const char *name : {"rows.sweep0.max", "rows.sweep0.sum", "rows.sweep0.pick"})
      kernels.bind(name, allocate<float>(slabs * stride), stride, 1);
    int64_t padded = stride - 16;
    kernels.bind("packed.z.rows", allocate<float>(padded * (hidden + 1)), (hidden + isPacked) / (1 + isPacked) * (1 + isPacked) * width, 0);
    kernels.bind("packed.z.columns", allocate<float>(padded * (hidden + width)), 0, padded * width);
    kernels.bind("kept.z", kept, 1, stride);
    kernels.bind("grad.z", kept, 1, isPacked ? 2 * stride : stride);
    kernels.bind("z.weight", w, hidden, 1);
    kernels.bind("gradient.z.weight", dw, hidden, 1);
    kernels.bind("sum.z.weight", sum, hidden, 1);
  }

  void fill() {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < tokens * hidden; ++i)
      put(number(), x, i, uniform(random) * 1.7f);
    for (int64_t i = 0; i < vocab * hidden; ++i)
      put(number(), w, i, uniform(random) * 0.1f);
    for (int64_t i = 0; i < tokens; ++i)
      map[i] = i % chunk, target[i] = random() % vocab, up[i] = 1.0f / tokens;
  }

  void launch(const char *name) {
    double start = workedSeconds();
    kernels.run(name, threads);
    seconds[name] += (workedSeconds() - start) / threads;
  }
  /// Seconds of work for each thread.
  double run() {
    seconds.clear();
    double start = workedSeconds();
    for (int64_t first = 0; first < tokens; first += chunk) {
      kernels.set("tokens", std::min<int64_t>(chunk, tokens - first));
      kernels.set("again.tokens", first > 0);
      int64_t bytes = isHalf ? 2 : 4;
      kernels.bind("map", map);
      kernels.bind("z.hidden", x + first * hidden * bytes, hidden, 1);
      kernels.bind("gradient.z.hidden", dx + first * hidden * bytes, hidden, 1);
      kernels.bind("target", target + first);
      kernels.bind("upstream.loss", up + first);
      kernels.bind("known.loss", loss + first);
      for (const char *name : {"pack_z_rows", "sweep0", "finish0", "adjoint", "gradient", "z_hidden", "pack_z_columns", "z_weight"})
        launch(name);
    }
    if (isHalf)
      launch("round");
    return (workedSeconds() - start) / threads;
  }

  Number number() const { return isHalf ? Number::BF16 : Number::F32; }
  float at(const char *memory, int64_t i) const { return get(number(), memory, i); }
  std::vector<double> logits(int64_t token) const {
    std::vector<double> z(vocab);
    for (int64_t v = 0; v < vocab; ++v)
      for (int64_t d = 0; d < hidden; ++d)
        z[v] += double(at(x, token * hidden + d)) * at(w, v * hidden + d);
    return z;
  }
  /// Loss and gradient of hidden states against f64, for a few tokens. The tests check everything; this one sees mistakes in
  /// the benchmark.
  void check() const {
    double lossError = 0, difference = 0, norm = 0;
    for (int64_t i : {int64_t(0), tokens / 3, tokens - 1}) {
      std::vector<double> z = logits(i), row(hidden);
      double most = *std::max_element(z.begin(), z.end()), total = 0;
      for (double value : z)
        total += std::exp(value - most);
      double lse = most + std::log(total);
      lossError = std::max(lossError, std::fabs(lse - z[target[i]] - loss[i]));
      for (int64_t v = 0; v < vocab; ++v)
        for (int64_t d = 0; d < hidden; ++d)
          row[d] += (std::exp(z[v] - lse) - (v == target[i])) / tokens * at(w, v * hidden + d);
      for (int64_t d = 0; d < hidden; ++d) {
        double error = row[d] - at(dx, i * hidden + d);
        difference += error * error, norm += row[d] * row[d];
      }
    }
    std::printf("errors: loss %.1e, hidden gradient %.1e (normwise)\n", lossError, std::sqrt(difference / norm));
  }
};
} // namespace

static std::unique_ptr<KernelHarness> compileAndReport(CpuTier tier, std::string &error) {
  auto kernels = KernelHarness::compile(planText(tier), tier, error);
  if (!kernels)
    return nullptr;
  const StageTimes &t = kernels->times;
  std::printf("compile ms: parse %.1f, specialise %.1f, tiles to device %.1f, device to object %.1f, load %.1f; from tiles %.1f; object "
              "%zu bytes\n",
              t.parse, t.specialise, t.tiles, t.object, t.load, t.fromTiles(), kernels->objectBytes);
  return kernels;
}

static void measureStep(KernelHarness &kernels, CpuTier tier) {
  Step step(kernels, tier);
  step.run();
  step.check();
  double best = 1e9, wall = 1e9, flops = 2.0 * tokens * vocab * hidden;
  std::map<std::string, double> seconds;
  for (int i = 0; i < rounds; ++i) {
    double start = now(), time = step.run();
    wall = std::min(wall, now() - start);
    if (time < best)
      best = time, seconds = step.seconds;
  }
  for (auto &[name, time] : seconds) {
    bool isContraction = name == "sweep0" || name == "z_hidden" || name == "z_weight";
    std::printf("  %-16s %8.1f ms", name.c_str(), time * 1e3);
    std::printf(isContraction ? "  %.0f GFLOP/s\n" : "\n", flops / time * 1e-9);
  }
  double rate = 3 * flops / best * 1e-9;
  std::printf("%s %s n=%ld d=%ld v=%ld threads=%d: %.3f s (wall %.3f), %.0f GFLOP/s of 6NVD", std::string(getTierInfo(tier).name).c_str(),
              element.c_str(), long(tokens), long(hidden), long(vocab), int(threads), best, wall, rate);
  if (peak > 0)
    std::printf(", %.1f %% of %.0f", 100 * rate / peak, double(peak));
  std::printf("\n");
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "kernels of cross entropy, one by one\n");
  std::string error;
  std::optional<Target> target = tierName.empty() ? Target::host(error) : Target::parse("cpu:" + tierName);
  if (!target) {
    std::fprintf(stderr, "%s\n", error.empty() ? "no such tier" : error.c_str());
    return 1;
  }
  std::unique_ptr<KernelHarness> kernels;
  for (int i = 0; i < (onlyTimes ? 5 : 2); ++i) // the first compilation of a process also pays for its start
    if (!(kernels = compileAndReport(target->tier, error))) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 1;
    }
  if (!onlyTimes)
    measureStep(*kernels, target->tier);
}
