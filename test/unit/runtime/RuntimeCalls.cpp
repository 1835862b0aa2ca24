// RuntimeCalls.cpp - test arrays, calls and the f64 reference.
#include "test/unit/runtime/RuntimeCalls.h"
#include "runtime/cpu/CpuDevice.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
using namespace logitile;
using namespace logitile::test;

// ---- arrays -------------------------------------------------------------------------------------

TestArray::TestArray(std::string name, ElementType type, std::vector<int64_t> shape, std::vector<int> order, int64_t gap,
                     std::vector<int> flipped)
    : name(std::move(name)), type(type), shape(std::move(shape)) {
  int rank = static_cast<int>(this->shape.size());
  if (order.empty()) {
    order.resize(rank);
    std::iota(order.begin(), order.end(), 0);
  }
  strides.resize(rank);
  int64_t stride = 1 + gap;
  for (int i = rank - 1; i >= 0; --i) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(this->shape[order[i]], 1);
  }
  for (int axis : flipped) {
    origin += strides[axis] * (this->shape[axis] - 1) * elementBytes(type);
    strides[axis] = -strides[axis];
  }
  memory = std::make_shared<std::vector<char>>(stride * elementBytes(type), 0x5a);
}
Array TestArray::array() const {
  return {name, memory->data() + origin, type, static_cast<int>(shape.size()), shape.data(), strides.data()};
}
int64_t TestArray::elements() const { return array().elements(); }
char *TestArray::at(int64_t index) const {
  int64_t offset = 0;
  for (size_t axis = shape.size(); axis-- > 0;) {
    offset += index % shape[axis] * strides[axis];
    index /= shape[axis];
  }
  return memory->data() + origin + offset * elementBytes(type);
}
double TestArray::get(int64_t index) const {
  return withElement(type, [&](auto example) { return static_cast<double>(*reinterpret_cast<const decltype(example) *>(at(index))); });
}
void TestArray::set(int64_t index, double value) {
  withElement(type, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_class_v<T>)
      *reinterpret_cast<T *>(at(index)) = T(static_cast<float>(value));
    else
      *reinterpret_cast<T *>(at(index)) = static_cast<T>(value);
  });
}
void TestArray::fill(double value) {
  for (int64_t i = 0; i < elements(); ++i)
    set(i, value);
}

// ---- calls --------------------------------------------------------------------------------------

static std::vector<int64_t> with(std::vector<int64_t> shape, int64_t last) {
  shape.push_back(last);
  return shape;
}

TestCall::TestCall(std::vector<int64_t> leading, unsigned seed)
    : leading(leading), tokens(std::accumulate(leading.begin(), leading.end(), int64_t(1), std::multiplies())),
      hidden("z.hidden", ElementType::F32, with(leading, kHidden)), weight("z.weight", ElementType::F32, {kVocab, kHidden}),
      target("target", ElementType::I64, leading), alpha("alpha", ElementType::F32, leading), beta("beta", ElementType::F64, {}),
      bias("bias", ElementType::F32, {kVocab}), mask("mask", ElementType::F32, with(leading, kVocab)),
      classWeight("class_weight", ElementType::F32, {kVocab}), lossWeight("weight", ElementType::F32, leading),
      next("next", ElementType::I64, leading), even("even", ElementType::Bool, leading),
      dHidden("z.hidden", ElementType::F32, with(leading, kHidden)), dWeight("z.weight", ElementType::F32, {kVocab, kHidden}),
      dMask("mask", ElementType::F32, with(leading, kVocab)), dBias("bias", ElementType::F32, {kVocab}),
      dAlpha("alpha", ElementType::F32, leading), dBeta("beta", ElementType::F32, {}) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  for (TestArray *array : {&hidden, &weight, &alpha, &beta, &bias, &mask})
    for (int64_t i = 0; i < array->elements(); ++i)
      array->set(i, normal(generator));
  for (int64_t i = 0; i < classWeight.elements(); ++i)
    classWeight.set(i, 0.5 + i % 3);
  for (int64_t i = 0; i < tokens; ++i)
    target.set(i, static_cast<int64_t>(generator() % (kVocab - 7)));
  options.threads = 2;
  setReduction(Reduction::Mean);
}

void TestCall::setReduction(Reduction reduction) {
  options.reduction = reduction;
  loss = TestArray("loss", ElementType::F32, reduction == Reduction::None ? leading : std::vector<int64_t>());
}

CallArguments TestCall::arguments() {
  inputs = {hidden.array(), weight.array(), target.array(), alpha.array(), beta.array(), bias.array(), mask.array(), classWeight.array()};
  outputs = {loss.array(), lossWeight.array(), next.array(), even.array()};
  gradients = {dHidden.array(), dWeight.array(), dMask.array(), dBias.array(), dAlpha.array(), dBeta.array()};
  cotangents.clear();
  if (cotangent)
    cotangents.push_back(cotangent->array());
  CallArguments result = options;
  result.inputs = inputs;
  result.outputs = outputs;
  result.gradients = gradients;
  result.cotangents = cotangents;
  if (divisor) {
    divisorArray = divisor->array();
    result.divisor = &divisorArray;
  }
  return result;
}
Status TestCall::forward(const std::shared_ptr<const LoadedPlan> &plan, std::unique_ptr<Saved> *saved) {
  report = {};
  Result<std::unique_ptr<Saved>> result = runForward(plan, arguments(), report);
  if (result.isOk() && saved)
    *saved = std::move(*result);
  return result.status();
}
Status TestCall::backward(const Saved &saved) {
  report = {};
  return runBackward(saved, arguments(), report);
}

