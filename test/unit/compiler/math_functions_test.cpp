// math_functions_test.cpp - the error of elementary functions over the whole range of f32, in units
// in the last place, and their limits, on every tier that this machine has, as vectors and as
// scalars.
#include "compiler/Registry.h"
#include "compiler/Target/Backend.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cpu/ObjectLoader.h"
#include "test/unit/compiler/Numbers.h"
#include <gtest/gtest.h>
#include <limits>
using namespace logitile;

namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Applies `math` or `arith` op text to arrays: "%y = math.exp %x : $T".
class Applied {
public:
  Applied(const std::string &op, CpuTier tier, bool isVector, int operands) {
    std::string type = isVector ? "vector<16xf32>" : "f32", loads, names[] = {"%x", "%w", "%v"};
    for (int i = 0; i < operands; ++i)
      loads += fill("%p$I = llvm.getelementptr %a[$I] : (!llvm.ptr) -> !llvm.ptr, i64\n%q$I = llvm.load %p$I : !llvm.ptr -> !llvm.ptr\n"
                    "%r$I = llvm.getelementptr %q$I[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32\n$N = llvm.load %r$I {alignment = 4 : i64} : "
                    "!llvm.ptr -> $T\n",
                    {{"I", text(i + 1)}, {"N", names[i]}});
    std::string code =
        fill(R"(
func.func @apply(%a: !llvm.ptr, %n: i64, %scratch: !llvm.ptr) {
  %zero = arith.constant 0 : i64
  %step = arith.constant $W : i64
  %out = llvm.load %a : !llvm.ptr -> !llvm.ptr
  scf.for %i = %zero to %n step %step : i64 {
    $LOADS
    $OP
    %o = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %y, %o {alignment = 4 : i64} : $T, !llvm.ptr
  }
  return
})",
             {{"W", isVector ? "16" : "1"}, {"LOADS", loads}, {"OP", op}, {"T", type}, {"I1", isVector ? "vector<16xi1>" : "i1"}});
    mlir::DialectRegistry registry;
    registerDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(code, &context);
    std::string error;
    mlir::FailureOr<std::string> object = mlir::failure();
    if (module)
      object = findTarget(targetName(tier), error)->emitCode(*module, nullptr);
    if (succeeded(object) && (loader = ObjectLoader::load(*object, error)))
      function = loader->find("apply", error);
    EXPECT_TRUE(function) << error << code;
  }
  std::vector<float> operator()(std::vector<std::vector<float>> inputs) const {
    size_t count = inputs[0].size();
    std::vector<float> result((count + 15) / 16 * 16);
    std::vector<int64_t> words{reinterpret_cast<int64_t>(result.data())};
    for (std::vector<float> &input : inputs) {
      input.resize(result.size());
      words.push_back(reinterpret_cast<int64_t>(input.data()));
    }
    function(words.data(), count, nullptr, nullptr);
    result.resize(count);
    return result;
  }

private:
  std::unique_ptr<ObjectLoader> loader;
  CpuKernel function = nullptr;
};

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
/// Numbers of every magnitude and sign, with infinities, NaN and both zeros.
std::vector<float> allMagnitudes(uint32_t stride) {
  std::vector<float> values{
      0.0f, -0.0f, kInfinity, -kInfinity, NAN, 1, -1, fromBits(1), fromBits(0x80000001), fromBits(0x00800000), fromBits(0x7f7fffff)};
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += stride)
    values.push_back(fromBits(static_cast<uint32_t>(bits)));
  return values;
}
/// |got - want| in units of the last place that f32 has at 'want'. Infinities and NaN must agree.
double ulps(double want, float got) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : kInfinity;
  float near = static_cast<float>(want);
  if (std::isinf(near) || std::isinf(got)) // one step before overflow either is right
    return near == got || std::fabs(want) > 3.4028234e38 || std::fabs(got) > 3.40282e38
               ? (std::signbit(near) == std::signbit(got) ? 0 : kInfinity)
               : kInfinity;
  double unit = std::max(std::ldexp(1.0, std::ilogb(std::max(std::fabs(want), 0x1p-149)) - 23), 0x1p-149);
  return std::fabs(want - got) / unit;
}

struct Function {
  const char *name, *op;
  double (*exact)(double);
  double bound;
};
void PrintTo(const Function &function, std::ostream *os) { *os << function.name; }

