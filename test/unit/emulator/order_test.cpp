// order_test.cpp - what fences, releases and acquires order, and what strong accesses do not race
// with.
#include "test/unit/emulator/EmulatorHarness.h"
using namespace logitile::emulator;

namespace {
const std::string kFence = "fence syncscope(\"device\") acq_rel\n";
const std::string kBlockFence = "fence syncscope(\"block\") acq_rel\n";
const std::string kMembar = "call void @llvm.nvvm.membar.gl()\n";
const std::string kBarrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

/// Four blocks write 32 partial results each and count; the block that counts last adds all up.
std::string lastBlock(const std::string &beforeCount, const std::string &afterCount, const std::string &order = "monotonic") {
  return R"(
@isLast = internal addrspace(3) global [1 x i32] undef, align 4
declare void @llvm.nvvm.membar.gl()
define ptx_kernel void @k(ptr addrspace(1) %partial, ptr addrspace(1) %counter, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %row = mul i32 %block, 32
  %i = add i32 %row, %tid
  %mine = getelementptr i32, ptr addrspace(1) %partial, i32 %i
  store i32 %i, ptr addrspace(1) %mine
)" + kBarrier +
         R"(
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %count, label %counted
count:
)" + beforeCount +
         "%ticket = atomicrmw add ptr addrspace(1) %counter, i32 1 " + order + "\n" + afterCount + R"(
  store i32 %ticket, ptr addrspace(3) @isLast
  br label %counted
counted:
)" + kBarrier +
         R"(
  %seen = load i32, ptr addrspace(3) @isLast
  %last = icmp eq i32 %seen, 3
  br i1 %last, label %sum, label %end
sum:
  %b = phi i32 [0, %counted], [%next, %sum]
  %s = phi i32 [0, %counted], [%total, %sum]
  %r = mul i32 %b, 32
  %n = add i32 %r, %tid
  %from = getelementptr i32, ptr addrspace(1) %partial, i32 %n
  %v = load i32, ptr addrspace(1) %from
  %total = add i32 %s, %v
  %next = add i32 %b, 1
  %more = icmp ult i32 %next, 4
  br i1 %more, label %sum, label %store
store:
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %total, ptr addrspace(1) %at
  br label %end
end:
  ret void
})";
}

struct LastBlock {
  std::vector<uint32_t> partial = std::vector<uint32_t>(128), counter = {0}, out = std::vector<uint32_t>(32);
  EmulatorHarness harness;
  explicit LastBlock(const std::string &body) : harness(body) {
    harness.buffer("partial", partial, Contents::undefined).buffer("counter", counter).buffer("out", out).threads(32).grid(4);
  }
};

/// One thread of each of two blocks, or two threads of one: who runs first runs 'writes', the other
/// 'reads'. Threads run in order of their lanes, but for the first, which comes last.
struct Pair {
  std::vector<uint32_t> data = {0}, flag = {0}, out = {0};
  EmulatorHarness harness;
  Pair(const std::string &writes, const std::string &reads, bool isOneBlock)
      : harness("define ptx_kernel void @k(ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(1) %out) {\n"
                "%tid = call i32 @llvm.nvvm.read.ptx.sreg." +
                std::string(isOneBlock ? "tid" : "ctaid") +
                ".x()\n%isReader = icmp eq i32 %tid, " + (isOneBlock ? "0" : "1") +
                "\nbr i1 %isReader, label %read, label %write\nwrite:\n" + writes +
                "br label %end\nread:\n" + reads + "br label %end\nend:\nret void\n}") {
    harness.buffer("data", data).buffer("flag", flag).buffer("out", out).threads(isOneBlock ? 2 : 1).grid(isOneBlock ? 1 : 2);
  }
};
const std::string kWrite = "store i32 7, ptr addrspace(1) %data\n";
const std::string kRead = "%d = load i32, ptr addrspace(1) %data\nstore i32 %d, ptr addrspace(1) %out\n";
const std::string kRelease = "store atomic i32 1, ptr addrspace(1) %flag syncscope(\"device\") release, align 4\n";
const std::string kAcquire = "%f = load atomic i32, ptr addrspace(1) %flag syncscope(\"device\") acquire, align 4\n";
const std::string kVolatileSet = "store volatile i32 1, ptr addrspace(1) %flag\n";
const std::string kVolatileGet = "%f = load volatile i32, ptr addrspace(1) %flag\n";

