// schedules_test.cpp - a tiled product with asynchronous copies, ldmatrix and mma: the same numbers
// under all schedules, its counters, and the reports once a piece of its synchronisation is
// missing.
#include "emulator/core/Numbers.h"
#include "test/unit/emulator/EmulatorHarness.h"
#include <set>
using namespace logitile::emulator;

namespace {
constexpr int kRows = 32, kColumns = 8, kDepth = 64;

/// C[32, 8] = A[32, 64] B[8, 64]^T: two warps of 16 rows, two stages of 16 columns of A and B in
/// shared memory. Rows of a stage are 48 bytes apart, so that eight of them lie in different banks.
std::string product(bool waits, bool syncsBefore, bool syncsAfter) {
  const std::string barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  return std::string(R"(
@stages = internal addrspace(3) global [4096 x i8] undef, align 16
define internal void @copy(i32 %step, ptr addrspace(1) %a, ptr addrspace(1) %b) alwaysinline {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = lshr i32 %tid, 1
  %half = and i32 %tid, 1
  %parity = and i32 %step, 1
  %stage = mul i32 %parity, 2048
  %in0 = mul i32 %row, 48
  %in1 = mul i32 %half, 16
  %in2 = add i32 %in0, %in1
  %in = add i32 %in2, %stage
  %to = getelementptr i8, ptr addrspace(3) @stages, i32 %in
  %k0 = mul i32 %step, 16
  %k1 = mul i32 %half, 8
  %k = add i32 %k0, %k1
  %r64 = mul i32 %row, 64
  %element = add i32 %r64, %k
  %from = getelementptr i16, ptr addrspace(1) %a, i32 %element
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)
  %ofB = icmp ult i32 %row, 8
  br i1 %ofB, label %copyB, label %end
copyB:
  %toB = getelementptr i8, ptr addrspace(3) %to, i32 1536
  %fromB = getelementptr i16, ptr addrspace(1) %b, i32 %element
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %toB, ptr addrspace(1) %fromB)
  br label %end
end:
  call void @llvm.nvvm.cp.async.commit.group()
  ret void
}
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %warp = lshr i32 %tid, 5
  %row16 = mul i32 %warp, 16
  %l15 = and i32 %lane, 15
  %arow = add i32 %row16, %l15
  %ahalf = lshr i32 %lane, 4
  %a48 = mul i32 %arow, 48
  %a16 = mul i32 %ahalf, 16
  %aoff = add i32 %a48, %a16
  %brow = and i32 %lane, 7
  %b8 = lshr i32 %lane, 3
  %bhalf = and i32 %b8, 1
  %b48 = mul i32 %brow, 48
  %b16 = mul i32 %bhalf, 16
  %boff0 = add i32 %b48, %b16
  %boff = add i32 %boff0, 1536
  call void @copy(i32 0, ptr addrspace(1) %a, ptr addrspace(1) %b)
  br label %loop
loop:
  %step = phi i32 [0, %entry], [%next, %more]
  %s0 = phi float [0.0, %entry], [%d0, %more]
  %s1 = phi float [0.0, %entry], [%d1, %more]
  %s2 = phi float [0.0, %entry], [%d2, %more]
  %s3 = phi float [0.0, %entry], [%d3, %more]
  )") + (waits ? "call void @llvm.nvvm.cp.async.wait.group(i32 0)\n" : "") +
         (syncsBefore ? barrier : "") + R"(
  %parity = and i32 %step, 1
  %stage = mul i32 %parity, 2048
  %ai = add i32 %aoff, %stage
  %bi = add i32 %boff, %stage
  %pa = getelementptr i8, ptr addrspace(3) @stages, i32 %ai
  %pb = getelementptr i8, ptr addrspace(3) @stages, i32 %bi
  %fa = call {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %pa)
  %fb = call {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %pb)
  )" + (syncsAfter ? barrier : "") +
         R"(
  %next = add i32 %step, 1
  %goesOn = icmp ult i32 %next, 4
  br i1 %goesOn, label %prefetch, label %compute
prefetch:
  call void @copy(i32 %next, ptr addrspace(1) %a, ptr addrspace(1) %b)
  br label %compute
compute:
  %a0 = extractvalue {i32, i32, i32, i32} %fa, 0
  %a1 = extractvalue {i32, i32, i32, i32} %fa, 1
  %a2 = extractvalue {i32, i32, i32, i32} %fa, 2
  %a3 = extractvalue {i32, i32, i32, i32} %fa, 3
  %b0 = extractvalue {i32, i32} %fb, 0
  %b1 = extractvalue {i32, i32} %fb, 1
  %d = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %s0, float %s1, float %s2, float %s3)
  %d0 = extractvalue {float, float, float, float} %d, 0
  %d1 = extractvalue {float, float, float, float} %d, 1
  %d2 = extractvalue {float, float, float, float} %d, 2
  %d3 = extractvalue {float, float, float, float} %d, 3
  br i1 %goesOn, label %more, label %done
more:
  br label %loop