const Function kFunctions[] = {
    {"exp", "%y = math.exp %x : $T", [](double x) { return std::exp(x); }, 1},
    {"exp2", "%y = math.exp2 %x : $T", [](double x) { return std::exp2(x); }, 1.25},
    {"expm1", "%y = math.expm1 %x : $T", [](double x) { return std::expm1(x); }, 2},
    {"log", "%y = math.log %x : $T", [](double x) { return std::log(x); }, 1},
    {"log2", "%y = math.log2 %x : $T", [](double x) { return std::log2(x); }, 2},
    {"log1p", "%y = math.log1p %x : $T", [](double x) { return std::log1p(x); }, 2},
    {"tanh", "%y = math.tanh %x : $T", [](double x) { return std::tanh(x); }, 3},
    {"erf", "%y = math.erf %x : $T", [](double x) { return std::erf(x); }, 2},
    {"sin", "%y = math.sin %x : $T", [](double x) { return std::sin(x); }, 1},
    {"cos", "%y = math.cos %x : $T", [](double x) { return std::cos(x); }, 1},
    {"floor", "%y = math.floor %x : $T", [](double x) { return std::floor(x); }, 0},
    {"roundeven", "%y = math.roundeven %x : $T", [](double x) { return std::nearbyint(x); }, 0},
    {"rsqrt", "%y = math.rsqrt %x : $T", [](double x) { return 1 / std::sqrt(x); }, 1.5},
};

class MathFunction : public testing::TestWithParam<std::tuple<CpuTier, Function>> {};

TEST_P(MathFunction, StaysWithinItsBoundAsVectorAndScalar) {
  auto [tier, function] = GetParam();
  for (bool isVector : {true, false}) {
    std::vector<float> x = allMagnitudes(isVector ? 4099 : 65537);
    std::vector<float> y = Applied(function.op, tier, isVector, 1)({x});
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (double error = ulps(function.exact(x[i]), y[i]); !(error <= worst))
        worst = error, where = x[i];
    EXPECT_LE(worst, function.bound) << function.name << " at " << where;
    RecordProperty(isVector ? "ulps" : "scalar_ulps", std::to_string(worst));
  }
}

class MathLimits : public testing::TestWithParam<CpuTier> {
protected:
  float apply(const char *op, std::vector<float> operands) {
    std::vector<std::vector<float>> inputs;
    for (float operand : operands)
      inputs.push_back(std::vector<float>(16, operand));
    return Applied(op, GetParam(), true, static_cast<int>(operands.size()))(inputs)[0];
  }
};

TEST_P(MathLimits, ResultsAreExactAtTheEnds) {
  EXPECT_EQ(0, apply("%y = math.exp %x : $T", {-kInfinity}));
  EXPECT_EQ(0, apply("%y = math.exp %x : $T", {-200}));
  EXPECT_EQ(1, apply("%y = math.exp %x : $T", {0}));
  EXPECT_EQ(kInfinity, apply("%y = math.exp %x : $T", {89}));
  EXPECT_EQ(fromBits(1), apply("%y = math.exp %x : $T", {-103.3f}));
  EXPECT_EQ(-kInfinity, apply("%y = math.log %x : $T", {0}));
  EXPECT_EQ(0, apply("%y = math.log %x : $T", {1}));
  EXPECT_TRUE(std::isnan(apply("%y = math.log %x : $T", {-1})));
  EXPECT_EQ(1, apply("%y = math.tanh %x : $T", {20}));
  EXPECT_EQ(-1, apply("%y = math.tanh %x : $T", {-kInfinity}));
  EXPECT_EQ(-1, apply("%y = math.expm1 %x : $T", {-kInfinity}));
  EXPECT_EQ(1, apply("%y = math.erf %x : $T", {4}));
  EXPECT_EQ(-1, apply("%y = math.erf %x : $T", {-kInfinity}));
  EXPECT_EQ(1, apply("%y = math.cos %x : $T", {0}));
  EXPECT_TRUE(std::isnan(apply("%y = math.sin %x : $T", {kInfinity})));
  EXPECT_TRUE(std::isnan(apply("%y = math.cos %x : $T", {-kInfinity})));
  EXPECT_TRUE(std::signbit(apply("%y = math.erf %x : $T", {-0.0f})));
  EXPECT_TRUE(std::signbit(apply("%y = math.sin %x : $T", {-0.0f})));
  EXPECT_TRUE(std::signbit(apply("%y = math.tanh %x : $T", {-0.0f})));
  EXPECT_TRUE(std::signbit(apply("%y = math.expm1 %x : $T", {-0.0f})));
  EXPECT_TRUE(std::signbit(apply("%y = math.log1p %x : $T", {-0.0f})));
}

