// hopper_test.cpp - a whole kernel for Hopper: one thread copies tiles of both operands, stage by
// stage, and a warpgroup multiplies them. It has no faults as it is; each fault that such kernels
// may have is put into it and must be reported.
#include "emulator/core/TensorMap.h"
#include "test/unit/emulator/EmulatorHarness.h"
#include "test/unit/emulator/WgmmaText.h"
#include <algorithm>
using namespace logitile::emulator;

namespace {
constexpr uint32_t kRows = 64, kSteps = 5, kDepth = 64 * kSteps;

/// The products of one stage, of which descriptors advance by 32 bytes each.
std::string products() {
  std::string code;
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    WgmmaText text;
    text.a = "i64 %da" + n;
    text.b = "i64 %db" + n;
    code += "%da" + n + " = add i64 %da, " + std::to_string(2 * i) + "\n%db" + n + " = add i64 %db, " + std::to_string(2 * i) + "\n" +
            text.next("p" + n, i ? "p" + std::to_string(i - 1) : "sums");
  }
  return code;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

/// Threads 0 to 127 multiply, thread 128 copies. A stage is free once each warp that multiplies has
/// arrived at its mbarrier.
std::string kernel() {
  const std::string wait = "call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) ";
  const std::string load = "call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7) ";
  std::string text = R"(
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7), ptr addrspace(3), ptr, i32, i32, i16, i64, i1, i1, i32)
@smem = external addrspace(3) global [0 x i8], align 1024
@full = internal addrspace(3) global [2 x i64] undef, align 8
@empty = internal addrspace(3) global [2 x i64] undef, align 8
define ptx_kernel void @k(ptr byval([128 x i8]) align 64 %ma, ptr byval([128 x i8]) align 64 %mb, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %first = icmp eq i32 %tid, 0
  %leads = icmp eq i32 %lane, 0
  br i1 %first, label %init, label %ready
init:
  %full1 = getelementptr i64, ptr addrspace(3) @full, i32 1
  %empty1 = getelementptr i64, ptr addrspace(3) @empty, i32 1
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %full1, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @empty, i32 4)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %empty1, i32 4)
  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %multiplies = icmp ult i32 %tid, 128
  br i1 %multiplies, label %turn, label %others
others:
  %copies = icmp eq i32 %tid, 128
  br i1 %copies, label %copy, label %end
copy:
  %n = phi i32 [0, %others], [%n1, %copy]
  %stage = and i32 %n, 1
  %round = lshr i32 %n, 1
  %parity = and i32 %round, 1
  %before = xor i32 %parity, 1
  %isFree = getelementptr i64, ptr addrspace(3) @empty, i32 %stage
  %isFull = getelementptr i64, ptr addrspace(3) @full, i32 %stage
  %we = )" + wait + R"(%isFree, i32 %before)
  %e = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) %isFull, i32 16384)
  %place = mul i32 %stage, 16384
  %a3 = getelementptr i8, ptr addrspace(3) @smem, i32 %place
  %b3 = getelementptr i8, ptr addrspace(3) %a3, i32 8192
  %a7 = addrspacecast ptr addrspace(3) %a3 to ptr addrspace(7)
  %b7 = addrspacecast ptr addrspace(3) %b3 to ptr addrspace(7)
  %k = mul i32 %n, 64
  )" + load + R"(%a7, ptr addrspace(3) %isFull, ptr %ma, i32 %k, i32 0, i16 0, i64 0, i1 0, i1 0, i32 0)
  )" + load + R"(%b7, ptr addrspace(3) %isFull, ptr %mb, i32 %k, i32 0, i16 0, i64 0, i1 0, i1 0, i32 0)
  %n1 = add i32 %n, 1
  %more = icmp ult i32 %n1, STEPS
  br i1 %more, label %copy, label %end
turn:
  %m = phi i32 [0, %ready], [%m1, %released]
  %sums = phi TYPE [zeroinitializer, %ready], [%p3, %released]
  %mstage = and i32 %m, 1
  %mround = lshr i32 %m, 1
  %mparity = and i32 %mround, 1
  %hasData = getelementptr i64, ptr addrspace(3) @full, i32 %mstage
  %isDone = getelementptr i64, ptr addrspace(3) @empty, i32 %mstage
  %wf = )" + wait + R"(%hasData, i32 %mparity)
  %start = ptrtoint ptr addrspace(3) @smem to i64
  %offset = mul i32 %mstage, 16384
  %wide = zext i32 %offset to i64
  %from = add i64 %start, %wide
  %low = and i64 %from, 262143
  %field = lshr i64 %low, 4
  %da = or i64 %field, DESCRIPTOR
  %db = add i64 %da, 512
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
PRODUCTS
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  br i1 %leads, label %release, label %released
release:
  %r = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %isDone)
  br label %released
released:
  %m1 = add i32 %m, 1
  %again = icmp ult i32 %m1, STEPS
  br i1 %again, label %turn, label %store
store:
STORE
  br label %end
end:
  ret void
})";
  const std::string steps = std::to_string(kSteps);
  text = replaced(replaced(text, "STEPS", steps), "STEPS", steps);
  text = replaced(replaced(text, "TYPE", WgmmaText().structType()), "PRODUCTS", products());
  // Rows of 128 bytes with their chunks exchanged, 8 of them to a group of 1024 bytes.
  text = replaced(text, "DESCRIPTOR", std::to_string(int64_t(uint64_t{1} << 62 | uint64_t{64} << 32 | 1 << 16)));
  return replaced(text, "STORE", WgmmaText().store("p3"));
}

