// target_test.cpp - names of targets, the registry of backends, and how the environment lowers the
// host's tier. What code targets get is lit's business.
#include "compiler/Backends/CPU/CPUTarget.h"
#include "compiler/Backends/NVPTX/GPUTarget.h"
#include "compiler/Target/Backend.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
using namespace logitile;

static std::shared_ptr<const Target> parse(std::string_view name) {
  std::string error;
  return findTarget(name, error);
}
static std::string refusal(std::string_view name) {
  std::string error;
  EXPECT_FALSE(findTarget(name, error)) << name;
  return error;
}

TEST(Target, NameOfEveryTierParsesToItself) {
  for (CpuTier tier : {CpuTier::Portable, CpuTier::Avx2, CpuTier::Avx512, CpuTier::Avx512Bf16, CpuTier::AmxBf16, CpuTier::AmxBf16Emulated}) {
    std::shared_ptr<const Target> target = parse(targetName(tier));
    ASSERT_TRUE(target) << targetName(tier);
    ASSERT_TRUE(cpu::CPUTarget::from(*target));
    EXPECT_EQ(cpu::CPUTarget::from(*target)->tier, tier);
    EXPECT_FALSE(cuda::GPUTarget::from(*target));
    EXPECT_EQ(target->name(), targetName(tier));
  }
}

TEST(Target, NameOfEveryGpuParsesToItself) {
  for (std::string_view name : {"cuda:sm_80", "cuda:sm_100", "cuda:sm_90:h100", "cuda:sm_89:rtx4090", "emu:sm_80", "emu:sm_90", "cuda:sm_90a",
                                "cuda:sm_90a:h100", "emu:sm_90a"}) {
    std::shared_ptr<const Target> target = parse(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->name(), name);
    EXPECT_TRUE(cuda::GPUTarget::from(*target)) << name;
    EXPECT_FALSE(cpu::CPUTarget::from(*target)) << name;
  }
  EXPECT_EQ(parse("cuda:sm_90")->codeStage(), Stage::Ptx);
  EXPECT_EQ(parse("emu:sm_90")->codeStage(), Stage::Llvm);
  std::shared_ptr<const Target> emulated = parse("emu:sm_90"); // owns what 'gpu' refers to
  const Gpu &gpu = cuda::GPUTarget::from(*emulated)->gpu;
  EXPECT_EQ(gpu.info().sm, 90);
  EXPECT_EQ(gpu.architecture(), "sm_90");
}

TEST(Target, ACapabilityStandsForOneChip) {
  for (auto [name, chip] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"sm_80", "a100"}, {"sm_86", "rtx3090"}, {"sm_89", "l40s"}, {"sm_90", "h200"}, {"sm_90a", "h200"}, {"sm_100", "b200"},
           {"sm_120", "rtx5090"}})
    EXPECT_EQ(Gpu::parse(name)->chip->name, chip) << name;
  EXPECT_EQ(parse("cuda:sm_90:h200")->name(), "cuda:sm_90") << "the same code has one name";
}

TEST(Target, OtherNamesAreRefused) {
  for (std::string_view name :
       {"", "cpu", "cpu:", "cpu:avx", "cpu:AVX2", "cpu:avx2 ", "avx2", "cuda", "cuda:", "cuda:80", "cuda:sm_", "cuda:sm_75", "cuda:sm_77",
        "cuda:sm_87", "cuda:sm_80a", "cuda:sm_100f", "cuda:sm_100a", "emu:sm_100a", "cuda:sm_90a:a100", "cuda:sm_-90", "cuda:sm_90:",
        "cuda:sm_90:a100",
        "cuda:h100", "cuda:sm_90:h100:", "emu:avx2", "gpu:sm_80"})
    EXPECT_FALSE(parse(name)) << "'" << name << "'";
}

TEST(Target, ARefusalListsNames) {
  EXPECT_EQ(refusal("cpu:avx9"), "there is no target 'cpu:avx9'; 'cpu:' has portable, avx2, avx512, avx512_bf16, amx_bf16, amx_bf16_emulated");
  EXPECT_EQ(refusal("cuda:sm_87"), "there is no target 'cuda:sm_87'; 'cuda:' has sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120; with a chip "
                                   "sm_80:a100, sm_86:rtx3090, sm_89:l40s, sm_89:rtx4090, sm_90:h100, sm_90:h200, sm_90a:h100, sm_90a:h200, "
                                   "sm_100:b200, sm_120:rtx5090");
  EXPECT_EQ(refusal("cuda:sm_100a").substr(0, 59), "there is no target 'cuda:sm_100a'; 'cuda:' has sm_80, sm_86");
  EXPECT_EQ(refusal("gpu:sm_80").substr(0, 72), "there is no target 'gpu:sm_80'; names begin with 'cpu:', 'cuda:', 'emu:'");
}