TEST_P(MathLimits, PowFollowsC) {
  Applied pow("%y = math.powf %x, %w : $T", GetParam(), true, 2);
  std::vector<float> special{0.0f,  -0.0f,     1,          -1,  2,      -2,      0.5f,  -0.5f,       3,     -3,         2.5f,
                             -2.5f, kInfinity, -kInfinity, NAN, 1e-40f, -1e-40f, 3e38f, 16777217.0f, 1e10f, 8388607.0f, -8388607.0f};
  std::vector<float> x, y;
  for (float base : special)
    for (float power : special)
      x.push_back(base), y.push_back(power);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> powers(-40, 40), logs(-20, 20);
  for (int i = 0; i < 400000; ++i)
    x.push_back(std::exp(logs(random)) * (i % 16 ? 1 : -1)), y.push_back(i % 16 ? powers(random) : std::floor(powers(random)));
  std::vector<float> result = pow({x, y});
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double want = std::pow(double(x[i]), double(y[i])), error = ulps(want, result[i]);
    worst = std::max(worst, error);
    ASSERT_LE(error, 1) << x[i] << " to the " << y[i] << " is " << want << ", got " << result[i];
    if (want == 0)
      ASSERT_EQ(std::signbit(want), std::signbit(result[i])) << x[i] << " to the " << y[i];
  }
  RecordProperty("ulps", std::to_string(worst));
}

TEST_P(MathLimits, FmaKeepsWhatAProductLost) {
  Applied lost("%p = arith.mulf %x, %w : $T\n%m = arith.negf %p : $T\n%y = math.fma %x, %w, %m : $T", GetParam(), true, 2);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-4, 4);
  std::vector<float> x(4096), w(4096);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uniform(random), w[i] = uniform(random);
  std::vector<float> y = lost({x, w});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(static_cast<float>(double(x[i]) * w[i] - double(x[i] * w[i])), y[i]);
}

TEST_P(MathLimits, MaximaAndMinimaTreatNaNAsTheirNamesSay) {
  EXPECT_TRUE(std::isnan(apply("%y = arith.maximumf %x, %w : $T", {NAN, 1})));
  EXPECT_TRUE(std::isnan(apply("%y = arith.maximumf %x, %w : $T", {1, NAN})));
  EXPECT_TRUE(std::isnan(apply("%y = arith.minimumf %x, %w : $T", {1, NAN})));
  EXPECT_EQ(1, apply("%y = arith.maxnumf %x, %w : $T", {NAN, 1}));
  EXPECT_EQ(1, apply("%y = arith.maxnumf %x, %w : $T", {1, NAN}));
  EXPECT_EQ(1, apply("%y = arith.minnumf %x, %w : $T", {NAN, 1}));
}

TEST_P(MathLimits, TestsForNaNAndInfinityAnswerByValue) {
  const char *finite = "%b = math.isfinite %x : $T\n%one = arith.constant dense<1.0> : $T\n%no = arith.constant dense<0.0> : $T\n%y = "
                       "arith.select %b, %one, %no : $I1, $T";
  EXPECT_EQ(1, apply(finite, {3e38f}));
  EXPECT_EQ(0, apply(finite, {NAN}));
  EXPECT_EQ(0, apply(finite, {-kInfinity}));
  const char *nan = "%b = math.isnan %x : $T\n%one = arith.constant dense<1.0> : $T\n%no = arith.constant dense<0.0> : $T\n%y = "
                    "arith.select %b, %one, %no : $I1, $T";
  EXPECT_EQ(1, apply(nan, {NAN}));
  EXPECT_EQ(0, apply(nan, {kInfinity}));
}

INSTANTIATE_TEST_SUITE_P(Tiers, MathFunction, testing::Combine(testing::ValuesIn(hostTiers()), testing::ValuesIn(kFunctions)),
                         [](const auto &info) {
                           return std::string(getTierInfo(std::get<0>(info.param)).name) + "_" + std::get<1>(info.param).name;
                         });
INSTANTIATE_TEST_SUITE_P(Tiers, MathLimits, testing::ValuesIn(hostTiers()),
                         [](const auto &info) { return std::string(getTierInfo(info.param).name); });
} // namespace
