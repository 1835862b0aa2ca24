// KernelWork.h - elementwise work with kernels of the device, so that nothing waits for the host.
// CallKernels.h declares the kernels.
#pragma once
#include "runtime/call/ElementWork.h"
#include "runtime/gpu/CallKernels.h"

namespace logitile::gpu {
class KernelWork : public ElementWork {
public:
  KernelWork(const LoadedPlan &loaded, Binding &binding, const CallArguments &arguments, DeviceCall &device)
      : loaded(loaded), plan(loaded.plan), binding(binding), arguments(arguments), device(device) {}

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
  Status finish(const Tokens &tokens) override;

private:
  template <typename T> T *memory(int64_t buffer) const { return reinterpret_cast<T *>(binding.memory(buffer)); }
  CallFacts *facts() const { return memory<CallFacts>(loaded.tables.facts); }
  int32_t *map() const { return memory<int32_t>(loaded.tables.map); }
  int32_t *slots() const { return memory<int32_t>(loaded.tables.slots); }
  int32_t *wrong() const { return memory<int32_t>(loaded.tables.wrong); }

  /// Starts a kernel with enough threads for 'elements', or in one block.
  template <typename Parameters> Status launch(const char *kernel, const Parameters &parameters, int64_t elements);
  template <typename Parameters> Status launchBlock(const char *kernel, const Parameters &parameters) {
    return device.launchOwn(kernel, 1, kThreads, &parameters);
  }
  /// Elements that kernels read: of the first 'axes' axes.
  Result<Elements> elementsOfInput(const Array &array, size_t axes) const;
  Status scatter(const Array &array, TokenValues values, const Tokens &tokens, bool isScaled);
  Status scaleAll(const Array &array, const CallFacts *by);
  /// Memory of a plan for one entry of an input, or for a list: 'count' entries, 'stride' elements
  /// from one to the next.
  struct Entries {
    char *data;
    int64_t count, stride;
  };
  Status loadEntries(size_t input, const Array &array, const Tokens &tokens, size_t entry, Entries to);

  const LoadedPlan &loaded;
  const LaunchPlan &plan;
  Binding &binding;
  const CallArguments &arguments;
  DeviceCall &device;
  bool checksIndices = false; // something may have been marked
  bool isLate = false;        // gradients are divided when stored
};
} // namespace logitile::gpu