namespace {
/// A kind of target without any.
class EmptyBackend : public Backend {
public:
  explicit EmptyBackend(std::string_view prefix) : name(prefix) {}
  std::string_view prefix() const override { return name; }
  std::shared_ptr<const Target> parse(std::string_view) const override { return nullptr; }
  std::string listFeatures() const override { return "nothing"; }

private:
  const std::string name;
};
} // namespace

TEST(Registry, ABackendFromOutsideIsFoundByItsPrefix) {
  ASSERT_TRUE(registerBackend(std::make_unique<EmptyBackend>("empty")));
  EXPECT_EQ(refusal("empty:x"), "there is no target 'empty:x'; 'empty:' has nothing");
  EXPECT_EQ(listBackends().back()->prefix(), "empty");
}

TEST(Registry, APrefixNamesOneBackend) {
  size_t count = listBackends().size();
  EXPECT_FALSE(registerBackend(std::make_unique<EmptyBackend>("cpu")));
  EXPECT_EQ(listBackends().size(), count);
  EXPECT_TRUE(parse("cpu:avx2"));
}

TEST(Target, EachTierHasWhatTheOneBeforeHas) {
  for (CpuTier tier : {CpuTier::Avx2, CpuTier::Avx512, CpuTier::Avx512Bf16, CpuTier::AmxBf16}) {
    const CpuTierInfo &info = getTierInfo(tier), &before = getTierInfo(static_cast<CpuTier>(static_cast<int>(tier) - 1));
    EXPECT_GE(info.lanes, before.lanes) << info.name;
    EXPECT_GE(info.hasFma, before.hasFma) << info.name;
    EXPECT_GE(info.hasBf16Dot, before.hasBf16Dot) << info.name;
    EXPECT_GE(info.hasAmxTiles, before.hasAmxTiles) << info.name;
    EXPECT_EQ(info.panelWidth(), info.lanes * info.panelVectors) << info.name;
  }
}

TEST(Target, EmulatedTilesNeedDotProductsOfBf16) {
  EXPECT_TRUE(runs(CpuTier::AmxBf16, CpuTier::Avx512Bf16));
  EXPECT_FALSE(runs(CpuTier::Avx512Bf16, CpuTier::AmxBf16));
  EXPECT_TRUE(runs(CpuTier::Avx512Bf16, CpuTier::AmxBf16Emulated));
  EXPECT_FALSE(runs(CpuTier::Avx512, CpuTier::AmxBf16Emulated));
  EXPECT_TRUE(runs(CpuTier::AmxBf16Emulated, CpuTier::AmxBf16Emulated));
  EXPECT_TRUE(runs(CpuTier::AmxBf16Emulated, CpuTier::Avx512Bf16));
  EXPECT_FALSE(runs(CpuTier::AmxBf16Emulated, CpuTier::AmxBf16));
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
  std::optional<CpuTier> hostWith(const char *tier) {
    setenv(kVariable, tier, 1);
    return hostTier(error);
  }

  static constexpr const char *kVariable = "LOGITILE_CPU_TIER";
  std::optional<std::string> before;
  std::string error;
};
} // namespace

TEST_F(HostTest, HasATierWithoutTheVariable) {
  unsetenv(kVariable);
  std::optional<CpuTier> tier = hostTier(error);
  ASSERT_TRUE(tier) << error;
  std::optional<CpuTier> unforced = hostWith("");
  ASSERT_TRUE(unforced) << error;
  EXPECT_EQ(*unforced, *tier);
}

TEST_F(HostTest, TierCanBeLowered) {
  EXPECT_EQ(hostWith("portable"), CpuTier::Portable) << error;
}

TEST_F(HostTest, UnknownTierIsRefused) {
  EXPECT_FALSE(hostWith("avx1024"));
  EXPECT_EQ(error, "LOGITILE_CPU_TIER is 'avx1024'; expected one of portable, avx2, avx512, avx512_bf16, amx_bf16, amx_bf16_emulated");
}

TEST_F(HostTest, TierThatTheMachineLacksIsRefused) {
  unsetenv(kVariable);
  CpuTier own = *hostTier(error);
  if (own == CpuTier::AmxBf16)
    GTEST_SKIP() << "this CPU has every tier";
  EXPECT_FALSE(hostWith("amx_bf16"));
  EXPECT_EQ(error, llvm::formatv("LOGITILE_CPU_TIER asks for 'amx_bf16', but this CPU has '{0}' at most", getTierInfo(own).name).str());
}
