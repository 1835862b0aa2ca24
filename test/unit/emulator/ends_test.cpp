// ends_test.cpp - kernels that would end or hold up the process that runs them: each becomes a
// report.
#include "runtime/emulator/HostCode.h"
#include "test/unit/emulator/EmulatorHarness.h"
using namespace logitile::emulator;

namespace {
std::string kernel(const std::string &code) {
  return "define ptx_kernel void @k(ptr addrspace(1) %p) {\n" + code + "\nret void\n}";
}
} // namespace

TEST(EmulatorEnds, anAccessOfNullIsOutOfBounds) {
  std::vector<uint32_t> words(1);
  EmulatorHarness store(kernel("store volatile i32 1, ptr addrspace(1) null, align 4294967296"));
  const Report report = store.buffer("p", words).threads(1).runFaulty(Fault::outOfBounds);
  EXPECT_NE(report.detail.find("no buffer is near it"), std::string::npos) << report.text();
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

// ---- loops

namespace {
/// Threads of two warps, the first of which is woken by the last: 'set' and 'get' work with the
/// flag at %p.
std::string spin(const std::string &get) {
  return R"(
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %last = icmp eq i32 %tid, 0
  br i1 %last, label %set, label %loop
loop:
  %f = )" + get +
         R"( ptr addrspace(1) %p syncscope("device") monotonic, align 4
  %done = icmp eq i32 %f, 1
  br i1 %done, label %end, label %loop
set:
  store atomic i32 1, ptr addrspace(1) %p syncscope("device") monotonic, align 4
  br label %end
end:
  ret void
})";
}
} // namespace

TEST(EmulatorEnds, threadsMayWaitInALoopForAnother) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    std::vector<uint32_t> flag = {0};
    EmulatorHarness(spin("load atomic i32,")).buffer("flag", flag).threads(64).seed(seed).runClean();
    EXPECT_EQ(flag[0], 1u);
  }
}

TEST(EmulatorEnds, aBlockMayWaitForAnEarlierOne) {
  std::string body = spin("load atomic i32,");
  body.replace(body.find("tid.x"), 5, "ctaid.x");
  std::vector<uint32_t> flag = {0};
  EmulatorHarness(body).buffer("flag", flag).threads(32).grid(3).runClean();
}

TEST(EmulatorEnds, aLoopThatNeverEndsIsReported) {
  for (const std::string code : {"br label %loop\nloop:\nstore volatile i32 1, ptr addrspace(1) %p\nbr label %loop\nend:",
                                 "br label %loop\nloop:\nbr label %loop\nend:"}) {
    std::vector<uint32_t> words = {0};
    EmulatorHarness harness(kernel(code));
    harness.launch.turns = 1 << 16;
    const Report report = harness.buffer("p", words).threads(2).runFaulty(Fault::endless);
    EXPECT_EQ(report.parties.at(0).who, "warp 0 lanes 0x00000003");
    EXPECT_EQ(report.parties.at(0).instruction, "loop");
  }
}

/// A long loop is no reason to call those stuck who wait for its thread.
TEST(EmulatorEnds, longLoopsMayEnd) {
  std::vector<uint32_t> out(64);
  EmulatorHarness(R"(
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %count = mul i32 %tid, 3000
  %turns = add i32 %count, 1
  br label %loop
loop:
  %i = phi i32 [0, %0], [%next, %loop]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %turns
  br i1 %more, label %loop, label %end
end:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %next, ptr addrspace(1) %at
  ret void
})")
      .buffer("out", out)
      .threads(64)
      .runClean();
  EXPECT_EQ(out[63], 63u * 3000 + 1);
}

TEST(EmulatorEnds, aLoopCanBeInterrupted) {
  std::vector<uint32_t> words = {0};
  EmulatorHarness harness(kernel("br label %loop\nloop:\nbr label %loop\nend:"));
  harness.launch.interrupt.isRequested = [](void *) { return true; };
  EXPECT_TRUE(harness.buffer("p", words).threads(2).run().isInterrupted);
}

// ---- stacks

namespace {
/// A function that calls itself as often as %p says.
std::string recursion(const std::string &variable) {
  return R"(
define internal i32 @down(i32 %n) noinline {
  %v = alloca )" + variable +
         R"(
  store volatile i8 1, ptr %v
  %isEnd = icmp eq i32 %n, 0
  br i1 %isEnd, label %end, label %go
go:
  %less = sub i32 %n, 1
  %sum = call i32 @down(i32 %less)
  %more = add i32 %sum, 1
  br label %end
end:
  %r = phi i32 [0, %0], [%more, %go]
  ret i32 %r
}
)" + kernel("%n = load i32, ptr addrspace(1) %p\n%r = call i32 @down(i32 %n)\nstore i32 %r, ptr addrspace(1) %p");
}
} // namespace

TEST(EmulatorEnds, localMemoryIsThatOfAGpu) {
  std::vector<uint32_t> words = {0};
  EmulatorHarness(kernel("%a = alloca [520000 x i8]\nstore volatile i32 1, ptr %a")).buffer("p", words).threads(64).runClean();
  std::string error;
  const std::string text = emulatorModule(kernel("%a = alloca [600000 x i8]\nstore volatile i32 1, ptr %a"));
  EXPECT_FALSE(Program::load(text, logitile::hostCompiler(), error));
  EXPECT_EQ(error, "'k' has variables of 600000 bytes, more than the 524288 of a thread's local memory");
}

TEST(EmulatorEnds, aStackThatIsTooDeepIsReported) {
  for (const std::string variable : {"i8", "[60000 x i8]"}) {
    std::vector<uint32_t> words = {5};
    EmulatorHarness harness(recursion(variable));
    harness.buffer("p", words).threads(1).runClean();
    EXPECT_EQ(words[0], 5u);
    words[0] = 1000000;
    const Report report = harness.runFaulty(Fault::trap);
    EXPECT_EQ(report.parties.at(0).instruction, "call of down");
  }
}

TEST(EmulatorEnds, aVariableWithoutAFixedLengthIsChecked) {
  std::vector<uint32_t> words = {100};
  EmulatorHarness harness(kernel("%n = load i32, ptr addrspace(1) %p\n%v = alloca i32, i32 %n\nstore volatile i32 1, ptr %v"));
  harness.buffer("p", words).threads(1).runClean();
  words[0] = 1u << 30;
  harness.runFaulty(Fault::trap);
}
