// cluster_test.cpp - clusters of blocks: copies to several blocks, arrivals at each other's
// mbarriers, and the barrier of the cluster; each misuse is put into a kernel that is right.
#include "test/unit/emulator/EmulatorHarness.h"
#include <algorithm>
#include <numeric>
using namespace logitile::emulator;

namespace {
constexpr uint32_t kWords = 64, kRounds = 3, kBlocks = 4;
const std::string kTogether =
    "call void @llvm.nvvm.barrier.cluster.arrive.aligned()\ncall void @llvm.nvvm.barrier.cluster.wait.aligned()\n";
const std::string kFenceInit = "call void @llvm.nvvm.fence.mbarrier_init.release.cluster()\n";
const std::string kArrive = R"(call void asm sideeffect "mbarrier.arrive.shared::cluster.b64 _, [$0];", "r")";
const std::string kWaitText = " = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) ";

std::string waitFor(const std::string &name, const std::string &mbarrier, uint32_t parity) {
  return "%" + name + kWaitText + mbarrier + ", i32 " + std::to_string(parity) + ")\n";
}

/// Each of two blocks copies half of the words to both, once both have read those before.
std::string roundOf(uint32_t n) {
  const std::string i = std::to_string(n), parity = std::to_string(n % 2);
  return "br i1 %first, label %copy" + i + ", label %copied" + i + "\ncopy" + i + ":\n" +
         (n ? waitFor("e" + i, "@empty", (n - 1) % 2) : "") + "%s" + i +
         " = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 256)\n%g" + i +
         " = getelementptr i32, ptr addrspace(1) %from, i32 " + std::to_string(n * kWords) +
         "\ncall void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %half7, ptr addrspace(3) @full, ptr addrspace(1) %g" +
         i + ", i32 128, i16 3, i64 0, i1 1, i1 0)\nbr label %copied" + i + "\ncopied" + i + ":\n" + waitFor("f" + i, "@full", n % 2) +
         "%a" + i + " = load i32, ptr addrspace(3) %one\n%b" + i + " = load i32, ptr addrspace(3) %two\n%o" + i +
         " = getelementptr i32, ptr addrspace(1) %to, i32 " + std::to_string(n * kWords) + "\n%p" + i +
         " = getelementptr i32, ptr addrspace(1) %o" + i + ", i32 32\nstore i32 %a" + i + ", ptr addrspace(1) %o" + i + "\nstore i32 %b" + i +
         ", ptr addrspace(1) %p" + i + "\ncall void @llvm.nvvm.bar.warp.sync(i32 -1)\nbr i1 %first, label %release" + i +
         ", label %released" + i + "\nrelease" + i + ":\n" + kArrive + "(i32 %here)\n" + kArrive + "(i32 %there)\nbr label %released" + i +
         "\nreleased" + i + ":\n";
}

std::string kernel() {
  std::string text = R"(
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
@smem = internal addrspace(3) global [256 x i8] undef, align 128
@full = internal addrspace(3) global i64 undef, align 8
@empty = internal addrspace(3) global i64 undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) "nvvm.cluster_dim"="2,1,1" {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %rank = and i32 %block, 1
  %other = xor i32 %rank, 1
  %first = icmp eq i32 %tid, 0
  %own7 = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) @empty, i32 %rank)
  %other7 = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) @empty, i32 %other)
  %here = ptrtoint ptr addrspace(7) %own7 to i32
  %there = ptrtoint ptr addrspace(7) %other7 to i32
  %words = mul i32 %rank, 32
  %half = getelementptr i32, ptr addrspace(3) @smem, i32 %words
  %half7 = addrspacecast ptr addrspace(3) %half to ptr addrspace(7)
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %words
  %one = getelementptr i32, ptr addrspace(3) @smem, i32 %tid
  %two = getelementptr i32, ptr addrspace(3) %one, i32 32
  %before = mul i32 %block, )" +
                     std::to_string(kWords * kRounds) + R"(
  %start = getelementptr i32, ptr addrspace(1) %out, i32 %before
  %to = getelementptr i32, ptr addrspace(1) %start, i32 %tid
  br i1 %first, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @empty, i32 2)
  )" + kFenceInit + "br label %ready\nready:\n" +
                     kTogether;
  for (uint32_t n = 0; n < kRounds; ++n)
    text += roundOf(n);
  return text + kTogether + "ret void\n}";
}

