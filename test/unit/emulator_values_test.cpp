// emulator_values_test.cpp - numbers where the host differs from a GPU: parameters by value.
#include "test/unit/EmulatorHarness.h"
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
