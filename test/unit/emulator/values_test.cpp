// values_test.cpp - numbers where the host differs from a GPU: parameters by value and conversions.
#include "test/unit/emulator/EmulatorHarness.h"
#include <limits>
using namespace logitile::emulator;

namespace {
/// A struct of eight i32 as the second argument of a launch; its bytes are passed, not its address.
struct ByValue {
  std::vector<uint32_t> out = std::vector<uint32_t>(128);
  std::array<uint32_t, 8> given = {1, 2, 3, 4, 5, 6, 7, 8};
  EmulatorHarness harness;
  explicit ByValue(const std::string &body) : harness(body) {
    harness.buffer("out", out).threads(64).grid(2);
    harness.launch.arguments.push_back(&given);
  }
};
const std::string kIndex = R"(
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 64
  %i = add i32 %first, %tid
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %i
)";
} // namespace

// ---- parameters by value

TEST(EmulatorValues, eachThreadHasItsOwnParametersByValue) {
  ByValue launch("define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval([8 x i32]) align 4 %p) {" + kIndex + R"(
  %old = load i32, ptr %p
  %new = add i32 %old, %tid
  store i32 %new, ptr %p
  %again = load volatile i32, ptr %p
  store i32 %again, ptr addrspace(1) %at
  ret void
})");
  launch.harness.run();
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(launch.out[i], 1 + i % 64) << i;
  EXPECT_EQ(launch.given[0], 1u);
}

TEST(EmulatorValues, aChosenPointerToAParameterByValueIsInBounds) {
  ByValue launch("define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval([8 x i32]) align 4 %p) {" + kIndex + R"(
  %generic = addrspacecast ptr addrspace(1) %out to ptr
  %some = icmp ne ptr %generic, null
  %second = getelementptr i32, ptr %p, i32 1
  %from = select i1 %some, ptr %second, ptr %generic
  %r = load i32, ptr %from
  store i32 %r, ptr addrspace(1) %at
  ret void
})");
  launch.harness.run();
  EXPECT_EQ(launch.out, std::vector<uint32_t>(128, 2));
  const Outcome outcome = launch.harness.run();
  EXPECT_TRUE(outcome.reports.empty()) << outcome.text();
}

TEST(EmulatorValues, functionsGetCopiesOfWhatIsPassedByValue) {
  ByValue launch(R"(
define internal fastcc i32 @addTo(ptr byval([8 x i32]) align 4 %p, i32 %more) noinline {
  %old = load i32, ptr %p
  %new = add i32 %old, %more
  store i32 %new, ptr %p
  %again = load volatile i32, ptr %p
  ret i32 %again
}
define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval([8 x i32]) align 4 %p) {)" + kIndex + R"(
  %sum = call fastcc i32 @addTo(ptr byval([8 x i32]) align 4 %p, i32 %tid)
  %old = load volatile i32, ptr %p
  %r = mul i32 %sum, %old
  store i32 %r, ptr addrspace(1) %at
  ret void
})");
  launch.harness.run();
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(launch.out[i], 1 + i % 64) << i;
}

// ---- conversions

namespace {
/// What a GPU makes of a number: 'code' computes %r, an i64, of %x.
uint64_t converted(const std::string &code, float number) {
  std::vector<float> in = {number};
  std::vector<uint64_t> out(1);
  EmulatorHarness("define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n"
                  "%x = load float, ptr addrspace(1) %in\n" +
                  code + "\nstore i64 %r, ptr addrspace(1) %out\nret void\n}")
      .buffer("in", in)
      .buffer("out", out)
      .threads(1)
      .runClean();
  return out[0];
}
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
} // namespace

TEST(EmulatorValues, conversionsToIntegersSaturate) {
  const std::string s32 = "%i = fptosi float %x to i32\n%r = sext i32 %i to i64", u32 = "%i = fptoui float %x to i32\n%r = zext i32 %i to i64";
  EXPECT_EQ(converted(s32, 1e20f), 0x7fffffffu);
  EXPECT_EQ(converted(s32, -kInfinity), 0xffffffff80000000u);
  EXPECT_EQ(converted(s32, -2.9f), static_cast<uint64_t>(-2));
  EXPECT_EQ(converted(s32, kNan), 0u);
  EXPECT_EQ(converted(u32, 1e20f), 0xffffffffu);
  EXPECT_EQ(converted(u32, 4294967040.f), 4294967040u);
  EXPECT_EQ(converted(u32, -3), 0u);
}

TEST(EmulatorValues, conversionsTo64BitsGiveNanItsOwnNumber) {
  EXPECT_EQ(converted("%r = fptosi float %x to i64", kInfinity), 0x7fffffffffffffffu);
  EXPECT_EQ(converted("%r = fptosi float %x to i64", kNan), 0x8000000000000000u);
  EXPECT_EQ(converted("%r = fptoui float %x to i64", -1), 0u);
  EXPECT_EQ(converted("%r = fptoui float %x to i64", kNan), 0x8000000000000000u);
  EXPECT_EQ(converted("%d = fpext float %x to double\n%i = fptosi double %d to i32\n%r = zext i32 %i to i64", kNan), 0x80000000u);
}

TEST(EmulatorValues, conversionsOfNarrowTypes) {
  EXPECT_EQ(converted("%i = fptosi float %x to i8\n%r = zext i8 %i to i64", 300), 300u % 256);
  EXPECT_EQ(converted("%i = fptosi float %x to i8\n%r = zext i8 %i to i64", 1e9f), 0xffu);
  EXPECT_EQ(converted("%h = fptrunc float %x to half\n%i = fptosi half %h to i32\n%r = zext i32 %i to i64", 1e9f), 0x7fffffffu);
  EXPECT_EQ(converted("%h = fptrunc float %x to bfloat\n%i = fptoui bfloat %h to i16\n%r = zext i16 %i to i64", 1e9f), 0xffffu);
}
