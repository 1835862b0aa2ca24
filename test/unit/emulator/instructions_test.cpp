// instructions_test.cpp - what single instructions compute: registers, shuffles, votes,
// conversions, functions. Matrices and asynchronous copies have tests of their own.
#include "test/unit/emulator/EmulatorHarness.h"
#include <bit>
#include <cmath>
#include <functional>
using namespace logitile::emulator;

namespace {
/// Runs one warp whose threads each store %r.
std::vector<uint32_t> perThread(const std::string &code, uint32_t threads = 32) {
  std::vector<uint32_t> out(threads, 0xdddddddd);
  EmulatorHarness(storePerThread(code)).buffer("out", out).threads(threads).runClean();
  return out;
}

void expectLanes(const std::string &code, const std::function<uint32_t(uint32_t)> &expected) {
  const std::vector<uint32_t> out = perThread(code);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], expected(lane)) << "lane " << lane;
}

/// The result of a function of f32 for one value, given as bits.
float evaluate(const std::string &call, float value) {
  const std::string bits = std::to_string(std::bit_cast<uint32_t>(value));
  return std::bit_cast<float>(perThread("%x = bitcast i32 " + bits + " to float\n" + call + "\n%r = bitcast float %y to i32")[7]);
}
float callOf(const std::string &name, float value) { return evaluate("%y = call float @llvm.nvvm." + name + "(float %x)", value); }
} // namespace

TEST(EmulatorRegisters, threadsKnowTheirPlace) {
  std::vector<uint32_t> out(2 * 3 * 40 * 2, 0);
  EmulatorHarness(R"(
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %block0 = mul i32 %by, %gx
  %block = add i32 %block0, %bx
  %row0 = mul i32 %block, 2
  %row = add i32 %row0, %y
  %linear0 = mul i32 %row, %nx
  %linear = add i32 %linear0, %x
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %linear
  store i32 %lane, ptr addrspace(1) %at
  ret void
})")
      .buffer("out", out)
      .threads(40, 2)
      .grid(2, 3)
      .runClean();
  for (uint32_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], i % 80 % 32) << i; // lanes count over the block's linear threads
}

TEST(EmulatorShuffles, butterfly) {
  expectLanes("%v = mul i32 %lane, 10\n%r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v, i32 5, i32 31)",
              [](uint32_t lane) { return (lane ^ 5) * 10; });
}

TEST(EmulatorShuffles, butterflyOfFloats) {
  const std::vector<uint32_t> out = perThread(R"(
  %f = uitofp i32 %lane to float
  %g = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %f, i32 1, i32 31)
  %r = bitcast float %g to i32)");
  EXPECT_EQ(std::bit_cast<float>(out[4]), 5.0f);
}

TEST(EmulatorShuffles, upKeepsTheFirstLanes) {
  expectLanes("%r = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %lane, i32 3, i32 0)",
              [](uint32_t lane) { return lane < 3 ? lane : lane - 3; });
}

TEST(EmulatorShuffles, downKeepsTheLastLanes) {
  expectLanes("%r = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %lane, i32 4, i32 31)",
              [](uint32_t lane) { return lane + 4 > 31 ? lane : lane + 4; });
}

TEST(EmulatorShuffles, segmentsOfEight) { // mask of segments 24 in bits 8 to 12, clamp 7
  expectLanes("%r = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %lane, i32 4, i32 6175)",
              [](uint32_t lane) { return lane % 8 + 4 > 7 ? lane : lane + 4; });
  expectLanes("%r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %lane, i32 2, i32 6175)",
              [](uint32_t lane) { return lane / 8 * 8 + 2; });
}

TEST(EmulatorShuffles, predicateSaysWhetherTheSourceIsInside) {
  expectLanes(R"(
  %p = call {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32 -1, i32 %lane, i32 4, i32 31)
  %q = extractvalue {i32, i1} %p, 1
  %r = zext i1 %q to i32)",
              [](uint32_t lane) { return lane + 4 <= 31; });
}

