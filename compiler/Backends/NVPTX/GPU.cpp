// GPU.cpp - the tables of compute capabilities and chips.
#include "compiler/Backends/NVPTX/GPU.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
using namespace logitile;

// Shared memory of a block: CUDA programming guide, technical specifications by compute capability.
// Sums of a thread: with 128 of them, ptxas 13.0 spills registers of kernels for sm_100 and sm_120,
// and of none for the others.
static constexpr GpuInfo kGpus[] = {{"sm_80", 80, false, 163 * 1024, "a100", 128},   {"sm_86", 86, false, 99 * 1024, "rtx3090", 128},
                                    {"sm_89", 89, false, 99 * 1024, "l40s", 128},    {"sm_90", 90, false, 227 * 1024, "h200", 128},
                                    {"sm_90a", 90, true, 227 * 1024, "h200", 128},   {"sm_100", 100, false, 227 * 1024, "b200", 64},
                                    {"sm_120", 120, false, 99 * 1024, "rtx5090", 64}};

constexpr int64_t MiB = int64_t(1) << 20;
// NVIDIA's documents, each for the SXM form where there are several:
// a100: "A100 Tensor Core GPU Architecture" (80 GB); rtx3090: "Ampere GA102 GPU Architecture";
// l40s: L40S data sheet; rtx4090: "Ada GPU Architecture"; h100: "H100 Tensor Core GPU
// Architecture"; h200: H200 data sheet; b200: HGX B200 data sheet, of which a GPU is an eighth, and
// what drivers say of one, as published in two places: multiprocessors and L2 in pull request 4002
// of github.com/pytorch/ao, the clock in github.com/stas00/ml-engineering, compute/accelerator;
// rtx5090: "RTX Blackwell GPU Architecture". Rates with sparsity in those documents are halved.
// cuBLAS: measured for products of 8192^3, 798 Tflop/s on an h100 and 788 on an h200; about 275 on
// an a100, for which ml-engineering has 271; the others are assumed to reach the share of the h200.
static constexpr GpuChip kChips[] = {
    {"a100", 80, 108, 1.410e9, 40 * MiB, 2.039e12, 312e12, 0.88},    {"rtx3090", 86, 82, 1.695e9, 6 * MiB, 0.936e12, 71e12, 0.8},
    {"l40s", 89, 142, 2.520e9, 96 * MiB, 0.864e12, 362e12, 0.8},     {"rtx4090", 89, 128, 2.520e9, 72 * MiB, 1.008e12, 165.2e12, 0.8},
    {"h100", 90, 132, 1.830e9, 50 * MiB, 3.350e12, 989.4e12, 0.806}, {"h200", 90, 132, 1.830e9, 50 * MiB, 4.800e12, 989.4e12, 0.8},
    {"b200", 100, 148, 1.965e9, 126 * MiB, 8.000e12, 2250e12, 0.8},  {"rtx5090", 120, 170, 2.407e9, 96 * MiB, 1.792e12, 209.5e12, 0.8},
};

static const GpuInfo *findGpu(llvm::StringRef architecture) {
  const GpuInfo *found = llvm::find_if(kGpus, [&](const GpuInfo &info) { return architecture == llvm::StringRef(info.architecture); });
  return found == std::end(kGpus) ? nullptr : found;
}
static const GpuChip *findChip(int sm, llvm::StringRef name) {
  const GpuChip *found = llvm::find_if(kChips, [&](const GpuChip &chip) { return chip.sm == sm && name == llvm::StringRef(chip.name); });
  return found == std::end(kChips) ? nullptr : found;
}

std::optional<Gpu> Gpu::parse(std::string_view features) {
  auto [architecture, chip] = llvm::StringRef(features).split(':');
  Gpu gpu;
  gpu.capability = findGpu(architecture);
  if (!gpu.capability)
    return std::nullopt;
  bool namesChip = llvm::StringRef(features).contains(':');
  gpu.chip = findChip(gpu.info().sm, namesChip ? chip : llvm::StringRef(gpu.info().chip));
  return gpu.chip ? std::optional(gpu) : std::nullopt;
}

std::string Gpu::features() const {
  return chip->name == info().chip ? architecture() : architecture() + ":" + std::string(chip->name);
}

std::string logitile::listGpus() {
  llvm::SmallVector<std::string> capabilities, chips;
  for (const GpuInfo &info : kGpus) {
    capabilities.emplace_back(info.architecture);
    for (const GpuChip &chip : kChips)
      if (chip.sm == info.sm)
        chips.push_back(capabilities.back() + ":" + std::string(chip.name));
  }
  return llvm::join(capabilities, ", ") + "; with a chip " + llvm::join(chips, ", ");
}
