// ElementWork.h - the elementwise work of a call before, between and after the kernels of its plan:
// tokens that count, small inputs, sums, results. The host does it with loops (HostWork.h), a GPU
// with the runtime's own kernels (gpu/KernelWork.h).
#pragma once
#include "runtime/call/Binding.h"

namespace logitile {
/// Where the denominator of a mean comes from.
enum class DivisorSource : uint8_t { One, Given, Tokens, Weights };

/// Per-token values in the memory of a plan; none where no token counts. A list has 'places' of
/// them for each token, 'stride' elements from one token to the next.
struct TokenValues {
  const char *data = nullptr;
  ElementType element = ElementType::F32;
  int64_t places = 0, stride = 1;
};

/// One phase of one call. Arrays of the caller have been checked.
class ElementWork {
public:
  virtual ~ElementWork() = default;

  /// Fills the maps of the binding and 'tokens.map'.
  virtual Status findTokens(const IgnoreRule &rule, Tokens &tokens) = 0;
  /// Copies an input of the plan into its buffers and checks its integers.
  virtual Status loadInput(size_t input, const Array &array, const Tokens &tokens) = 0;
  /// 'weights' are one for each token. Where 'isLate', gradients have been made already and are
  /// divided when stored.
  virtual Status setDivisor(DivisorSource source, TokenValues weights, const Tokens &tokens, bool isLate) = 0;
  /// The grad_output of output 'output': of an array, without axes or per token, or a constant.
  virtual Status loadCotangent(size_t output, const Array *array, double constant, bool isDivided, const Tokens &tokens) = 0;
  /// Computed indices must lie in the vocabulary.
  virtual Status checkIndices(int64_t buffer, const Tokens &tokens) = 0;

  virtual Status storeTokens(const Array &array, TokenValues values, const Tokens &tokens) = 0;
  /// The loss, reduced.
  virtual Status storeReduced(const Array &array, TokenValues values, const Tokens &tokens) = 0;

  /// Gradients in f32, brought to the caller's type.
  virtual Status storeTokenGradient(const Array &array, TokenValues values, const Tokens &tokens) = 0;
  virtual Status storeVectorGradient(const Array &array, const char *values) = 0;
  virtual Status storeScalarGradient(const Array &array, const char *values, const Tokens &tokens) = 0;
  /// A gradient that kernels have written where it belongs. 'hasTokenRows': one row for each token.
  virtual Status finishGradient(const Array &array, bool hasTokenRows, const Tokens &tokens) = 0;
  virtual Status storeZero(const Array &array) = 0;
  /// The denominator of the loss, where the host knows it.
  virtual double divisor() const { return 1; }
  /// Called after everything else.
  virtual Status finish(const Tokens &tokens) = 0;
};
} // namespace logitile