done:
  %g = lshr i32 %lane, 2
  %q = and i32 %lane, 3
  %crow = add i32 %row16, %g
  %c8 = mul i32 %crow, 8
  %q2 = mul i32 %q, 2
  %ci = add i32 %c8, %q2
  %p0 = getelementptr float, ptr addrspace(1) %c, i32 %ci
  store float %d0, ptr addrspace(1) %p0
  %p1 = getelementptr float, ptr addrspace(1) %p0, i32 1
  store float %d1, ptr addrspace(1) %p1
  %p2 = getelementptr float, ptr addrspace(1) %p0, i32 64
  store float %d2, ptr addrspace(1) %p2
  %p3 = getelementptr float, ptr addrspace(1) %p0, i32 65
  store float %d3, ptr addrspace(1) %p3
  ret void
})";
}

struct Product {
  std::vector<uint16_t> a = std::vector<uint16_t>(kRows * kDepth), b = std::vector<uint16_t>(kColumns * kDepth);
  std::vector<float> c = std::vector<float>(kRows * kColumns), expected = std::vector<float>(kRows * kColumns);
  EmulatorHarness harness;

  explicit Product(const std::string &body, uint64_t seed = 0) : harness(body) {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = toBf16(static_cast<float>(i * 7 % 13) - 6);
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = toBf16(static_cast<float>(i * 5 % 11) - 5);
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column)
        for (int k = 0; k < kDepth; ++k)
          expected[row * kColumns + column] += fromBf16(a[row * kDepth + k]) * fromBf16(b[column * kDepth + k]);
    harness.buffer("a", a).buffer("b", b).buffer("c", c, Contents::undefined).threads(64).seed(seed);
  }
};

std::set<Fault> faultsOf(const std::string &body, uint64_t seed) {
  Product product(body, seed);
  std::set<Fault> faults;
  for (const Report &report : product.harness.run().reports)
    faults.insert(report.fault);
  return faults;
}
} // namespace

TEST(EmulatorSchedules, aCorrectKernelGivesTheSameUnderAll) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Product product_(product(true, true, true), seed);
    product_.harness.runClean();
    EXPECT_EQ(product_.c, product_.expected) << "seed " << seed;
  }
}

TEST(EmulatorSchedules, twoStagesNeedOneBarrierPerStep) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Product product_(product(true, true, false), seed);
    product_.harness.runClean();
    EXPECT_EQ(product_.c, product_.expected) << "seed " << seed;
  }
}

TEST(EmulatorSchedules, missingPiecesAreReportedUnderAll) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_TRUE(faultsOf(product(false, true, true), seed).count(Fault::inFlight)) << "no wait, seed " << seed;
    EXPECT_FALSE(faultsOf(product(true, false, false), seed).empty()) << "no barrier, seed " << seed;
    EXPECT_FALSE(faultsOf(product(true, false, true), seed).empty()) << "no barrier after the wait, seed " << seed;
  }
}

TEST(EmulatorSchedules, counters) {
  Product product_(product(true, true, false));
  const Counters counters = product_.harness.runClean();
  EXPECT_EQ(counters.matrixInstructions, 8u); // two warps, four steps
  EXPECT_EQ(counters.barriers, 4u);
  EXPECT_EQ(counters.globalReadBytes, (kRows + kColumns) * kDepth * 2u);
  EXPECT_EQ(counters.globalWriteBytes, kRows * kColumns * 4u);
  EXPECT_EQ(counters.sharedWriteBytes, counters.globalReadBytes);
  EXPECT_EQ(counters.sharedReadBytes, 2u * 4 * (4 + 2) * 8 * 16);
  // None of ldmatrix. Eight lanes copy four rows in halves, to bytes 0, 16, 48, 64, 96, 112, 144
  // and 160: two of them lie in the same banks. Each step copies 80 halves.
  EXPECT_EQ(counters.bankConflicts, 4u * 80 / 8);
}

TEST(EmulatorSchedules, bankConflictsByStride) {
  auto conflicts = [](const std::string &stride) {
    std::vector<uint32_t> unused(1);
    return EmulatorHarness(R"(
@tile = internal addrspace(3) global [1024 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %i = mul i32 %lane, )" + stride +
                           R"(
  %at = getelementptr i32, ptr addrspace(3) @tile, i32 %i
  store i32 %lane, ptr addrspace(3) %at
  ret void
})")
        .buffer("p", unused)
        .runClean()
        .bankConflicts;
  };
  EXPECT_EQ(conflicts("1"), 0u);
  EXPECT_EQ(conflicts("2"), 1u);
  EXPECT_EQ(conflicts("32"), 31u);
  EXPECT_EQ(conflicts("31"), 0u);
}

TEST(EmulatorSchedules, sectorsByStride) {
  auto sectors = [](const std::string &stride) {
    alignas(32) static std::array<uint32_t, 1024> words;
    EmulatorHarness harness(R"(
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %i = mul i32 %lane, )" + stride +
                            R"(
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %r = load i32, ptr addrspace(1) %at
  ret void
})");
    harness.memory.add("words", words.data(), sizeof words);
    return harness.argument(reinterpret_cast<uint64_t>(words.data())).runClean().globalSectors;
  };
  EXPECT_EQ(sectors("1"), 4u);
  EXPECT_EQ(sectors("2"), 8u);
  EXPECT_EQ(sectors("8"), 32u);
  EXPECT_EQ(sectors("0"), 1u);
}
