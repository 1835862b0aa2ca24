// bounds_test.cpp - accesses beyond one variable, where other memory of the same thread or block
// lies beside it.
#include "test/unit/emulator/EmulatorHarness.h"
using namespace logitile::emulator;

namespace {
/// One thread writes element %i of 'variable', where %i is the number at %p.
std::string element(const std::string &variable) {
  return R"(
@one = internal addrspace(3) global [16 x i32] undef, align 16
@two = internal addrspace(3) global [16 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %a = alloca [8 x i32]
  %b = alloca [8 x i32]
  store volatile i32 0, ptr %b
  store i32 0, ptr addrspace(3) @two
  %i = load i32, ptr addrspace(1) %p
  %at = getelementptr i32, )" + variable +
         ", i32 %i\nstore volatile i32 1, " + variable.substr(0, variable.rfind(' ')) + " %at\nret void\n}";
}

void expectBounds(const std::string &variable, uint32_t size, const std::string &kind) {
  std::vector<uint32_t> index = {size - 1};
  EmulatorHarness harness(element(variable));
  harness.buffer("p", index).threads(1).runClean();
  for (uint32_t outside : {size, ~0u, 1u << 20}) {
    index[0] = outside;
    const Report report = harness.runFaulty(Fault::outOfBounds);
    EXPECT_NE(report.detail.find("from the start of a " + kind + " variable, which has " + std::to_string(4 * size) + " bytes"),
              std::string::npos)
        << report.text();
  }
}
} // namespace

TEST(EmulatorBounds, sharedVariablesBesideEachOther) { expectBounds("ptr addrspace(3) @one", 16, "shared"); }

TEST(EmulatorBounds, localVariables) { expectBounds("ptr %a", 8, "local"); }

TEST(EmulatorBounds, aConstantIndexIsCheckedToo) {
  std::vector<uint32_t> unused = {0};
  auto body = [](const std::string &index) {
    return "define ptx_kernel void @k(ptr addrspace(1) %p) {\n%a = alloca [8 x i32]\n%at = getelementptr i32, ptr %a, i32 " + index +
           "\nstore volatile i32 1, ptr %at\nret void\n}";
  };
  EmulatorHarness(body("8")).buffer("p", unused).threads(1).runFaulty(Fault::outOfBounds);
  EmulatorHarness(body("7")).buffer("p", unused).threads(1).runClean();
}
