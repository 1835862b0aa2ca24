// numerics_test.cpp - numbers of the instructions that round: conversions for many patterns of
// bits, approximate functions within the errors of the PTX ISA, and sums of mma whose terms differ
// in size. GPUs may differ by as much from the emulator.
#include "emulator/core/Numbers.h"
#include "test/unit/emulator/EmulatorHarness.h"
#include <bit>
#include <cmath>
using namespace logitile::emulator;

namespace {
constexpr uint32_t kCount = 8192;

/// Each thread reads %x of its number, and stores %r.
std::string perNumber(const std::string &code) {
  return R"(
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 256
  %n = add i32 %first, %tid
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %n
  %x = load float, ptr addrspace(1) %from
)" + code +
         R"(
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %n
  store i32 %r, ptr addrspace(1) %to
  ret void
})";
}

/// Every exponent with both signs, and fractions whose low bits are ties and their neighbours.
std::vector<float> patterns() {
  constexpr uint32_t kFractions[] = {0x000000, 0x000001, 0x007fff, 0x008000, 0x008001, 0x018000, 0x7fffff, 0x7f8000,
                                     0x000fff, 0x001000, 0x001001, 0x003000, 0x7ff000, 0x400000, 0x555555, 0x2aaaaa};
  std::vector<float> numbers(kCount);
  for (uint32_t i = 0; i < kCount; ++i)
    numbers[i] = std::bit_cast<float>(i / 4096 << 31 | i / 16 % 256 << 23 | kFractions[i % 16]);
  return numbers;
}

std::vector<float> spaced(float first, float last) {
  std::vector<float> numbers(kCount);
  for (uint32_t i = 0; i < kCount; ++i)
    numbers[i] = first + (last - first) * (static_cast<float>(i) / (kCount - 1));
  return numbers;
}

std::vector<uint32_t> run(const std::string &code, std::vector<float> in, int64_t unitsApart) {
  std::vector<uint32_t> out(kCount, 0xdddddddd);
  EmulatorHarness(perNumber(code)).buffer("in", in).buffer("out", out).threads(256).grid(kCount / 256).runClean(unitsApart);
  return out;
}

/// The largest relative error against float64 is 'most'. Another machine may be 'unitsApart' from
/// the emulator.
void expectFunction(const std::string &name, const std::vector<float> &in, int64_t unitsApart, double (*exact)(double),
                    double most = 0x1p-23) {
  const std::vector<uint32_t> out = run("%y = call float @llvm.nvvm." + name + "(float %x)\n%r = bitcast float %y to i32", in, unitsApart);
  double worst = 0;
  for (uint32_t i = 0; i < kCount; ++i)
    worst = std::max(worst, std::abs(std::bit_cast<float>(out[i]) / exact(in[i]) - 1));
  EXPECT_LE(worst, most) << name;
  EXPECT_GE(worst, most / 4) << name;
}
} // namespace

TEST(EmulatorNumerics, conversionsToSixteenBits) {
  const std::vector<float> in = patterns();
  const std::vector<uint32_t> bf16 =
      run("%p = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float %x, float %x)\n%r = bitcast <2 x bfloat> %p to i32", in, 0);
  const std::vector<uint32_t> f16 =
      run("%p = call <2 x half> @llvm.nvvm.ff2f16x2.rn(float %x, float %x)\n%r = bitcast <2 x half> %p to i32", in, 0);
  for (uint32_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(bf16[i], toBf16(in[i]) * 0x10001u) << in[i];
    EXPECT_EQ(f16[i], toF16(in[i]) * 0x10001u) << in[i];
  }
}

// The ISA allows 2^-22 and the like. Kernels rely on 2^x, whose error is as large here; of other
// functions the emulator rounds the exact result. So a GPU may be a few units away.
TEST(EmulatorNumerics, approximateFunctions) {
  for (const std::string name : {"ex2.approx.ftz.f32", "ex2.approx.f32"})
    expectFunction(name, spaced(-120, 120), 8, [](double x) { return std::exp2(x); }, 0x1p-22);
  expectFunction("lg2.approx.ftz.f", spaced(2.0f, 1e6f), 4, [](double x) { return std::log2(x); }); // near 1 errors are absolute
  expectFunction("rcp.approx.ftz.f", spaced(0.01f, 300), 2, [](double x) { return 1 / x; });
  expectFunction("rsqrt.approx.f", spaced(0.01f, 300), 4, [](double x) { return 1 / std::sqrt(x); });
  expectFunction("sqrt.approx.f", spaced(0.01f, 300), 4, [](double x) { return std::sqrt(x); });
}

TEST(EmulatorNumerics, whatApproximationsFlush) {
  const std::vector<float> in = patterns(); // subnormal numbers with ftz, signs of zeros, infinities
  auto isSpecial = [](float x) { return x == 0 || std::isinf(x) || std::fpclassify(x) == FP_SUBNORMAL; };
  std::vector<float> special;
  for (float x : in)
    if (isSpecial(x))
      special.push_back(x);
  for (size_t i = 0; special.size() < kCount; ++i)
    special.push_back(special[i]);
  for (const std::string name : {"ex2.approx.ftz.f32", "rcp.approx.ftz.f"})
    run("%y = call float @llvm.nvvm." + name + "(float %x)\n%r = bitcast float %y to i32", special, 0);
}

/// Row r of A is 1 and then 2^-(r + 12) fifteen times; B is 1, C is 'c'. Tensor cores align terms
/// with the largest one and cut what is below, so sums of many small terms come out smaller than
/// those of the emulator.
TEST(EmulatorNumerics, sumsOfSmallTermsBesideALargeOne) {
  const std::string code = R"(
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %c) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %i = mul i32 %lane, 4
  %at = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %v = load <4 x i32>, ptr addrspace(1) %at, align 16
  %a0 = extractelement <4 x i32> %v, i32 0
  %a1 = extractelement <4 x i32> %v, i32 1
  %a2 = extractelement <4 x i32> %v, i32 2
  %a3 = extractelement <4 x i32> %v, i32 3
  %d = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 1065369472, i32 1065369472,
                                                                              float 0.0, float 0.0, float 0.0, float 0.0)
  %d0 = extractvalue {float, float, float, float} %d, 0
  %d2 = extractvalue {float, float, float, float} %d, 2
  %n = mul i32 %lane, 2
  %to = getelementptr float, ptr addrspace(1) %c, i32 %n
  store float %d0, ptr addrspace(1) %to
  %next = getelementptr float, ptr addrspace(1) %to, i32 1
  store float %d2, ptr addrspace(1) %next
  ret void
})";
  auto pairOf = [](int row, int column) { // columns of A start with the 1
    auto value = [&](int at) { return static_cast<uint32_t>(toBf16(at == 0 ? 1.0f : std::ldexp(1.0f, -(row + 12)))); };
    return value(column) | value(column + 1) << 16;
  };
  std::vector<uint32_t> a(32 * 4);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      a[4 * lane + i] = pairOf(lane / 4 + 8 * (i % 2), 2 * (lane % 4) + 8 * (i / 2));
  std::vector<float> sums(32 * 2);
  EmulatorHarness(code).buffer("a", a).buffer("c", sums).runClean(16); // a unit for each term
  for (int lane = 0; lane < 32; ++lane)
    for (int half = 0; half < 2; ++half)
      EXPECT_NEAR(sums[2 * lane + half], 1 + 15 * std::ldexp(1.0, -(lane / 4 + 8 * half + 12)), 0x1p-19);
}
