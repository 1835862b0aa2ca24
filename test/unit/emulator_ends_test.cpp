// emulator_ends_test.cpp - kernels that would end or hold up the process that runs them: each becomes a report.
#include "test/unit/EmulatorHarness.h"
using namespace logitile::emulator;

namespace {
std::string kernel(const std::string &code) {
  return "define ptx_kernel void @k(ptr addrspace(1) %p) {\n" + code + "\nret void\n}";
}
} // namespace

TEST(EmulatorEnds, anAccessOfNullIsOutOfBounds) {
  std::vector<uint32_t> words(1);
  EmulatorHarness(kernel("store volatile i32 1, ptr addrspace(1) null, align 4294967296")).buffer("p", words).threads(1).runFaulty(
      Fault::outOfBounds);
  EmulatorHarness(kernel("%r = load volatile i32, ptr null, align 4294967296")).buffer("p", words).threads(1).runFaulty(
      Fault::outOfBounds);
}

TEST(EmulatorEnds, aDivisionByZeroIsReported) {
  for (const std::string name : {"sdiv", "udiv", "srem", "urem"}) {
    std::vector<uint32_t> words = {0};
    EmulatorHarness harness(
        kernel("%d = load i32, ptr addrspace(1) %p\n%q = " + name + " i32 7, %d\nstore i32 %q, ptr addrspace(1) %p"));
    harness.buffer("p", words).threads(1);
    const Report report = harness.runFaulty(Fault::trap);
    EXPECT_NE(report.text().find("'" + name + "'"), std::string::npos) << report.text();
    words[0] = 2;
    harness.runClean();
    EXPECT_EQ(words[0], name.ends_with("div") ? 3u : 1u);
  }
}

TEST(EmulatorEnds, aQuotientThatDoesNotFitIsReported) {
  std::vector<uint32_t> words = {0x80000000u};
  EmulatorHarness harness(kernel("%n = load i32, ptr addrspace(1) %p\n%q = sdiv i32 %n, -1\nstore i32 %q, ptr addrspace(1) %p"));
  harness.buffer("p", words).threads(1).runFaulty(Fault::trap);
  words[0] = 5;
  harness.runClean();
  EXPECT_EQ(words[0], static_cast<uint32_t>(-5));
}

TEST(EmulatorEnds, eachNumberOfAVectorIsDivided) {
  std::vector<uint32_t> words = {3, 0};
  EmulatorHarness harness(
      kernel("%d = load <2 x i32>, ptr addrspace(1) %p\n%q = udiv <2 x i32> <i32 7, i32 8>, %d\nstore <2 x i32> %q, ptr addrspace(1) %p"));
  harness.buffer("p", words).threads(1).runFaulty(Fault::trap);
  words[1] = 4;
  harness.runClean();
  EXPECT_EQ(words[0], 2u);
  EXPECT_EQ(words[1], 2u);
}
