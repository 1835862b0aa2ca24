// kernels.cpp - the kernels of a cross-entropy training step, one by one: time, rate and share of the peak that bench/peak
// measures. No Python, no Engine: buffers and the loop over chunks are laid out by hand.
#include "test/unit/KernelHarness.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <sys/mman.h>
using namespace logitile;
namespace cl = llvm::cl;

static cl::opt<std::string> element("element", cl::desc("f32 or bf16"), cl::init("f32"));
static cl::opt<std::string> tierName("tier", cl::desc("CPU tier; default: the host's"), cl::init(""));
static cl::opt<int64_t> tokens("n", cl::init(1024)), hidden("d", cl::init(1024)), vocab("v", cl::init(32000)), chunk("chunk", cl::init(512));
static cl::opt<int> threads("threads", cl::init(2)), rounds("rounds", cl::init(3));
static cl::opt<int64_t> tm("tm", cl::init(512)), tn("tn", cl::init(112)), td("td", cl::init(512)), tkProject("tk-project", cl::init(512)),
    tkHidden("tk-hidden", cl::init(224)), tkWeight("tk-weight", cl::init(512)), slabTiles("slab-tiles", cl::init(2));
static cl::opt<int64_t> tdHidden("td-hidden", cl::init(0)), tnWeight("tn-weight", cl::init(0));
static cl::opt<double> peak("peak", cl::desc("GFLOP/s of bench/peak for these threads, to print shares of it"), cl::init(0));
static cl::opt<bool> onlyTimes("compile-only", cl::init(false));

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The plan, with the numbers of the command line.
static std::string planText(CpuTier tier) {
  bool isHalf = element != "f32", dots = getTierInfo(tier).hasBf16Dot;
  std::string in = element, op = isHalf && dots ? in : "f32", g = op, weightOut = isHalf ? "sum.z.weight" : "gradient.z.weight";
  int64_t slab = tn * slabTiles;
  std::string text = R"(
module @cross_entropy attributes {logitile.request = #logitile.request<pairs = [#logitile.pair<"z", hidden = $D, element = $IN>], dense = {},
  gradients = ["z.hidden", "z.weight"], gradient_elements = {}, mode = early, tokens = $N, workspace = 268435456, chunks = 0,
  accumulate = false, target = "cpu:$TIER", threads = 2>} {
 logitile.program @cross_entropy vocab $V outputs [#logitile.output<"loss" : f32>] indices ["target"] checked [] {
    logitile.sweep @sweep0 forward state ["max" : f32, "sum" : f32, "pick" : f32] init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      %zero = arith.constant 0.0 : f32
      logitile.yield %lowest, %zero, %zero : f32, f32, f32
    } bound {
      %z = logitile.input logits "z" : f32
      logitile.yield %z : f32
    } update {
    ^bb0(%max: f32, %sum: f32, %pick: f32):
      %z = logitile.input logits "z" : f32
      %target = logitile.input token "target" : i32
      %x = arith.subf %z, %max : f32
      %e = math.exp %x : f32
      %next = arith.addf %sum, %e : f32
      %column = logitile.column : i32
      %is = arith.cmpi eq, %column, %target : i32
      %nextPick = arith.select %is, %z, %pick : f32
      logitile.yield %max, %next, %nextPick : f32, f32, f32
    } merge {
    ^bb0(%max_a: f32, %sum_a: f32, %pick_a: f32, %max_b: f32, %sum_b: f32, %pick_b: f32):
      %gt = arith.cmpf ogt, %max_b, %max_a : f32
      %max = arith.select %gt, %max_b, %max_a : f32
      %da = arith.subf %max_a, %max : f32
      %db = arith.subf %max_b, %max : f32
      %ea = math.exp %da : f32
      %eb = math.exp %db : f32
      %wa = logitile.weigh %ea, %sum_a : f32
      %wb = logitile.weigh %eb, %sum_b : f32
      %sum = arith.addf %wa, %wb : f32
      %pick = arith.addf %pick_a, %pick_b : f32
      logitile.yield %max, %sum, %pick : f32, f32, f32
    }
    logitile.finish @finish0 forward of @sweep0 results ["loss" : f32, "max" : f32, "log_sum" : f32] {
    ^bb0(%max: f32, %sum: f32, %pick: f32):
      %log = math.log %sum : f32
      %lse = arith.addf %max, %log : f32
      %loss = arith.subf %lse, %pick : f32
      logitile.yield %loss, %max, %log : f32, f32, f32
    }
    logitile.finish @adjoint adjoint results ["row.z.0" : f32, "up": f32] {
      %up = logitile.input upstream "loss" : f32
      %down = arith.negf %up : f32
      logitile.yield %down, %up : f32, f32
    }
    logitile.gradient {
      %z = logitile.input logits "z" : f32
      %max = logitile.input known "max" : f32
      %log = logitile.input known "log_sum" : f32
      %up = logitile.input known "up" : f32
      %row = logitile.input known "row.z.0" : f32
      %target = logitile.input token "target" : i32
      %x = arith.subf %z, %max : f32
      %y = arith.subf %x, %log : f32
      %p = math.exp %y : f32
      %dz = logitile.weigh %p, %up : f32
      logitile.adjoint logits "z" dense %dz rows [%target -> %row]
    }
    logitile.schedule tokens [0, 4096) slab $SLAB kept $V {
      logitile.buffer "z.hidden" input : !logitile.view<?x$Dx$IN>
      logitile.buffer "z.weight" input : !logitile.view<$Vx$Dx$IN>
      logitile.buffer "gradient.z.hidden" output : !logitile.view<?x$Dx$IN>
      logitile.buffer "gradient.z.weight" output : !logitile.view<$Vx$Dx$IN>
      logitile.buffer "sum.z.weight" call : !logitile.view<$Vx$Dxf32>
      logitile.buffer "map" call : !logitile.view<?xi32>
      logitile.buffer "target" call : !logitile.view<?xi32>
      logitile.buffer "upstream.loss" call : !logitile.view<?xf32>
      logitile.buffer "known.loss" call : !logitile.view<?xf32>
      logitile.buffer "known.max" chunk : !logitile.view<?xf32>
      logitile.buffer "known.log_sum" chunk : !logitile.view<?xf32>
      logitile.buffer "known.row.z.0" chunk : !logitile.view<?xf32>
      logitile.buffer "known.up" chunk : !logitile.view<?xf32>
      logitile.buffer "packed.z.rows" chunk : !logitile.view<?x$Dx$OP, row_panels>
      logitile.buffer "packed.z.columns" chunk : !logitile.view<?x$Dx$OP, column_panels>
      logitile.buffer "kept.z" chunk : !logitile.view<?x$Vxf32, column_major>
      logitile.buffer "grad.z" chunk alias "kept.z" : !logitile.view<?x$Vx$G, column_major>
      logitile.buffer "rows.sweep0.max" chunk : !logitile.view<$SLABSx?xf32>
      logitile.buffer "rows.sweep0.sum" chunk : !logitile.view<$SLABSx?xf32>
      logitile.buffer "rows.sweep0.pick" chunk : !logitile.view<$SLABSx?xf32>
      logitile.run forward {
        logitile.loop tokens $CHUNK {
          logitile.launch "pack_z_rows" from @pack<TM = 32, D = $D, in = $IN, op = $OP> views {source = "z.hidden", packed = "packed.z.rows"}
          logitile.launch "sweep0" from @project_sweep<TM = $TM, TN = $TN, TK = $KP, acc = f32> sweep @sweep0 keep
          logitile.launch "finish0" from @finish<TM = $TM> sweep @sweep0 finish @finish0
          logitile.launch "adjoint" from @finish<TM = $TM> finish @adjoint
          logitile.launch "gradient" from @gradient_kept<TM = $TM, TN = $TN, acc = f32>
          logitile.launch "z_hidden" from @contract_hidden<TM = $TM, TD = $HD, TK = $KH, D = $D, in = $IN, g = $G, out = $IN, acc = f32> input "z" views {grad = "grad.z", weight = "z.weight", out = "gradient.z.hidden"}
          logitile.launch "pack_z_columns" from @pack<TM = 32, D = $D, in = $IN, op = $OP> views {source = "z.hidden", packed = "packed.z.columns"}
          logitile.launch "z_weight" from @contract_weight<TN = $WN, TD = $TD, TK = $KW, D = $D, op = $OP, g = $G, out = f32, acc = f32> input "z" views {grad = "grad.z", hidden = "packed.z.columns", out = "$WEIGHTOUT"} again tokens
        }
        $ROUND
      }
    }
  }
})";
  auto set = [&](const char *name, const std::string &value) {
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, std::strlen(name), value);
  };
  auto number = [&](const char *name, int64_t value) { set(name, std::to_string(value)); };
  set("$ROUND", isHalf ? "logitile.launch \"round\" from @round_weight<TN = $WN, TD = $TD, D = $D, acc = f32, out = $IN> views {sum = "
                         "\"sum.z.weight\", out = \"gradient.z.weight\"}"
                       : "");
  set("$WEIGHTOUT", weightOut);
  number("$WN", tnWeight ? tnWeight : tn);
  number("$HD", tdHidden ? tdHidden : td);
  set("$TIER", std::string(getTierInfo(tier).name));
  number("$SLABS", (vocab + slab - 1) / slab);
  number("$SLAB", slab);
  number("$CHUNK", chunk);
  number("$KP", tkProject), number("$KH", tkHidden), number("$KW", tkWeight);
  number("$TM", tm), number("$TN", tn), number("$TD", td);
  set("$IN", in), set("$OP", op);
  number("$D", hidden), number("$V", vocab), number("$N", tokens);
  set("$G", g);
  return text;
}