uint16_t bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); } // of small integers exact
float valueA(uint32_t row, uint32_t k) { return static_cast<float>((row * 7 + k * 3) % 11) - 5; }
float valueB(uint32_t row, uint32_t k) { return static_cast<float>((row * 5 + k * 13 + row / 8) % 9) - 4; }

struct Multiplication {
  std::vector<uint16_t> a, b;
  std::vector<float> out = std::vector<float>(kRows * kRows, -1);
  TensorMap maps[2];
  EmulatorHarness harness;

  explicit Multiplication(const std::string &text, uint64_t seed) : harness(text) {
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t k = 0; k < kDepth; ++k) {
        a.push_back(bf16(valueA(row, k)));
        b.push_back(bf16(valueB(row, k)));
      }
    for (auto [data, map] : {std::pair{&a, &maps[0]}, {&b, &maps[1]}}) {
      const TensorMapArguments arguments{
          TensorType::bf16, 2, data->data(), {kDepth, kRows, 1, 1, 1}, {2 * kDepth}, {64, 64, 1, 1, 1}, {1, 1, 1, 1, 1}, 0, 3, 0, 0};
      EXPECT_EQ(encodeTensorMap(arguments, *map), "");
      harness.launch.arguments.push_back(map);
    }
    harness.buffer("out", out).threads(160).dynamicShared(2 * 16384).seed(seed);
    harness.memory.add("a", a.data(), a.size() * 2);
    harness.memory.add("b", b.data(), b.size() * 2);
  }
  void expectProduct() const {
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t lane = thread % 32, row = thread / 32 * 16 + lane / 4 + 8 * (i / 2 % 2), column = i / 4 * 8 + 2 * (lane % 4) + i % 2;
        float sum = 0;
        for (uint32_t k = 0; k < kDepth; ++k)
          sum += valueA(row, k) * valueB(column, k);
        ASSERT_EQ(out[thread * 32 + i], sum) << "row " << row << ", column " << column;
      }
  }
};

/// All reports of the kernel with 'from' replaced by 'to', for several schedules; each must have
/// one of 'fault'.
void expectFault(const std::string &from, const std::string &to, std::initializer_list<Fault> faults, const std::string &detail = "",
                 const std::string &body = kernel()) {
  for (uint64_t seed : {0, 1, 2}) {
    const Outcome outcome = Multiplication(replaced(body, from, to), seed).harness.run();
    bool isFound = false;
    for (const Report &report : outcome.reports)
      isFound |= std::find(faults.begin(), faults.end(), report.fault) != faults.end() && report.text().find(detail) != std::string::npos;
    EXPECT_TRUE(isFound) << "seed " << seed << "\n" << outcome.text();
  }
}
/// The line of the kernel that starts so.
std::string lineOf(const std::string &start) {
  const std::string body = kernel();
  const size_t at = body.find(start);
  return body.substr(at, body.find('\n', at) + 1 - at);
}
const std::string kArrive = "  br i1 %leads, label %release, label %released\nrelease:\n"
                            "  %r = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %isDone)\n  br label %released\nreleased:\n";
const std::string kWaitGroup = "  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)\n";
} // namespace

TEST(EmulatorHopper, copiesAndProductsInTurns) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    Multiplication run(kernel(), seed);
    const Counters counters = run.harness.runClean();
    run.expectProduct();
    EXPECT_EQ(counters.sharedWriteBytes, kSteps * 16384);
  }
}

TEST(EmulatorHopper, noFenceAfterTheMbarriers) {
  expectFault("  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()\n", "", {Fault::proxyFence});
}

TEST(EmulatorHopper, theProducerWaitsForTheOtherParity) { expectFault("%isFree, i32 %before", "%isFree, i32 %parity", {Fault::deadlock}); }

TEST(EmulatorHopper, tooFewBytesAreAnnounced) { expectFault("%isFull, i32 16384", "%isFull, i32 16368", {Fault::deadlock}, " -16 bytes"); }

TEST(EmulatorHopper, theConsumerDoesNotWait) { expectFault(lineOf("  %wf = "), "", {Fault::inFlight, Fault::race, Fault::uninitialised}); }

TEST(EmulatorHopper, theConsumerWaitsForTheOtherStage) {
  expectFault("%hasData = getelementptr i64, ptr addrspace(3) @full, i32 %mstage",
              "%wrong = xor i32 %mstage, 1\n%hasData = getelementptr i64, ptr addrspace(3) @full, i32 %wrong",
              {Fault::inFlight, Fault::race, Fault::uninitialised});
}

TEST(EmulatorHopper, theProducerDoesNotWait) { expectFault(lineOf("  %we = "), "", {Fault::inFlight, Fault::race, Fault::barrierMisuse}); }

TEST(EmulatorHopper, nobodyWaitsForTheProducts) { expectFault(kWaitGroup, "", {Fault::inFlight}, "uses a sum of a wgmma"); }

TEST(EmulatorHopper, stagesAreReleasedBeforeTheProductsAreDone) {
  std::string body = replaced(kernel(), kWaitGroup, "");
  expectFault(kArrive, kArrive + kWaitGroup, {Fault::inFlight, Fault::race}, "earlier read by wgmma", body);
}

TEST(EmulatorHopper, oneWarpReleasesForAll) {
  std::string body = replaced(kernel(), "%leads = icmp eq i32 %lane, 0", "%leads = icmp eq i32 %tid, 0");
  body = replaced(body, "@empty, i32 4)", "@empty, i32 1)");
  expectFault("%empty1, i32 4)", "%empty1, i32 1)", {Fault::inFlight, Fault::race}, "earlier read by wgmma", body);
}

TEST(EmulatorHopper, noFenceBeforeTheProducts) {
  expectFault("  call void @llvm.nvvm.wgmma.fence.sync.aligned()\n", "", {Fault::misuse}, "no wgmma.fence");
}
