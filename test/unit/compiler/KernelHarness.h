// KernelHarness.h - compiles kernels of the tiles stage for this machine and runs them on plain
// arrays. For tests and benchmarks; the product's way is the runtime's Engine.
#pragma once
#include "compiler/Backends/CPU/Tier.h"
#include "runtime/cpu/ObjectLoader.h"
#include <map>
#include <string>
#include <vector>

namespace logitile {
/// Memory that a kernel sees under the role of its argument.
struct Bound {
  void *data = nullptr;
  int64_t stride0 = 0, stride1 = 0;
};

/// Milliseconds of work of each step from text to callable code.
struct StageTimes {
  double parse = 0, specialise = 0, tiles = 0, object = 0, load = 0;
  double fromTiles() const { return tiles + object + load; }
};

class KernelHarness {
public:
  /// Programs in 'text' are specialised first. Null with the diagnostics in 'error'.
  static std::unique_ptr<KernelHarness> compile(const std::string &text, CpuTier tier, std::string &error);

  void bind(const std::string &role, void *data, int64_t stride0 = 1, int64_t stride1 = 1) { views[role] = {data, stride0, stride1}; }
  void set(const std::string &role, int64_t value) { scalars[role] = value; }
  /// Runs all tasks of a kernel, task i on thread i % threads.
  void run(const std::string &kernel, int threads = 1);

  StageTimes times;
  size_t objectBytes = 0;

private:
  struct Axis {
    std::string lowerRole, upperRole, stepRole; // "" for a constant
    int64_t lower = 0, upper = 0, step = 1;
  };
  struct Kernel {
    std::vector<std::pair<std::string, bool>> roles; // and whether it is a view
    std::vector<Axis> axes;
    int64_t scratchBytes = 0;
    CpuKernel function = nullptr;
  };
  struct Describer;

  int64_t valueOf(const std::string &role, int64_t constant) { return role.empty() ? constant : scalars.at(role); }

  std::map<std::string, Kernel> kernels;
  std::map<std::string, Bound> views;
  std::map<std::string, int64_t> scalars;
  std::vector<std::vector<char>> scratch;
  std::unique_ptr<ObjectLoader> code;
};
} // namespace logitile
