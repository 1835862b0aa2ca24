// target_test.cpp - names of targets, and how the environment lowers the host's tier. What code they get is lit's business.
#include "compiler/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
using namespace logitile;

TEST(Target, NameOfEveryTierParsesToItself) {
  for (CpuTier tier : {CpuTier::Portable, CpuTier::Avx2, CpuTier::Avx512, CpuTier::Avx512Bf16}) {
    std::string name = "cpu:" + std::string(getTierInfo(tier).name);
    std::optional<Target> target = Target::parse(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->kind, DeviceKind::Cpu);
    EXPECT_EQ(target->tier, tier);
    EXPECT_EQ(target->canonicalName(), name);
  }
}

TEST(Target, NameOfEveryGpuParsesToItself) {
  for (std::string_view name : {"cuda:sm_80", "cuda:sm_90a", "cuda:sm_100f", "emu:sm_80", "emu:sm_90a"}) {
    std::optional<Target> target = Target::parse(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->canonicalName(), name);
  }
  EXPECT_EQ(Target::parse("cuda:sm_90a")->kind, DeviceKind::Cuda);
  EXPECT_EQ(Target::parse("emu:sm_90a")->kind, DeviceKind::Emulator);
  EXPECT_EQ(Target::parse("emu:sm_90a")->sm, 90);
  EXPECT_EQ(Target::parse("emu:sm_90a")->suffix, "a");
}

TEST(Target, OtherNamesAreRefused) {
  for (std::string_view name : {"", "cpu", "cpu:", "cpu:avx", "cpu:AVX2", "cpu:avx2 ", "avx2", "cuda", "cuda:", "cuda:80", "cuda:sm_",
                                "cuda:sm_75", "cuda:sm_77", "cuda:sm_87", "cuda:sm_90b", "cuda:sm_90aa", "cuda:sm_-90", "emu:avx2", "gpu:sm_80"})
    EXPECT_FALSE(Target::parse(name)) << "'" << name << "'";
}

TEST(Target, EachTierHasWhatTheOneBeforeHas) {
  for (CpuTier tier : {CpuTier::Avx2, CpuTier::Avx512, CpuTier::Avx512Bf16}) {
    const CpuTierInfo &info = getTierInfo(tier), &before = getTierInfo(static_cast<CpuTier>(static_cast<int>(tier) - 1));
    EXPECT_GE(info.lanes, before.lanes) << info.name;
    EXPECT_GE(info.hasFma, before.hasFma) << info.name;
    EXPECT_GE(info.hasBf16Dot, before.hasBf16Dot) << info.name;
    EXPECT_EQ(info.panelWidth(), info.lanes * info.panelVectors) << info.name;
  }
}

namespace {
/// Sets LOGITILE_CPU_TIER for one test and puts the old value back.
class HostTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (const char *value = std::getenv(kVariable))
      before = value;
  }
  void TearDown() override { before ? setenv(kVariable, before->c_str(), 1) : unsetenv(kVariable); }
  std::optional<Target> hostWith(const char *tier) {
    setenv(kVariable, tier, 1);
    return Target::host(error);
  }

  static constexpr const char *kVariable = "LOGITILE_CPU_TIER";
  std::optional<std::string> before;
  std::string error;
};
} // namespace

TEST_F(HostTest, IsACpuWithoutTheVariable) {
  unsetenv(kVariable);
  std::optional<Target> target = Target::host(error);
  ASSERT_TRUE(target) << error;
  EXPECT_EQ(target->kind, DeviceKind::Cpu);
  std::optional<Target> unforced = hostWith("");
  ASSERT_TRUE(unforced) << error;
  EXPECT_EQ(unforced->canonicalName(), target->canonicalName());
}

TEST_F(HostTest, TierCanBeLowered) {
  std::optional<Target> target = hostWith("portable");
  ASSERT_TRUE(target) << error;
  EXPECT_EQ(target->canonicalName(), "cpu:portable");
}

TEST_F(HostTest, UnknownTierIsRefused) {
  EXPECT_FALSE(hostWith("avx1024"));
  EXPECT_EQ(error, "LOGITILE_CPU_TIER is 'avx1024'; expected portable, avx2, avx512 or avx512_bf16");
}

TEST_F(HostTest, TierThatTheMachineLacksIsRefused) {
  unsetenv(kVariable);
  CpuTier own = Target::host(error)->tier;
  if (own == CpuTier::Avx512Bf16)
    GTEST_SKIP() << "this CPU has every tier";
  EXPECT_FALSE(hostWith("avx512_bf16"));
  EXPECT_EQ(error, llvm::formatv("LOGITILE_CPU_TIER asks for 'avx512_bf16', but this CPU has '{0}' at most", getTierInfo(own).name).str());
}