std::string replaced(std::string text, const std::string &from, const std::string &to, bool isLast = false) {
  const size_t at = isLast ? text.rfind(from) : text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

struct Words {
  std::vector<uint32_t> in = std::vector<uint32_t>(kWords * kRounds), out = std::vector<uint32_t>(kBlocks * kWords * kRounds);
  EmulatorHarness harness;
  explicit Words(const std::string &text) : harness(text) {
    std::iota(in.begin(), in.end(), 1);
    harness.buffer("in", in).buffer("out", out).grid(kBlocks);
  }
};

/// With one schedule at least.
void expectFault(const std::string &text, Fault fault, const std::string &detail) {
  bool isFound = false;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Words words(text);
    for (const Report &report : words.harness.seed(seed).run().reports)
      isFound |= report.fault == fault && report.text().find(detail) != std::string::npos;
  }
  EXPECT_TRUE(isFound) << detail;
}
} // namespace

TEST(EmulatorCluster, copiesToBothBlocks) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Words words(kernel());
    const Counters counters = words.harness.seed(seed).runClean();
    for (uint32_t i = 0; i < words.out.size(); ++i)
      ASSERT_EQ(words.out[i], i % (kWords * kRounds) + 1) << i;
    EXPECT_EQ(counters.globalReadBytes, words.in.size() * 4 * kBlocks / 2) << "each half is read by one block";
  }
}

TEST(EmulatorCluster, withoutAnArrivalAtTheOtherBlock) {
  expectFault(replaced(kernel(), kArrive + "(i32 %there)\n", ""), Fault::deadlock, "lacks 1 arrivals");
}

TEST(EmulatorCluster, withoutAnArrivalAtTheOwnBlock) {
  expectFault(replaced(kernel(), kArrive + "(i32 %here)\n", ""), Fault::deadlock, "lacks 1 arrivals");
}

TEST(EmulatorCluster, doesNotWaitUntilBothHaveRead) {
  expectFault(replaced(kernel(), waitFor("e1", "@empty", 0), ""), Fault::race, "no barrier orders the two accesses");
}

TEST(EmulatorCluster, doesNotWaitUntilTheOtherIsReady) {
  expectFault(replaced(kernel(), kTogether, "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"), Fault::barrierMisuse,
              "it is not initialised");
}

TEST(EmulatorCluster, relaxedArrivalsOrderNothing) {
  expectFault(replaced(kernel(), "barrier.cluster.arrive.aligned()\ncall void @llvm.nvvm.barrier.cluster.wait",
                       "barrier.cluster.arrive.relaxed.aligned()\ncall void @llvm.nvvm.barrier.cluster.wait"),
              Fault::race, "no barrier orders the two accesses");
}

TEST(EmulatorCluster, withoutAFenceOfItsMbarriers) {
  expectFault(replaced(kernel(), kFenceInit, ""), Fault::proxyFence, "no fence.proxy.async");
}

TEST(EmulatorCluster, endsWhileTheOtherStillArrives) {
  expectFault(replaced(kernel(), kTogether, "", /*isLast=*/true), Fault::barrierMisuse, "of its cluster has ended");
}

TEST(EmulatorCluster, announcesOnlyItsOwnBytes) {
  expectFault(replaced(kernel(), "@full, i32 256", "@full, i32 128"), Fault::inFlight, "may not have landed");
}

TEST(EmulatorCluster, copiesToABlockThatIsNotThere) {
  expectFault(replaced(kernel(), "i16 3", "i16 5"), Fault::misuse, "its mask of blocks is 5 in a cluster of 2");
}

TEST(EmulatorCluster, usesItsBarrierInTheWrongOrder) {
  const std::string arrive = "call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n";
  expectFault(replaced(kernel(), arrive, arrive + arrive), Fault::barrierMisuse, "it arrives at the barrier again");
  expectFault(replaced(kernel(), arrive, ""), Fault::barrierMisuse, "it waits for the barrier, and has not arrived");
}

TEST(EmulatorCluster, grids) {
  Words words(kernel());
  words.harness.grid(3);
  Outcome outcome;
  std::string error;
  EXPECT_FALSE(words.harness.program->run(words.harness.launch, words.harness.memory, outcome, error));
  EXPECT_EQ(error, "kernel 'k' cannot be launched: its grid of 3 blocks along x is no multiple of its clusters of 2");
}