/// Zeroed memory on huge pages.
template <typename T>
static T *allocate(int64_t count) {
  size_t bytes = (count * sizeof(T) + (2 << 20) - 1) & ~size_t((2 << 20) - 1);
  void *memory = std::aligned_alloc(2 << 20, bytes);
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  return static_cast<T *>(memory);
}
static float toFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
static uint16_t toHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
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
    auto put = [&](char *to, int64_t count, float scale) {
      for (int64_t i = 0; i < count; ++i)
        if (isHalf)
          reinterpret_cast<uint16_t *>(to)[i] = toHalf(uniform(random) * scale);
        else
          reinterpret_cast<float *>(to)[i] = uniform(random) * scale;
    };
    put(x, tokens * hidden, 1.7f), put(w, vocab * hidden, 0.1f);
    for (int64_t i = 0; i < tokens; ++i)
      map[i] = i % chunk, target[i] = random() % vocab, up[i] = 1.0f / tokens;
  }

  void launch(const char *name) {
    double start = now();
    kernels.run(name, threads);
    seconds[name] += now() - start;
  }
  double run() {
    seconds.clear();
    double start = now();
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
    return now() - start;
  }

  float at(const char *memory, int64_t i) const {
    return isHalf ? toFloat(reinterpret_cast<const uint16_t *>(memory)[i]) : reinterpret_cast<const float *>(memory)[i];
  }
  /// Against f64 on some rows.
  void check() {
    double lossError = 0, difference = 0, norm = 0, weightDifference = 0, weightNorm = 0;
    std::vector<double> z(vocab), lse(tokens);
    for (int64_t i : {int64_t(0), tokens / 3, tokens - 1}) {
      double most = -1e30, total = 0;
      for (int64_t v = 0; v < vocab; ++v) {
        double dot = 0;
        for (int64_t d = 0; d < hidden; ++d)
          dot += double(at(x, i * hidden + d)) * at(w, v * hidden + d);
        z[v] = dot, most = std::max(most, dot);
      }
      for (double value : z)
        total += std::exp(value - most);
      double lse = most + std::log(total);
      lossError = std::max(lossError, std::fabs(lse - z[target[i]] - loss[i]));
      std::vector<double> row(hidden);
      for (int64_t v = 0; v < vocab; ++v) {
        double g = (std::exp(z[v] - lse) - (v == target[i])) / tokens;
        for (int64_t d = 0; d < hidden; ++d)
          row[d] += g * at(w, v * hidden + d);
      }
      for (int64_t d = 0; d < hidden; ++d) {
        double error = row[d] - at(dx, i * hidden + d);
        difference += error * error, norm += row[d] * row[d];
      }
    }
    // The gradient of the head sums to that of all tokens: columns of ones would give 0, so compare with X^T (p - 1) of one row.
    (void)weightDifference, (void)weightNorm;
    std::printf("errors: loss %.1e, hidden gradient %.1e (normwise)\n", lossError, std::sqrt(difference / norm));
  }
};
} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  std::string error;
  std::optional<Target> target = tierName.empty() ? Target::host(error) : Target::parse("cpu:" + tierName);
  if (!target) {
    std::fprintf(stderr, "%s\n", error.empty() ? "no such tier" : error.c_str());
    return 1;
  }
  std::unique_ptr<KernelHarness> kernels;
  for (int i = 0; i < (onlyTimes ? 5 : 2); ++i) { // the first compilation of a process also pays for its start
    kernels = KernelHarness::compile(planText(target->tier), target->tier, error);
    if (!kernels) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 1;
    }
    const StageTimes &t = kernels->times;
    std::printf("compile ms: parse %.1f, specialise %.1f, tiles to device %.1f, device to object %.1f, load %.1f; from tiles %.1f; object %zu bytes\n",
                t.parse, t.specialise, t.tiles, t.object, t.load, t.fromTiles(), kernels->objectBytes);
  }
  if (onlyTimes)
    return 0;
  Step step(*kernels, target->tier);
  step.run();
  step.check();
  double best = 1e9;
  std::map<std::string, double> seconds;
  for (int i = 0; i < rounds; ++i)
    if (double time = step.run(); time < best)
      best = time, seconds = step.seconds;
  double flops = 2.0 * tokens * vocab * hidden;
  for (auto &[name, time] : seconds)
    std::printf("  %-16s %8.1f ms  %s\n", name.c_str(), time * 1e3,
                name == "sweep0" || name == "z_hidden" || name == "z_weight" ? llvm::formatv("{0:f0} GFLOP/s", flops / time * 1e-9).str().c_str() : "");
  double rate = 3 * flops / best * 1e-9;
  std::printf("%s %s n=%ld d=%ld v=%ld threads=%d: %.3f s, %.0f GFLOP/s of 6NVD", std::string(getTierInfo(target->tier).name).c_str(), element.c_str(),
              long(tokens), long(hidden), long(vocab), int(threads), best, rate);
  if (peak > 0)
    std::printf(", %.1f %% of %.0f", 100 * rate / peak, double(peak));
  std::printf("\n");
}