/// PTX ISA, "shfl.sync": the lane that is read, and in bit 8 whether it is inside.
static uint32_t shuffled(const std::string &mode, uint32_t lane, uint32_t b, uint32_t c) {
  const uint32_t clamp = c & 31, segments = c >> 8 & 31;
  const int first = lane & segments, limit = first | (clamp & ~segments), from = static_cast<int>(lane);
  const int source = mode == "up"     ? from - static_cast<int>(b)
                     : mode == "down" ? from + static_cast<int>(b)
                     : mode == "bfly" ? from ^ static_cast<int>(b)
                                      : first | static_cast<int>(b & ~segments);
  const bool isInside = mode == "up" ? source >= limit : source <= limit;
  return (isInside ? source : from) | (isInside ? 256 : 0);
}

TEST(EmulatorShuffles, everyDistanceClampAndSegment) {
  constexpr uint32_t kSegments[] = {0, 16, 24, 28, 30, 31};
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    // Block (b, clamp + 32 * segment); the segment's mask comes from a table.
    std::vector<uint32_t> masks(std::begin(kSegments), std::end(kSegments)), out(32 * 32 * 32 * masks.size());
    EmulatorHarness(R"(
define ptx_kernel void @k(ptr addrspace(1) %masks, ptr addrspace(1) %out) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %clamp = and i32 %y, 31
  %segment = lshr i32 %y, 5
  %at = getelementptr i32, ptr addrspace(1) %masks, i32 %segment
  %mask = load i32, ptr addrspace(1) %at
  %high = shl i32 %mask, 8
  %c = or i32 %high, %clamp
  %s = call {i32, i1} @llvm.nvvm.shfl.sync.)" +
                    mode + R"(.i32p(i32 -1, i32 %lane, i32 %b, i32 %c)
  %v = extractvalue {i32, i1} %s, 0
  %p = extractvalue {i32, i1} %s, 1
  %inside = select i1 %p, i32 256, i32 0
  %r = or i32 %v, %inside
  %block0 = mul i32 %y, 32
  %block = add i32 %block0, %b
  %first = mul i32 %block, 32
  %i = add i32 %first, %lane
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %r, ptr addrspace(1) %to
  ret void
})")
        .buffer("masks", masks)
        .buffer("out", out)
        .grid(32, 32 * masks.size())
        .runClean();
    size_t wrong = 0;
    for (uint32_t i = 0; i < out.size(); ++i)
      wrong += out[i] != shuffled(mode, i % 32, i / 32 % 32, masks[i / 32768] << 8 | i / 1024 % 32);
    EXPECT_EQ(wrong, 0u) << mode;
  }
}

TEST(EmulatorVotes, anyAllUniformBallot) {
  const std::string odd = "%b = and i32 %lane, 1\n%p = icmp eq i32 %b, 1\n%few = icmp ult i32 %lane, 32\n";
  expectLanes(odd + "%v = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %p)\n%r = zext i1 %v to i32", [](uint32_t) { return 1; });
  expectLanes(odd + "%v = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %p)\n%r = zext i1 %v to i32", [](uint32_t) { return 0; });
  expectLanes(odd + "%v = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %few)\n%r = zext i1 %v to i32", [](uint32_t) { return 1; });
  expectLanes(odd + "%v = call i1 @llvm.nvvm.vote.uni.sync(i32 -1, i1 %p)\n%r = zext i1 %v to i32", [](uint32_t) { return 0; });
  expectLanes(odd + "%r = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %p)", [](uint32_t) { return 0xaaaaaaaau; });
}

TEST(EmulatorVotes, electTakesTheLowestLane) {
  expectLanes("%e = call {i32, i1} @llvm.nvvm.elect.sync(i32 -1)\n%p = extractvalue {i32, i1} %e, 1\n%r = zext i1 %p to i32",
              [](uint32_t lane) { return lane == 0; });
}

