// CpuKernelTest.h - the fixture of tests that run kernels: one test for each tier of this machine,
// kernels from Inputs/.
#pragma once
#include "test/unit/compiler/KernelHarness.h"
#include "test/unit/compiler/Numbers.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace logitile {
class CpuKernelTest : public testing::TestWithParam<CpuTier> {
protected:
  const CpuTierInfo &tier = getTierInfo(GetParam());
  const int64_t width = tier.panelWidth();
  std::mt19937 random{7};

  /// The kernels of Inputs/'name'.mlir with every $NAME replaced. Null, and the test failed, where
  /// they do not compile.
  std::unique_ptr<KernelHarness> compile(const std::string &name, const Names &names) {
    std::ifstream file(std::string(LOGITILE_TEST_INPUTS) + "/" + name + ".mlir");
    std::stringstream text;
    text << file.rdbuf();
    std::string error, code = fill(text.str(), names);
    auto kernels = KernelHarness::compile(code, GetParam(), error);
    EXPECT_TRUE(kernels && !code.empty()) << name << ": " << error << code;
    return kernels;
  }
  /// The next multiple of the panel width.
  int64_t padded(int64_t count) const { return (count + width - 1) / width * width; }
  /// One value per token, and lanes after the last one.
  template <typename T> std::vector<T> perToken(int64_t count) const { return std::vector<T>(padded(count), T()); }
  std::vector<float> randomTokens(int64_t count, float scale = 1) {
    std::vector<float> values = perToken<float>(count);
    std::uniform_real_distribution<float> uniform(-scale, scale);
    for (float &value : values)
      value = uniform(random);
    return values;
  }
  /// Tokens in reverse order.
  std::vector<int32_t> reversedMap(int64_t count) const {
    std::vector<int32_t> map = perToken<int32_t>(count);
    for (int64_t i = 0; i < count; ++i)
      map[i] = static_cast<int32_t>(count - 1 - i);
    return map;
  }
  /// A column for each token; of every `period` tokens the last has none.
  std::vector<int32_t> randomColumns(int64_t count, int64_t vocab, int64_t period, int32_t none) {
    std::vector<int32_t> columns = perToken<int32_t>(count);
    for (int64_t i = 0; i < count; ++i)
      columns[i] = i % period == period - 1 ? none : static_cast<int32_t>(random() % vocab);
    return columns;
  }
};

inline std::string nameOfTier(const testing::TestParamInfo<CpuTier> &info) { return std::string(getTierInfo(info.param).name); }
} // namespace logitile
