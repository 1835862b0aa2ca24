// cutlass_gemms.cu - products of bf16 matrices as CUTLASS 2.x makes them for sm_80: kernels of
// known rates, which bench/sass_model.py --cutlass holds its model against. Nothing here is part of
// the package.
#include "cutlass/gemm/device/gemm.h"

namespace {
using Element = cutlass::bfloat16_t;
template <int M, int N, int K, int Stages>
struct Gemm {
  using Scaled = cutlass::epilogue::thread::LinearCombination<Element, 8, float, float>;
  using Raster = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;
  using Kernel = typename cutlass::gemm::device::Gemm<
      Element, cutlass::layout::RowMajor, Element, cutlass::layout::ColumnMajor, Element, cutlass::layout::RowMajor, float,
      cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, cutlass::gemm::GemmShape<M, N, K>, cutlass::gemm::GemmShape<64, 64, K>,
      cutlass::gemm::GemmShape<16, 8, 16>, Scaled, Raster, Stages, 8, 8>::GemmKernel;
  static constexpr int kThreads = M / 64 * (N / 64) * 32;
};
template <typename Kernel>
__device__ void run(const typename Kernel::Params &parameters) {
  extern __shared__ int memory[];
  Kernel()(parameters, *reinterpret_cast<typename Kernel::SharedStorage *>(memory));
}
} // namespace

// Tiles and stages are in the names: M x N x K, stages.
#define GEMM(name, ...)                                                                                                          \
  extern "C" __global__ void __launch_bounds__(Gemm<__VA_ARGS__>::kThreads) name(Gemm<__VA_ARGS__>::Kernel::Params parameters) { \
    run<Gemm<__VA_ARGS__>::Kernel>(parameters);                                                                                  \
  }
GEMM(gemm_128x256x32_3, 128, 256, 32, 3)
GEMM(gemm_256x128x64_3, 256, 128, 64, 3)