TEST(EmulatorReductions, eachOperation) {
  const std::string value = "%v = sub i32 %lane, 3\n"; // -3 .. 28
  auto reduce = [&](const std::string &name) {
    return perThread(value + "%r = call i32 @llvm.nvvm.redux.sync." + name + "(i32 %v, i32 -1)")[9];
  };
  EXPECT_EQ(reduce("add"), 400u); // 496 - 96
  EXPECT_EQ(reduce("min"), static_cast<uint32_t>(-3));
  EXPECT_EQ(reduce("max"), 28u);
  EXPECT_EQ(reduce("umin"), 0u);
  EXPECT_EQ(reduce("umax"), static_cast<uint32_t>(-1));
  EXPECT_EQ(reduce("and"), 0u);
  EXPECT_EQ(reduce("or"), static_cast<uint32_t>(-1));
  uint32_t parity = 0;
  for (int i = -3; i < 29; ++i)
    parity ^= static_cast<uint32_t>(i);
  EXPECT_EQ(reduce("xor"), parity);
}

TEST(EmulatorReductions, halvesOfAWarpMeetApart) {
  expectLanes(R"(
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %a, label %b
a:
  %x = call i32 @llvm.nvvm.redux.sync.add(i32 %lane, i32 65535)
  br label %end
b:
  %y = call i32 @llvm.nvvm.redux.sync.add(i32 %lane, i32 -65536)
  br label %end
end:
  %r = phi i32 [%x, %a], [%y, %b])",
              [](uint32_t lane) { return lane < 16 ? 120 : 376; });
}

TEST(EmulatorConversions, pairsPutTheFirstOperandOnTop) {
  const std::string two = "%a = fadd float 1.0, 0.0\n";
  EXPECT_EQ(perThread(two + "%p = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float %a, float -2.0)\n%r = bitcast <2 x bfloat> %p to i32")[0],
            0x3f80c000u);
  EXPECT_EQ(perThread(two + "%p = call <2 x half> @llvm.nvvm.ff2f16x2.rn(float %a, float -2.0)\n%r = bitcast <2 x half> %p to i32")[0],
            0x3c00c000u);
}

TEST(EmulatorConversions, roundingToBf16) {
  auto round = [](uint32_t bits) {
    return perThread(
        "%x = bitcast i32 " + std::to_string(bits) +
        " to float\n%h = call bfloat @llvm.nvvm.f2bf16.rn(float %x)\n%i = bitcast bfloat %h to i16\n%r = zext i16 %i to i32")[3];
  };
  EXPECT_EQ(round(0x3f808000), 0x3f80u); // tie to even
  EXPECT_EQ(round(0x3f818000), 0x3f82u);
  EXPECT_EQ(round(0x3f808001), 0x3f81u);
  EXPECT_EQ(round(0x7f7fffff), 0x7f80u); // beyond the largest
  EXPECT_EQ(round(0x00010000), 0x0001u); // subnormal numbers stay
  EXPECT_EQ(round(0x7fc00001), 0x7fffu);
}

TEST(EmulatorConversions, truncationsOfTheIr) {
  const char *code = R"(
  %f = uitofp i32 %tid to float
  %x = fdiv float %f, 3.0
  %b = fptrunc float %x to bfloat
  %h = fptrunc float %x to half
  %bx = fpext bfloat %b to float
  %hx = fpext half %h to float
  %d = fsub float %bx, %hx
  %r = bitcast float %d to i32)";
  const std::vector<uint32_t> out = perThread(code);
  EXPECT_EQ(std::bit_cast<float>(out[3]), 0.0f);
  EXPECT_EQ(std::bit_cast<float>(out[1]), 0x1.56p-2f - 0x1.554p-2f); // a third in 8 and in 11 bits
}

