// HostWork.h - elementwise work with loops on the host, for devices whose memory the host can read.
#pragma once
#include "runtime/call/ElementWork.h"

namespace logitile {
class HostWork : public ElementWork {
public:
  /// 'divisor': of the forward call, in the backward phase.
  HostWork(const LoadedPlan &loaded, Binding &binding, const CallArguments &arguments, double divisor)
      : loaded(loaded), plan(loaded.plan), binding(binding), arguments(arguments), lossDivisor(divisor) {}

  Status findTokens(const IgnoreRule &rule, Tokens &tokens) override;
  Status loadInput(size_t input, const Array &array, const Tokens &tokens) override;
  Status setDivisor(DivisorSource source, TokenValues weights, const Tokens &tokens, bool isLate) override;
  Status loadCotangent(size_t output, const Array *array, double constant, bool isDivided, const Tokens &tokens) override;
  Status checkIndices(int64_t buffer, const Tokens &tokens) override;
  Status storeTokens(const Array &array, TokenValues values, const Tokens &tokens) override;
  Status storeReduced(const Array &array, TokenValues values, const Tokens &tokens) override;
  Status storeTokenGradient(const Array &array, TokenValues values, const Tokens &tokens) override;
  Status storeVectorGradient(const Array &array, const char *values) override;
  Status storeScalarGradient(const Array &array, const char *values, const Tokens &tokens) override;
  Status finishGradient(const Array &array, bool hasTokenRows, const Tokens &tokens) override;
  Status storeZero(const Array &array) override;
  double divisor() const override { return lossDivisor; }
  Status finish(const Tokens &) override { return Status(); }

private:
  const LoadedPlan &loaded;
  const LaunchPlan &plan;
  Binding &binding;
  const CallArguments &arguments;
  double lossDivisor;
  double factor = 1; // of gradients that were made before the divisor was known
};
} // namespace logitile
