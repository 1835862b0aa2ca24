// RuntimeCalls.h - arrays with any strides, one call of the hand-made loss, and its results in f64
// to compare with. Plans are in RuntimePlans.h.
#pragma once
#include "runtime/call/Call.h"
#include "runtime/arrays/Values.h"
#include "test/unit/runtime/RuntimePlans.h"
#include <memory>

namespace logitile::test {
/// An array in memory of its own.
class TestArray {
public:
  TestArray() = default;
  /// 'order' lists the axes from the slowest to the fastest in memory (empty: as they are); 'gap'
  /// elements lie unused between neighbours of the fastest axis; axes in 'flipped' run backwards.
  TestArray(std::string name, ElementType type, std::vector<int64_t> shape, std::vector<int> order = {}, int64_t gap = 0,
            std::vector<int> flipped = {});

  Array array() const;
  int64_t elements() const;
  double get(int64_t index) const; // by row-major position
  void set(int64_t index, double value);
  void fill(double value);

  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape, strides;

private:
  char *at(int64_t index) const;
  std::shared_ptr<std::vector<char>> memory;
  int64_t origin = 0; // bytes
};

/// One call. Every array has data from a fixed generator; tests change what they are about.
struct TestCall {
  explicit TestCall(std::vector<int64_t> leading, unsigned seed = 1);

  std::vector<int64_t> leading;
  int64_t tokens;
  TestArray hidden, weight, target, alpha, beta, bias, mask, classWeight; // inputs
  TestArray loss, lossWeight, next, even;                                 // outputs
  TestArray dHidden, dWeight, dMask, dBias, dAlpha, dBeta;                // gradients
  std::optional<TestArray> cotangent, divisor;
  CallArguments options; // without arrays: reduction and the like
  CallReport report;

  /// Outputs of this reduction, filled with garbage.
  void setReduction(Reduction reduction);
  Status forward(const std::shared_ptr<const LoadedPlan> &plan, std::unique_ptr<Saved> *saved = nullptr);
  Status backward(const Saved &saved);
  /// Checks every output and, with gradients, every gradient against f64 from the same inputs.
  void expectRight(const PlanOptions &options, bool withGradients) const;

private:
  CallArguments arguments();
  std::vector<Array> inputs, outputs, gradients, cotangents;
  Array divisorArray;
};

/// Loads a plan on a device of its own.
std::shared_ptr<const LoadedPlan> load(const LaunchPlan &plan, std::shared_ptr<Device> device = nullptr);
} // namespace logitile::test