TEST(EmulatorConversions, halvesSubnormalAndLarge) {
  auto round = [](float value) {
    return perThread("%x = bitcast i32 " + std::to_string(std::bit_cast<uint32_t>(value)) +
                     " to float\n%h = call <2 x half> @llvm.nvvm.ff2f16x2.rn(float 0.0, float %x)\n%r = bitcast <2 x half> %h to i32")[0];
  };
  EXPECT_EQ(round(65519.0f), 0x7bffu);
  EXPECT_EQ(round(65520.0f), 0x7c00u);
  EXPECT_EQ(round(0x1p-24f), 0x0001u);
  EXPECT_EQ(round(0x1p-25f), 0x0000u); // tie to even
  EXPECT_EQ(round(0x1.8p-24f), 0x0002u);
  EXPECT_EQ(round(-0x1p-14f), 0x8400u);
}

TEST(EmulatorFunctions, approximations) {
  EXPECT_NEAR(callOf("ex2.approx.ftz.f32", 3.0f), 8.0f, 0x1p-19f);
  EXPECT_EQ(callOf("ex2.approx.ftz.f32", 0.0f), 1.0f);
  EXPECT_LE(callOf("ex2.approx.ftz.f32", -1e-9f), 1.0f);
  EXPECT_GE(callOf("ex2.approx.ftz.f32", 1e-9f), 1.0f);
  EXPECT_EQ(callOf("ex2.approx.f32", -140.0f), 0x1p-140f);
  EXPECT_EQ(callOf("ex2.approx.ftz.f32", -140.0f), 0.0f);
  EXPECT_EQ(callOf("ex2.approx.ftz.f32", -INFINITY), 0.0f);
  EXPECT_EQ(callOf("lg2.approx.ftz.f", 0x1p-140f), -INFINITY);
  EXPECT_EQ(callOf("lg2.approx.f", 8.0f), 3.0f);
  EXPECT_EQ(callOf("rcp.approx.ftz.f", 4.0f), 0.25f);
  EXPECT_EQ(callOf("rsqrt.approx.f", 16.0f), 0.25f);
  EXPECT_EQ(callOf("sqrt.approx.f", 16.0f), 4.0f);
  EXPECT_EQ(evaluate("%y = call float @llvm.nvvm.div.approx.f(float %x, float 8.0)", 2.0f), 0.25f);
}

TEST(EmulatorFunctions, thoseOfTheIr) {
  EXPECT_EQ(evaluate("%y = call float @llvm.exp2.f32(float %x)", 5.0f), 32.0f);
  EXPECT_NEAR(evaluate("%y = call float @llvm.tanh.f32(float %x)", 0.5f), std::tanh(0.5), 1e-7);
  EXPECT_EQ(evaluate("%y = call float @llvm.fma.f32(float %x, float %x, float -1.0)", 0x1.000002p0f), 0x1.000001p-22f);
  EXPECT_EQ(evaluate("%y = call float @llvm.maxnum.f32(float %x, float 2.0)", NAN), 2.0f);
}

TEST(EmulatorMemory, atomicsAndLocalArrays) {
  std::vector<float> sum(1, 0.0f);
  std::vector<uint32_t> numbers = {1, 2, 3, 4};
  EmulatorHarness(R"(
define ptx_kernel void @k(ptr addrspace(1) %sum, ptr addrspace(1) %numbers) {
  %local = alloca [4 x i32], align 16
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  call void @llvm.memcpy.p0.p1.i64(ptr align 16 %local, ptr addrspace(1) align 4 %numbers, i64 16, i1 false)
  %i = and i32 %lane, 3
  %at = getelementptr i32, ptr %local, i32 %i
  %n = load i32, ptr %at
  %f = uitofp i32 %n to float
  %old = atomicrmw fadd ptr addrspace(1) %sum, float %f monotonic
  ret void
})")
      .buffer("sum", sum)
      .buffer("numbers", numbers)
      .grid(2)
      .runClean();
  EXPECT_EQ(sum[0], 160.0f);
}

