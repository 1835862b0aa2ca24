// gemm_sm80.cu - cases of CUTLASS' tutorial kernel for Ampere: cp.async in a pipeline, ldmatrix,
// mma.sync with f32 sums. The kernel itself comes from the package, as FOREIGN_EXAMPLE.
#define main(...) unused_main(auto argc, auto argv)
#include FOREIGN_EXAMPLE
#undef main
#include "launch.h"
using namespace cute;

/// How an operand lies in global memory: its elements along K follow each other, or those along M
/// or N.
struct AlongK {
  template <class Element> using FromShared = Copy_Atom<SM75_U32x4_LDSM_N, Element>;
  static auto stride(int, int k) { return make_stride(k, Int<1>{}); }
  static auto atom() { return composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}); }
  using Threads = Layout<Shape<_16, _8>, Stride<_8, _1>>;
  using Values = Layout<Shape<_1, _8>>;
};
struct AcrossK {
  template <class Element> using FromShared = Copy_Atom<SM75_U16x8_LDSM_T, Element>;
  static auto stride(int rows, int) { return make_stride(Int<1>{}, rows); }
  static auto atom() { return composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _8>, Stride<_1, _64>>{}); }
  using Threads = Layout<Shape<_8, _16>, Stride<_1, _8>>;
  using Values = Layout<Shape<_8, _1>>;
};

/// C = A B^T, each row of C at once.
template <class Tag, class Element, class Atom, class A, class B, int kRows, int kColumns, int kStages>
void run(int m, int n, int k, const void *a, const void *b, float *c) {
  using Rows = Int<kRows>;
  using Columns = Int<kColumns>;
  auto sharedA = tile_to_shape(A::atom(), make_shape(Rows{}, _64{}, Int<kStages>{}));
  auto sharedB = tile_to_shape(B::atom(), make_shape(Columns{}, _64{}, Int<kStages>{}));
  using Copy16 = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, Element>;
  auto products = make_tiled_mma(Atom{}, Layout<Shape<_2, _2>>{}, Tile<_32, _32, _16>{});
  auto launchCase = [&](auto... parameters) {
    FOREIGN_KERNEL(static_cast<void (*)(decltype(parameters)...)>(gemm_device));
    launch(Tag::kName, dim3(m / kRows, n / kColumns), size(products),
           sizeof(SharedStorage<Element, Element, decltype(sharedA), decltype(sharedB)>), parameters...);
  };
  launchCase(make_shape(m, n, k), make_shape(Rows{}, Columns{}, _64{}), static_cast<const Element *>(a), A::stride(m, k), sharedA,
             make_tiled_copy(Copy16{}, typename A::Threads{}, typename A::Values{}), typename A::template FromShared<Element>{},
             static_cast<const Element *>(b), B::stride(n, k), sharedB,
             make_tiled_copy(Copy16{}, typename B::Threads{}, typename B::Values{}), typename B::template FromShared<Element>{}, c,
             make_stride(n, Int<1>{}), make_layout(make_shape(Rows{}, Columns{})), products, Tag{}, 0.0f);
}

#define FOREIGN_CASE(name, ...)                                                                                                              \
  FOREIGN_TAG(name##_tag);                                                                                                                   \
  extern "C" void name(int m, int n, int k, const void *a, const void *b, float *c) { run<name##_tag, __VA_ARGS__>(m, n, k, a, b, c); }
FOREIGN_CASE(bf16_both_along_k, bfloat16_t, SM80_16x8x16_F32BF16BF16F32_TN, AlongK, AlongK, 64, 64, 3)
FOREIGN_CASE(f16_none_along_k, half_t, SM80_16x8x16_F32F16F16F32_TN, AcrossK, AcrossK, 64, 64, 3)