// ---- reference ----------------------------------------------------------------------------------

namespace {
/// Everything in f64, token by token.
struct Reference {
  const TestCall &call;
  std::vector<bool> counts;
  std::vector<double> loss, scale, nll; // by token; scale: what reaches each token's loss
  double divisor = 1, reduced = 0;
  int64_t counted = 0;

  double logit(int64_t token, int64_t v) const {
    double z = call.bias.get(v) + call.mask.get(token * kVocab + v);
    for (int64_t d = 0; d < kHidden; ++d)
      z += call.hidden.get(token * kHidden + d) * call.weight.get(v * kHidden + d);
    return z;
  }
  double logSumExp(int64_t token) const {
    double sum = 0;
    for (int64_t v = 0; v < kVocab; ++v)
      sum += std::exp(logit(token, v));
    return std::log(sum);
  }
  int64_t target(int64_t token) const { return static_cast<int64_t>(call.target.get(token)); }

  Reference(const TestCall &call, const PlanOptions &plan)
      : call(call), counts(call.tokens), loss(call.tokens), scale(call.tokens), nll(call.tokens) {
    double weights = 0;
    for (int64_t t = 0; t < call.tokens; ++t) {
      counts[t] = !call.options.ignoreIndex || target(t) != *call.options.ignoreIndex;
      if (!counts[t])
        continue;
      ++counted;
      nll[t] = logSumExp(t) - logit(t, target(t));
      loss[t] = call.alpha.get(t) * nll[t] + call.beta.get(0);
      reduced += loss[t];
      weights += plan.hasWeight ? call.classWeight.get(target(t)) : 1;
    }
    bool isMean = call.options.reduction == Reduction::Mean;
    divisor = !isMean ? 1 : call.divisor ? call.divisor->get(0) : weights;
    reduced /= divisor;
    for (int64_t t = 0; t < call.tokens; ++t)
      scale[t] = (!call.cotangent ? 1 : call.cotangent->get(call.cotangent->shape.empty() ? 0 : t)) / divisor;
  }
};

class Comparison {
public:
  /// Normwise: f32 sums in another order, rounded once more where the array is narrower.
  void expect(const TestArray &array, const std::vector<double> &wanted) {
    ASSERT_EQ(array.elements(), static_cast<int64_t>(wanted.size())) << array.name;
    double unit = array.type == ElementType::BF16 ? 0x1p-8 : array.type == ElementType::F16 ? 0x1p-11 : 0x1p-20;
    double largest = 1e-30;
    for (double value : wanted)
      largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(array.get(i), wanted[i], unit * largest) << "'" << array.name << "' at " << i;
  }
};
} // namespace

static void expectOutputs(const TestCall &call, const PlanOptions &plan, const Reference &reference) {
  Comparison comparison;
  comparison.expect(call.loss, call.options.reduction == Reduction::None ? reference.loss : std::vector<double>{reference.reduced});
  for (int64_t t = 0; t < call.tokens; ++t) {
    bool counts = reference.counts[t];
    if (plan.hasWeight)
      EXPECT_EQ(call.lossWeight.get(t), counts ? call.classWeight.get(reference.target(t)) : 0) << t;
    if (!plan.hasIndex)
      continue;
    EXPECT_EQ(call.next.get(t), counts ? reference.target(t) + 7 : -1) << t;
    EXPECT_EQ(call.even.get(t), counts && reference.target(t) % 2 == 0) << t;
  }
}

void TestCall::expectRight(const PlanOptions &plan, bool withGradients) const {
  Reference reference(*this, plan);
  expectOutputs(*this, plan, reference);
  if (!withGradients)
    return;
  std::vector<double> hidden_(tokens * kHidden), weight_(kVocab * kHidden), mask_(tokens * kVocab), bias_(kVocab), alpha_(tokens), beta_(1);
  for (int64_t t = 0; t < tokens; ++t) {
    if (!reference.counts[t])
      continue;
    double lse = reference.logSumExp(t);
    alpha_[t] = reference.scale[t] * reference.nll[t];
    beta_[0] += reference.scale[t];
    for (int64_t v = 0; v < kVocab; ++v) {
      double g = reference.scale[t] * alpha.get(t) * (std::exp(reference.logit(t, v) - lse) - (v == reference.target(t)));
      mask_[t * kVocab + v] = g;
      bias_[v] += g;
      for (int64_t d = 0; d < kHidden; ++d) {
        hidden_[t * kHidden + d] += g * weight.get(v * kHidden + d);
        weight_[v * kHidden + d] += g * hidden.get(t * kHidden + d);
      }
    }
  }
  Comparison comparison;
  comparison.expect(dHidden, hidden_);
  comparison.expect(dWeight, weight_);
  comparison.expect(dMask, mask_);
  comparison.expect(dBias, bias_);
  comparison.expect(dAlpha, alpha_);
  comparison.expect(dBeta, beta_);
}

std::shared_ptr<const LoadedPlan> test::load(const LaunchPlan &plan, std::shared_ptr<Device> device) {
  if (!device)
    device = std::make_shared<CpuDevice>(std::make_shared<Workspace>(int64_t(64) << 20));
  Result<std::shared_ptr<LoadedPlan>> loaded = loadPlan(plan, KernelKey(), device);
  EXPECT_TRUE(loaded.isOk()) << loaded.status().error().text;
  return *loaded;
}