TEST(EmulatorMemory, functionsThatAreNotInlined) {
  std::vector<uint32_t> out(32, 0);
  EmulatorHarness(R"(
define internal i32 @rotate(i32 %v) noinline {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %next = add i32 %lane, 1
  %r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %v, i32 %next, i32 31)
  ret i32 %r
}
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = call i32 @rotate(i32 %tid)
  %r = call i32 @rotate(i32 %a)
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %r, ptr addrspace(1) %at
  ret void
})")
      .buffer("out", out)
      .runClean();
  EXPECT_EQ(out[0], 2u);
  EXPECT_EQ(out[31], 1u);
}

TEST(EmulatorMemory, valuesByParameter) {
  std::vector<float> out(1, 0.0f);
  struct {
    int32_t a;
    float b;
  } pair = {3, 0.5f};
  EmulatorHarness harness(R"(
define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval({i32, float}) align 8 %pair, float %x) {
  %a = load i32, ptr %pair
  %at = getelementptr {i32, float}, ptr %pair, i32 0, i32 1
  %b = load float, ptr %at
  %f = sitofp i32 %a to float
  %s = fadd float %f, %b
  %t = fadd float %s, %x
  store float %t, ptr addrspace(1) %out
  ret void
})");
  const float x = 10.0f;
  harness.buffer("out", out).threads(1);
  harness.launch.arguments.push_back(&pair);
  harness.launch.arguments.push_back(&x);
  harness.runClean();
  EXPECT_EQ(out[0], 13.5f);
}

// ---- the rarer ones

namespace {
/// The i32 that each thread stores.
std::vector<uint32_t> resultsOf(const std::string &declarations, const std::string &code, uint32_t threads = 32) {
  std::vector<uint32_t> out(threads);
  EmulatorHarness(declarations + storePerThread(code)).buffer("out", out).threads(threads).runClean();
  return out;
}
} // namespace

TEST(EmulatorInstructions, masksOfLanes) {
  const auto mask = [](const std::string &name) {
    return resultsOf("declare i32 @llvm.nvvm.read.ptx.sreg.lanemask." + name + "()\n",
                     "%r = call i32 @llvm.nvvm.read.ptx.sreg.lanemask." + name + "()\n");
  };
  EXPECT_EQ(mask("eq")[5], 32u);
  EXPECT_EQ(mask("lt")[5], 31u);
  EXPECT_EQ(mask("le")[5], 63u);
  EXPECT_EQ(mask("ge")[5], ~31u);
  EXPECT_EQ(mask("gt")[31], 0u);
  EXPECT_EQ(mask("le")[31], ~0u);
}

TEST(EmulatorInstructions, lanesWithTheSameValue) {
  const std::string any = "declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)\n";
  const std::vector<uint32_t> masks =
      resultsOf(any, "%low = and i32 %lane, 3\n%r = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %low)\n");
  EXPECT_EQ(masks[6], 0x44444444u);
  const std::string all = "declare {i32, i1} @llvm.nvvm.match.all.sync.i64p(i32, i64)\n";
  const auto code = [](const std::string &value) {
    return "%w = zext i32 " + value + " to i64\n%m = shl i64 %w, 40\n%p = call {i32, i1} @llvm.nvvm.match.all.sync.i64p(i32 -1, i64 %m)\n"
           "%a = extractvalue {i32, i1} %p, 0\n%b = extractvalue {i32, i1} %p, 1\n%c = zext i1 %b to i32\n%r = xor i32 %a, %c\n";
  };
  EXPECT_EQ(resultsOf(all, code("7"))[3], ~1u);
  EXPECT_EQ(resultsOf(all, code("%lane"))[3], 0u);
}