/// Clean and 7 was read, both between blocks and between threads of one.
void expectOrdered(const std::string &writes, const std::string &reads) {
  for (bool isOneBlock : {false, true}) {
    Pair pair(kWrite + writes, reads + kRead, isOneBlock);
    pair.harness.runClean();
    EXPECT_EQ(pair.out[0], 7u);
  }
}
void expectRace(const std::string &writes, const std::string &reads) {
  for (bool isOneBlock : {false, true}) {
    const Report race = Pair(kWrite + writes, reads + kRead, isOneBlock).harness.runFaulty(Fault::race);
    EXPECT_EQ(race.object, "data");
  }
}
} // namespace

// ---- fences and counters

TEST(EmulatorOrder, theLastBlockMayReadWhatAllHaveWritten) {
  for (const std::string &fence : {kFence, kMembar}) {
    LastBlock launch(lastBlock(fence, fence));
    launch.harness.runClean();
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(launch.out[i], 4 * i + 192);
  }
}

TEST(EmulatorOrder, aCounterNeedsAFenceOnBothSides) {
  LastBlock(lastBlock("", kFence)).harness.runFaulty(Fault::race);
  LastBlock(lastBlock(kFence, "")).harness.runFaulty(Fault::race);
  LastBlock(lastBlock(kBlockFence, kFence)).harness.runFaulty(Fault::race);
  LastBlock(lastBlock(kFence, kBlockFence)).harness.runFaulty(Fault::race);
}

/// LLVM makes the same instruction for all orders of atomicrmw.
TEST(EmulatorOrder, anUpdateIsRelaxedWhateverItsOrder) {
  LastBlock(lastBlock("", "", "seq_cst")).harness.runFaulty(Fault::race);
}

// ---- releases and acquires

TEST(EmulatorOrder, aReleaseIsOrderedBeforeTheAcquireThatReadsIt) {
  expectOrdered(kRelease, kAcquire);
  expectOrdered(kFence + kVolatileSet, kVolatileGet + kFence);
  expectOrdered(kRelease, kVolatileGet + kFence);
  expectOrdered(kFence + kVolatileSet, kAcquire);
}

TEST(EmulatorOrder, halfAPairOrdersNothing) {
  expectRace(kRelease, kVolatileGet);
  expectRace(kVolatileSet, kAcquire);
  expectRace(kVolatileSet + kFence, kVolatileGet + kFence); // the fence comes too late
  expectRace(kFence + kVolatileSet, kFence + kVolatileGet); // and here too early
}

TEST(EmulatorOrder, whatFollowsAReleaseIsNotOrdered) {
  for (bool isOneBlock : {false, true})
    Pair(kRelease + kWrite, kAcquire + kRead, isOneBlock).harness.runFaulty(Fault::race);
}

TEST(EmulatorOrder, aScopeOfABlockOrdersItsThreadsOnly) {
  const std::string release = "store atomic i32 1, ptr addrspace(1) %flag syncscope(\"block\") release, align 4\n";
  const std::string acquire = "%f = load atomic i32, ptr addrspace(1) %flag syncscope(\"block\") acquire, align 4\n";
  Pair(kWrite + release, acquire + kRead, true).harness.runClean();
  const Outcome outcome = Pair(kWrite + release, acquire + kRead, false).harness.run();
  EXPECT_EQ(outcome.reports.size(), 2u) << outcome.text(); // data and flag
}

