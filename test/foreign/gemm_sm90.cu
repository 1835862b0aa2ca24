// gemm_sm90.cu - cases of CUTLASS' tutorial kernel for Hopper: tensor copies into a ring of stages,
// wgmma that reads both operands from shared memory, mbarriers between them. The kernel itself
// comes from the package, as FOREIGN_EXAMPLE; CuTe's host code makes the tensor maps.
#include <cute/tensor.hpp>
#include "cutlass/arch/barrier.h"

// The tutorial leaves out two things, both of which the emulator reports (test_gemms.py): the fence
// that shows the mbarriers to tensor copies, and a wait for the last copies, which nobody reads,
// before the block ends.
#define cluster_sync() (cutlass::arch::fence_barrier_init(), cute::cluster_sync())
#define axpby(...)                                                                                                                           \
  for (int left = 0; left < K_PIPE_MAX; ++left, ++read_state)                                                                                \
    ProducerBarType::wait(&producer_mbar[read_state.index()], read_state.phase());                                                           \
  cute::axpby(__VA_ARGS__)
#define main(...) unused_main(auto argc, auto argv)
#include FOREIGN_EXAMPLE
#undef main
#undef axpby
#undef cluster_sync
#include "launch.h"
using namespace cute;

/// How an operand lies in memory: its elements along K follow each other, or those along M or N.
struct AlongK {
  static constexpr auto kMajor = GMMA::Major::K;
  static auto stride(int, int k) { return make_stride(k, Int<1>{}); }
};
struct AcrossK {
  static constexpr auto kMajor = GMMA::Major::MN;
  static auto stride(int rows, int) { return make_stride(Int<1>{}, rows); }
};

/// C = A B^T, each row of C at once. 'SharedA' and 'SharedB' are atoms of layouts in shared memory.
template <class Tag, class Element, class Atom, class A, class B, class SharedA, class SharedB, int kRows, int kColumns, int kStages>
void run(int m, int n, int k, const void *a, const void *b, float *c) {
  using Rows = Int<kRows>;
  using Columns = Int<kColumns>;
  auto sharedA = tile_to_shape(SharedA{}, make_shape(Rows{}, _64{}, Int<kStages>{}));
  auto sharedB = tile_to_shape(SharedB{}, make_shape(Columns{}, _64{}, Int<kStages>{}));
  auto products = make_tiled_mma(Atom{});
  const auto *factorA = static_cast<const Element *>(a);
  const auto *factorB = static_cast<const Element *>(b);
  auto mapA = make_tma_atom(SM90_TMA_LOAD{}, make_tensor(factorA, make_shape(m, k), A::stride(m, k)), sharedA(_, _, 0), make_shape(Rows{}, _64{}));
  auto mapB = make_tma_atom(SM90_TMA_LOAD{}, make_tensor(factorB, make_shape(n, k), B::stride(n, k)), sharedB(_, _, 0), make_shape(Columns{}, _64{}));
  auto shape = make_shape(m, n, k);
  auto tile = make_shape(Rows{}, Columns{}, _64{});
  auto strideC = make_stride(n, Int<1>{});
  FOREIGN_KERNEL((gemm_device<decltype(shape), decltype(tile), Element, decltype(sharedA), decltype(mapA), Element, decltype(sharedB),
                              decltype(mapB), float, decltype(strideC), decltype(products), Tag, float>));
  launch(Tag::kName, dim3(m / kRows, n / kColumns), size(products),
         sizeof(SharedStorage<Element, Element, decltype(sharedA), decltype(sharedB)>), shape, tile, factorA, mapA, factorB, mapB, c, strideC,
         products, Tag{}, 0.0f);
}

#define FOREIGN_CASE(name, ...)                                                                                                              \
  FOREIGN_TAG(name##_tag);                                                                                                                   \
  extern "C" void name(int m, int n, int k, const void *a, const void *b, float *c) { run<name##_tag, __VA_ARGS__>(m, n, k, a, b, c); }
using ProductBf16 = SM90_64x128x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>;
using ProductF16 = SM90_64x64x16_F32F16F16_SS<GMMA::Major::MN, GMMA::Major::MN>;
FOREIGN_CASE(bf16_both_along_k, bfloat16_t, ProductBf16, AlongK, AlongK, GMMA::Layout_K_SW128_Atom<bfloat16_t>,
             GMMA::Layout_K_SW128_Atom<bfloat16_t>, 128, 128, 2)
FOREIGN_CASE(f16_none_along_k, half_t, ProductF16, AcrossK, AcrossK, GMMA::Layout_MN_SW128_Atom<half_t>,
             GMMA::Layout_MN_SW64_Atom<half_t>, 64, 64, 3)
