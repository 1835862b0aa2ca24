// unfused.cpp - cross entropy of a projection on library GEMMs: all logits, a vectorised softmax
// over them, two gradients. A contender of bench/cpu.py, which compiles it with one of USE_ONEDNN
// and USE_OPENBLAS; nothing of the product.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#ifdef USE_ONEDNN
#include <dnnl.hpp>
#include <string>
#else
#include <cblas.h>
#endif

using BFloat16 = uint16_t;

static inline float widened(float value) { return value; }
static inline float widened(BFloat16 value) { return std::bit_cast<float>(uint32_t(value) << 16); }
static inline void store(float &to, float value) { to = value; }
/// Rounds to the nearest, ties to even. No value of a softmax is NaN unless a logit is.
static inline void store(BFloat16 &to, float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  to = BFloat16((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// e^x for x <= 0, relative error below 2e-7: 2^n times a polynomial (Taylor, degree 6) over half
/// an octave each way.
static inline float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  constexpr float kRounder = 12582912.0f; // 1.5 * 2^23: what is added to it loses its fraction
  float n = (x * 1.44269504f + kRounder) - kRounder;
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f; // log 2 in two parts
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * std::bit_cast<float>((int32_t(n) + 127) << 23);
}

/// The loss of one token. With `scale` other than 0, its logits become their gradients times
/// `scale`.
template <typename T> static float softmaxRow(T *row, int64_t vocab, int64_t target, float scale) {
  float most = -INFINITY, sum = 0;
#pragma omp simd reduction(max : most)
  for (int64_t v = 0; v < vocab; ++v)
    most = std::max(most, widened(row[v]));
  float logit = widened(row[target]);
  constexpr bool kKeeps = std::is_same_v<T, float>; // exponentials; 16 bits would round them twice
  if (kKeeps && scale != 0) {
#pragma omp simd reduction(+ : sum)
    for (int64_t v = 0; v < vocab; ++v) {
      float e = exponential(widened(row[v]) - most);
      store(row[v], e);
      sum += e;
    }
  } else {
#pragma omp simd reduction(+ : sum)
    for (int64_t v = 0; v < vocab; ++v)
      sum += exponential(widened(row[v]) - most);
  }
  float logSum = std::log(sum);
  if (scale == 0)
    return logSum + most - logit;
  float factor = scale / sum;
#pragma omp simd
  for (int64_t v = 0; v < vocab; ++v)
    store(row[v], factor * (kKeeps ? widened(row[v]) : exponential(widened(row[v]) - most)));
  store(row[target], factor * exponential(logit - most) - scale);
  return logSum + most - logit;
}

template <typename T> static float softmax(T *logits, const int64_t *target, int64_t tokens, int64_t vocab, bool wantsGradient) {
  double sum = 0;
  float scale = wantsGradient ? 1.0f / tokens : 0.0f;
#pragma omp parallel for reduction(+ : sum) schedule(static)
  for (int64_t n = 0; n < tokens; ++n)
    sum += softmaxRow(logits + n * vocab, vocab, target[n], scale);
  return float(sum / tokens);
}

#ifdef USE_ONEDNN
using Matmul = dnnl::matmul;

/// A product of row-major matrices, either of them transposed: C[rows, columns] = A[rows, depth]
/// B[depth, columns].
class Product {
public:
  Product(dnnl::engine engine, bool isBFloat16, int64_t rows, int64_t columns, int64_t depth, bool transposesA, bool transposesB)
      : engine(engine) {
    auto type = isBFloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
    a = {{rows, depth}, type, transposesA ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{depth, 1}};
    b = {{depth, columns}, type, transposesB ? dnnl::memory::dims{1, depth} : dnnl::memory::dims{columns, 1}};
    c = {{rows, columns}, type, dnnl::memory::dims{columns, 1}};
#if DNNL_VERSION_MAJOR < 3
    primitive = Matmul(Matmul::primitive_desc(Matmul::desc(a, b, c), engine));
#else
    primitive = Matmul(Matmul::primitive_desc(engine, a, b, c));
#endif
  }
  void run(dnnl::stream &stream, void *left, void *right, void *result) {
    primitive.execute(stream,
                      {{DNNL_ARG_SRC, {a, engine, left}}, {DNNL_ARG_WEIGHTS, {b, engine, right}}, {DNNL_ARG_DST, {c, engine, result}}});
    stream.wait();
  }

private:
  dnnl::engine engine;
  dnnl::memory::desc a, b, c;
  Matmul primitive;
};

struct Baseline {
  int64_t tokens, hidden, vocab;
  bool isBFloat16;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  Product logits{engine, isBFloat16, tokens, vocab, hidden, false, true};
  Product toHidden{engine, isBFloat16, tokens, hidden, vocab, false, false};
  Product toWeight{engine, isBFloat16, vocab, hidden, tokens, true, false};

  void makeLogits(void *x, void *w, void *z) { logits.run(stream, x, w, z); }
  void makeHidden(void *g, void *w, void *dx) { toHidden.run(stream, g, w, dx); }
  void makeWeight(void *g, void *x, void *dw) { toWeight.run(stream, g, x, dw); }
};

extern "C" const char *unfused_version() {
  static const std::string text =
      std::to_string(dnnl_version()->major) + "." + std::to_string(dnnl_version()->minor) + "." + std::to_string(dnnl_version()->patch);
  return text.c_str();
}
#else
struct Baseline {
  int64_t tokens, hidden, vocab;
  bool isBFloat16; // never: this library multiplies float32 alone

  void makeLogits(void *x, void *w, void *z) { multiply(CblasNoTrans, CblasTrans, tokens, vocab, hidden, x, hidden, w, hidden, z); }
  void makeHidden(void *g, void *w, void *dx) { multiply(CblasNoTrans, CblasNoTrans, tokens, hidden, vocab, g, vocab, w, hidden, dx); }
  void makeWeight(void *g, void *x, void *dw) { multiply(CblasTrans, CblasNoTrans, vocab, hidden, tokens, g, vocab, x, hidden, dw); }

private:
  void multiply(CBLAS_TRANSPOSE transA, CBLAS_TRANSPOSE transB, int64_t rows, int64_t columns, int64_t depth, void *a, int64_t lda, void *b,
                int64_t ldb, void *c) {
    cblas_sgemm(CblasRowMajor, transA, transB, rows, columns, depth, 1.0f, static_cast<float *>(a), lda, static_cast<float *>(b), ldb, 0.0f,
                static_cast<float *>(c), columns);
  }
};

extern "C" const char *unfused_version() { return openblas_get_config(); }
#endif

extern "C" Baseline *unfused_open(int64_t tokens, int64_t hidden, int64_t vocab, int isBFloat16) {
  return new Baseline{tokens, hidden, vocab, isBFloat16 != 0};
}
extern "C" void unfused_close(Baseline *baseline) { delete baseline; }

/// The mean loss. Gradients are made where `dx` and `dw` are given; `z` has room for all logits.
extern "C" float unfused_run(Baseline *baseline, void *x, void *w, const int64_t *target, void *z, void *dx, void *dw) {
  baseline->makeLogits(x, w, z);
  float loss = baseline->isBFloat16 ? softmax(static_cast<BFloat16 *>(z), target, baseline->tokens, baseline->vocab, dx != nullptr)
                                    : softmax(static_cast<float *>(z), target, baseline->tokens, baseline->vocab, dx != nullptr);
  if (dx) {
    baseline->makeHidden(z, w, dx);
    baseline->makeWeight(z, x, dw);
  }
  return loss;
}
