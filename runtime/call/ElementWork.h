// ElementWork.h - the elementwise work of a call before, between and after the kernels of its plan:
// tokens that count, small inputs, sums, results. The host does it with loops (HostWork.h), a GPU
// with the runtime's own kernels (gpu/KernelWork.h).
#pragma once
#include "runtime/call/Binding.h"

namespace logitile {
/// Where the denominator of a mean comes from.
enum class DivisorSource : uint8_t { One, Given, Tokens, Weights };

/// Per-token values in the memory of a plan; null data if no token counts. A list has 'places'
/// values for each token, and tokens are 'stride' elements apart.
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
  /// Sets the denominator of a mean. 'weights' has one weight for each token. 'isLate': gradients
  /// have been computed already, so they are divided when they are stored.
  virtual Status setDivisor(DivisorSource source, TokenValues weights, const Tokens &tokens, bool isLate) = 0;
  /// Loads the cotangent of output 'output': from an array without axes or with one value per
  /// token, or a constant.
  virtual Status loadCotangent(size_t output, const Array *array, double constant, bool isDivided, const Tokens &tokens) = 0;
  /// Checks that indices that the loss computes are in the vocabulary.
  virtual Status checkIndices(int64_t buffer, const Tokens &tokens) = 0;

  virtual Status storeTokens(const Array &array, TokenValues values, const Tokens &tokens) = 0;
  /// Stores the loss after its reduction.
  virtual Status storeReduced(const Array &array, TokenValues values, const Tokens &tokens) = 0;

  // The next three convert gradients from f32 to the type of the caller's array.
  virtual Status storeTokenGradient(const Array &array, TokenValues values, const Tokens &tokens) = 0;
  virtual Status storeVectorGradient(const Array &array, const char *values) = 0;
  virtual Status storeScalarGradient(const Array &array, const char *values, const Tokens &tokens) = 0;
  /// Finishes a gradient that kernels have written to the caller's array. 'hasTokenRows': the array
  /// has one row for each token.
  virtual Status finishGradient(const Array &array, bool hasTokenRows, const Tokens &tokens) = 0;
  virtual Status storeZero(const Array &array) = 0;
  /// The denominator of the loss; 1 if the host does not know it.
  virtual double divisor() const { return 1; }
  /// Called after everything else.
  virtual Status finish(const Tokens &tokens) = 0;
};
} // namespace logitile