TEST(EmulatorInstructions, barriersThatCombinePredicates) {
  const auto code = [](const std::string &what, const std::string &type, const std::string &bound) {
    return "%p = icmp ult i32 %tid, " + bound + "\n%v = call " + type + " @llvm.nvvm.barrier.cta.red." + what + "(i32 0, i1 %p)\n%r = " +
           (type == "i1" ? "zext i1 %v to i32" : "add i32 %v, 0") + "\n";
  };
  const std::string count = "declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)\n";
  EXPECT_EQ(resultsOf(count, code("popc.aligned.all", "i32", "40"), 64)[63], 40u);
  const std::string all = "declare i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32, i1)\n";
  EXPECT_EQ(resultsOf(all, code("and.aligned.all", "i1", "63"), 64)[0], 0u);
  EXPECT_EQ(resultsOf(all, code("and.aligned.all", "i1", "64"), 64)[0], 1u);
  const std::string any = "declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1)\n";
  EXPECT_EQ(resultsOf(any, code("or.aligned.all", "i1", "1"), 64)[63], 1u);
  EXPECT_EQ(resultsOf(any, code("or.aligned.all", "i1", "0"), 64)[63], 0u);
}

TEST(EmulatorInstructions, bytesThatGoElsewhere) {
  const auto permuted = [](uint32_t control) {
    return resultsOf("declare i32 @llvm.nvvm.prmt(i32, i32, i32)\n",
                     "%r = call i32 @llvm.nvvm.prmt(i32 " + std::to_string(0x83020100) + ", i32 " + std::to_string(0x07060584) + ", i32 " +
                         std::to_string(control) + ")\n",
                     1)[0];
  };
  EXPECT_EQ(permuted(0x3210), 0x83020100u);
  EXPECT_EQ(permuted(0x7654), 0x07060584u);
  EXPECT_EQ(permuted(0x0246), 0x00028406u);
  EXPECT_EQ(permuted(0x89bc), 0x0000ffffu); // signs
}

TEST(EmulatorInstructions, memoriesOfAddresses) {
  const auto isIn = [](const std::string &space) {
    return resultsOf("@tile = internal addrspace(3) global i32 undef\ndeclare i1 @llvm.nvvm.isspacep." + space + "(ptr)\n",
                     "%local = alloca i32\n%s = addrspacecast ptr addrspace(3) @tile to ptr\n%g = addrspacecast ptr addrspace(1) %out to ptr\n"
                     "%a = call i1 @llvm.nvvm.isspacep." + space + "(ptr %s)\n%b = call i1 @llvm.nvvm.isspacep." + space +
                         "(ptr %g)\n%c = call i1 @llvm.nvvm.isspacep." + space + "(ptr %local)\n%d = zext i1 %a to i32\n"
                         "%e = zext i1 %b to i32\n%f = zext i1 %c to i32\n%h = mul i32 %d, 100\n%i = mul i32 %e, 10\n"
                         "%j = add i32 %h, %i\n%r = add i32 %j, %f\n",
                     1)[0];
  };
  EXPECT_EQ(isIn("shared"), 100u);
  EXPECT_EQ(isIn("global"), 10u);
  EXPECT_EQ(isIn("local"), 1u);
}

TEST(EmulatorInstructions, sumsOfSeveralNumbers) {
  std::vector<float> sums(4, 1);
  const std::string body = "define ptx_kernel void @k(ptr addrspace(1) %out) {\n%lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
                           "%f = uitofp i32 %lane to float\ncall void asm sideeffect \"red.global.add.v4.f32 [$0], {$1, $2, $3, $4};\", "
                           "\"l,f,f,f,f\"(ptr addrspace(1) %out, float %f, float 1.0, float 2.0, float 0.0)\nret void\n}";
  EmulatorHarness harness(body);
  harness.memory.add("sums", sums.data(), 16);
  harness.argument(reinterpret_cast<uint64_t>(sums.data())).threads(64).grid(2);
  EXPECT_TRUE(harness.run().reports.empty());
  EXPECT_EQ(sums, (std::vector<float>{1 + 4 * 496, 129, 257, 1}));
}