TEST(EmulatorOrder, anUpdateBetweenKeepsTheRelease) {
  const auto body = [](const std::string &between) {
    return R"(
define ptx_kernel void @k(ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(1) %out) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  switch i32 %block, label %end [i32 0, label %write i32 1, label %between i32 2, label %read]
write:
)" + kWrite + kRelease + "br label %end\nbetween:\n" +
           between + "br label %end\nread:\n" + kAcquire + kRead + "br label %end\nend:\nret void\n}";
  };
  std::vector<uint32_t> data = {0}, flag = {0}, out = {0};
  auto run = [&](const std::string &between) {
    return EmulatorHarness(body(between)).buffer("data", data).buffer("flag", flag).buffer("out", out).threads(1).grid(3).run();
  };
  EXPECT_TRUE(run("%u = atomicrmw add ptr addrspace(1) %flag, i32 1 monotonic\n").reports.empty());
  EXPECT_FALSE(run(kVolatileSet).reports.empty()); // a new value, which hands on nothing
}

TEST(EmulatorOrder, whoAcquiresMayOverwriteTheFlag) {
  const std::string reset = "store i32 0, ptr addrspace(1) %flag\n";
  for (bool isOneBlock : {false, true}) {
    Pair(kRelease, kAcquire + reset, isOneBlock).harness.runClean();
    Pair(kRelease, kVolatileGet + reset, isOneBlock).harness.runFaulty(Fault::race);
  }
}

// ---- strong accesses

TEST(EmulatorOrder, strongAccessesDoNotRace) {
  for (bool isOneBlock : {false, true}) {
    Pair(kVolatileSet, kVolatileGet, isOneBlock).harness.runClean();
    Pair(kVolatileSet, "store i32 2, ptr addrspace(1) %flag\n", isOneBlock).harness.runFaulty(Fault::race);
    Pair(kVolatileGet, "store i32 2, ptr addrspace(1) %flag\n", isOneBlock).harness.runFaulty(Fault::race);
    Pair("store i32 2, ptr addrspace(1) %flag\n", kVolatileGet, isOneBlock).harness.runFaulty(Fault::race);
  }
}

/// A thread's own update is not what it must be ordered after: that of the others before it is.
TEST(EmulatorOrder, anUpdateDoesNotHideThatOfOthers) {
  const std::string update = "atomicrmw add ptr addrspace(1) %flag, i32 1 monotonic\n";
  const std::string read = "%w = load i32, ptr addrspace(1) %flag\n";
  for (bool isOneBlock : {false, true}) {
    Pair("%u = " + update, "%v = " + update + read, isOneBlock).harness.runFaulty(Fault::race);
    Pair("%u = " + update + kFence + kVolatileSet, kVolatileGet + kFence + "%v = " + update + read, isOneBlock).harness.runClean();
  }
}

TEST(EmulatorOrder, updatesOfSharedMemoryDoNotHideEachOther) {
  const auto body = [](const std::string &between) {
    return R"(
@sum = internal addrspace(3) global [1 x i32] undef, align 4
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %clear, label %go
clear:
  store i32 0, ptr addrspace(3) @sum
  br label %go
go:
)" + kBarrier +
           "%old = atomicrmw add ptr addrspace(3) @sum, i32 1 monotonic\n" + between + R"(
  %last = icmp eq i32 %tid, 63
  br i1 %last, label %read, label %end
read:
  %r = load i32, ptr addrspace(3) @sum
  store i32 %r, ptr addrspace(1) %out
  br label %end
end:
  ret void
})";
  };
  std::vector<uint32_t> out = {0};
  EmulatorHarness(body("")).buffer("out", out).threads(64).runFaulty(Fault::race);
  EmulatorHarness(body(kBarrier)).buffer("out", out).threads(64).runClean();
  EXPECT_EQ(out[0], 64u);
}
