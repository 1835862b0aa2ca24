// checks_test.cpp - each fault by a kernel that has it and by its corrected twin that must not be
// reported. Faults of asynchronous copies and mbarriers are in emulator_async_test.cpp.
#include "test/unit/emulator/EmulatorHarness.h"
#include <algorithm>
using namespace logitile::emulator;

namespace {
/// Each of 64 threads writes a word of shared memory and, after 'between', reads that of its
/// neighbour in the other warp.
std::string neighbours(const std::string &between, const std::string &after = "") {
  return R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  store i32 %tid, ptr addrspace(3) %mine
  )" + between +
         R"(
  %partner = xor i32 %tid, 32
  %theirs = getelementptr i32, ptr addrspace(3) @tile, i32 %partner
  %r = load i32, ptr addrspace(3) %theirs
  )" + after +
         R"(
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %r, ptr addrspace(1) %at
  ret void
})";
}
const std::string kBarrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
const std::string kOverwrite = "store i32 0, ptr addrspace(3) %mine\n";

/// Whether a race is among the reports; who reads too early may find nothing written as well.
bool hasRace(const Outcome &outcome) {
  for (const Report &report : outcome.reports)
    if (report.fault == Fault::race && report.space == Space::shared && report.parties.size() == 2)
      return true;
  return false;
}

struct Exchange {
  std::vector<uint32_t> out = std::vector<uint32_t>(64);
  EmulatorHarness harness;
  explicit Exchange(const std::string &body) : harness(body) { harness.buffer("out", out).threads(64); }
};

/// A kernel of one thread with a pointer %p; 'code' accesses memory through it.
std::string access(const std::string &code) {
  return "@tile = internal addrspace(3) global [16 x i32] undef, align 16\n"
         "define ptx_kernel void @k(ptr addrspace(1) %p) {\n" +
         code + "\nret void\n}";
}
} // namespace

// ---- races in shared memory

TEST(EmulatorChecks, readBeforeTheBarrierRaces) {
  Exchange faulty(neighbours(""));
  const Outcome outcome = faulty.harness.run();
  EXPECT_TRUE(hasRace(outcome)) << outcome.text();
  Exchange fixed(neighbours(kBarrier));
  fixed.harness.runClean();
  EXPECT_EQ(fixed.out[3], 35u);
}

TEST(EmulatorChecks, raceNamesBothSides) {
  Exchange faulty(neighbours("call void @llvm.nvvm.bar.warp.sync(i32 -1)\n"));
  const Outcome outcome = faulty.harness.run();
  auto isRace = [](const Report &report) { return report.fault == Fault::race; };
  auto last = std::ranges::find_if_not(outcome.reports, isRace); // races come first
  ASSERT_NE(last, outcome.reports.begin());
  const Report &race = *std::prev(last);
  EXPECT_EQ(race.parties[0].action, "earlier write");
  EXPECT_EQ(race.parties[0].instruction, "store shared");
  EXPECT_EQ(race.parties[1].action, "later read");
  EXPECT_EQ(race.parties[1].instruction, "load shared");
  EXPECT_NE(race.parties[0].who, race.parties[1].who);
  EXPECT_NE(race.text().find("race in block (0, 0, 0), shared memory +0x"), std::string::npos) << race.text();
}

TEST(EmulatorChecks, overwritingWhatOthersStillReadRaces) {
  Exchange faulty(neighbours(kBarrier, kOverwrite));
  const Report race = faulty.harness.runFaulty(Fault::race);
  const std::string actions = race.parties[0].action + ", " + race.parties[1].action; // which comes first is the schedule's choice
  EXPECT_TRUE(actions == "earlier read, later write" || actions == "earlier write, later read") << actions;
  Exchange fixed(neighbours(kBarrier, kBarrier + kOverwrite));
  fixed.harness.runClean();
}

/// All lanes read one word; each comes to the barrier after it at a time of its own.
TEST(EmulatorChecks, overwritingWhatAllLanesHaveReadNeedsOneBarrier) {
  const auto kernel = [](const std::string &between) {
    return R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  store i32 %tid, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %r = load i32, ptr addrspace(3) getelementptr (i32, ptr addrspace(3) @tile, i32 5)
  )" + between +
           R"(
  store i32 %r, ptr addrspace(3) %mine
  ret void
})";
  };
  Exchange faulty(kernel(""));
  const Outcome outcome = faulty.harness.run();
  EXPECT_TRUE(hasRace(outcome)) << outcome.text();
  for (uint64_t seed : {0, 1, 2})
    Exchange(kernel(kBarrier)).harness.seed(seed).runClean();
}

TEST(EmulatorChecks, twoWritersRace) {
  const std::string body = access("store i32 1, ptr addrspace(3) @tile");
  std::vector<uint32_t> unused(1);
  EXPECT_EQ(EmulatorHarness(body).buffer("p", unused).threads(64).runFaulty(Fault::race).parties[0].action, "earlier write");
  EmulatorHarness(body).buffer("p", unused).threads(1).runClean();
}

TEST(EmulatorChecks, shufflesOrderNothing) {
  const std::string within = R"(
@tile = internal addrspace(3) global [32 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %lane
  store i32 %lane, ptr addrspace(3) %mine
  SYNC
  %other = xor i32 %lane, 1
  %theirs = getelementptr i32, ptr addrspace(3) @tile, i32 %other
  %r = load i32, ptr addrspace(3) %theirs
  ret void
})";
  auto with = [&](const std::string &sync) { return std::string(within).replace(within.find("SYNC"), 4, sync); };
  std::vector<uint32_t> unused(1);
  EmulatorHarness shuffled(with("%s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %lane, i32 1, i32 31)"));
  EXPECT_TRUE(hasRace(shuffled.buffer("p", unused).run()));
  EmulatorHarness(with("call void @llvm.nvvm.bar.warp.sync(i32 -1)")).buffer("p", unused).runClean();
}

TEST(EmulatorChecks, atomicsDoNotRaceWithEachOther) {
  const std::string body = R"(
@sum = internal addrspace(3) global [1 x i32] undef, align 4
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %clear, label %go
clear:
  store i32 0, ptr addrspace(3) @sum
  br label %go
go:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %old = atomicrmw add ptr addrspace(3) @sum, i32 %tid monotonic
  LAST
  br i1 %first, label %read, label %end
read:
  %r = load i32, ptr addrspace(3) @sum
  store i32 %r, ptr addrspace(1) %p
  br label %end
end:
  ret void
})";
  auto with = [&](const std::string &last) { return std::string(body).replace(body.find("LAST"), 4, last); };
  std::vector<uint32_t> sum(1);
  EmulatorHarness(with("")).buffer("p", sum).threads(64).runFaulty(Fault::race);
  EmulatorHarness(with(kBarrier)).buffer("p", sum).threads(64).runClean();
  EXPECT_EQ(sum[0], 2016u);
}

TEST(EmulatorChecks, namedBarriersOrderOnlyTheirThreads) {
  const std::string body = R"(
@tile = internal addrspace(3) global [96 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  store i32 %tid, ptr addrspace(3) %mine
  %producer = icmp ult i32 %tid, 32
  br i1 %producer, label %arrive, label %wait
arrive:
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)
  br label %end
wait:
  %consumer = icmp ult i32 %tid, 64
  br i1 %consumer, label %sync, label %READER
sync:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  br label %read
read:
  %r = load i32, ptr addrspace(3) @tile
  br label %end
end:
  ret void
})";
  auto with = [&](const std::string &reader) { return std::string(body).replace(body.find("READER"), 6, reader); };
  std::vector<uint32_t> unused(1);
  EmulatorHarness(with("end")).buffer("p", unused).threads(96).runClean();
  const Report race = EmulatorHarness(with("read")).buffer("p", unused).threads(96).seed(0).runFaulty(Fault::race);
  EXPECT_NE(race.parties[1].who.find("warp 2"), std::string::npos) << race.text();
}

TEST(EmulatorChecks, arrivalsAndWaitsTakeTurns) {
  // Warp 0 fills and warp 1 empties one word in turn: barrier 1 says full, barrier 2 empty.
  std::vector<uint32_t> out(4 * 32);
  EmulatorHarness(R"(
@word = internal addrspace(3) global [32 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %mine = getelementptr i32, ptr addrspace(3) @word, i32 %lane
  %other = xor i32 %lane, 31
  %theirs = getelementptr i32, ptr addrspace(3) @word, i32 %other
  %producer = icmp ult i32 %tid, 32
  br i1 %producer, label %fill, label %start
fill:
  %i = phi i32 [0, %0], [%ii, %fill]
  %v0 = mul i32 %i, 1000
  %v = add i32 %v0, %lane
  store i32 %v, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 64)
  %ii = add i32 %i, 1
  %more = icmp ult i32 %ii, 4
  br i1 %more, label %fill, label %end
start:
  br label %empty
empty:
  %j = phi i32 [0, %start], [%jj, %empty]
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  %r = load i32, ptr addrspace(3) %theirs
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 2, i32 64)
  %row = mul i32 %j, 32
  %n = add i32 %row, %lane
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %n
  store i32 %r, ptr addrspace(1) %at
  %jj = add i32 %j, 1
  %again = icmp ult i32 %jj, 4
  br i1 %again, label %empty, label %end
end:
  ret void
})")
      .buffer("out", out)
      .threads(64)
      .runClean();
  for (uint32_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], i / 32 * 1000 + (i % 32 ^ 31)) << i;
}

// ---- global memory

TEST(EmulatorChecks, blocksThatShareAWordRace) {
  const std::string body = R"(
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %i = mul i32 %block, STEP
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %block, ptr addrspace(1) %at
  ret void
})";
  auto with = [&](const std::string &step) { return std::string(body).replace(body.find("STEP"), 4, step); };
  std::vector<uint32_t> words(2);
  const Report race = EmulatorHarness(with("0")).buffer("words", words).threads(1).grid(2).runFaulty(Fault::race);
  EXPECT_EQ(race.object, "words");
  EXPECT_NE(race.parties[0].who.find("of block 0"), std::string::npos) << race.text();
  EmulatorHarness(with("1")).buffer("words", words).threads(1).grid(2).runClean();
}

TEST(EmulatorChecks, readersOfSeveralBlocksRaceWithALaterWriter) {
  const std::string body = R"(
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %r = load i32, ptr addrspace(1) %p
  %last = icmp eq i32 %block, 2
  br i1 %last, label %write, label %end
write:
  store i32 %r, ptr addrspace(1) %p
  br label %end
end:
  ret void
})";
  std::vector<uint32_t> words(1);
  EmulatorHarness(body).buffer("words", words).threads(1).grid(3).runFaulty(Fault::race);
  EmulatorHarness(body).buffer("words", words).threads(1).grid(2).runClean();
}

TEST(EmulatorChecks, launchesAreOrdered) {
  std::vector<uint32_t> words(1);
  EmulatorHarness harness(access("store i32 1, ptr addrspace(1) %p"));
  harness.buffer("words", words).threads(1);
  harness.runClean();
  harness.runClean();
}

TEST(EmulatorChecks, threadsOfABlockRaceInGlobalMemory) {
  const std::string body = R"(
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = getelementptr i32, ptr addrspace(1) %p, i32 %tid
  store i32 %tid, ptr addrspace(1) %mine
  SYNC
  %other = xor i32 %tid, 32
  %theirs = getelementptr i32, ptr addrspace(1) %p, i32 %other
  %r = load i32, ptr addrspace(1) %theirs
  ret void
})";
  auto with = [&](const std::string &sync) { return std::string(body).replace(body.find("SYNC"), 4, sync); };
  std::vector<uint32_t> words(64);
  EmulatorHarness(with("")).buffer("words", words).threads(64).runFaulty(Fault::race);
  EmulatorHarness(with(kBarrier)).buffer("words", words).threads(64).runClean();
}

// ---- what was never written

TEST(EmulatorChecks, unwrittenSharedMemory) {
  std::vector<uint32_t> out(1);
  const std::string read = "%r = load i32, ptr addrspace(3) @tile\nstore i32 %r, ptr addrspace(1) %p";
  EmulatorHarness(access(read)).buffer("p", out).threads(1).runFaulty(Fault::uninitialised);
  EmulatorHarness(access("store i32 5, ptr addrspace(3) @tile\n" + read)).buffer("p", out).threads(1).runClean();
}

TEST(EmulatorChecks, unwrittenGlobalMemory) {
  const std::string read = "%r = load i16, ptr addrspace(1) %p";
  std::vector<uint32_t> words(1);
  const Report report =
      EmulatorHarness(access(read)).buffer("scratch", words, Contents::undefined).threads(1).runFaulty(Fault::uninitialised);
  EXPECT_EQ(report.object, "scratch");
  EmulatorHarness(access(read)).buffer("words", words).threads(1).runClean();
  EmulatorHarness(access("store i16 5, ptr addrspace(1) %p\n" + read)).buffer("scratch", words, Contents::undefined).threads(1).runClean();
}

TEST(EmulatorChecks, whatOneLaunchWroteTheNextMayRead) {
  std::vector<uint32_t> words(1), unused(1);
  EmulatorHarness writer(access("store i32 5, ptr addrspace(1) %p"));
  writer.buffer("scratch", words, Contents::undefined).threads(1).runClean();
  EmulatorHarness reader(access("%r = load i32, ptr addrspace(1) %p"));
  reader.argument(reinterpret_cast<uint64_t>(words.data())).threads(1);
  Outcome outcome;
  std::string error;
  ASSERT_TRUE(reader.program->run(reader.launch, writer.memory, outcome, error)) << error;
  EXPECT_TRUE(outcome.reports.empty()) << outcome.text();
}

// ---- bounds and alignment

TEST(EmulatorChecks, beyondABuffer) {
  std::vector<uint32_t> words(4);
  auto at = [](const std::string &index) {
    return access("%q = getelementptr i32, ptr addrspace(1) %p, i32 " + index + "\nstore i32 1, ptr addrspace(1) %q");
  };
  const Report report = EmulatorHarness(at("4")).buffer("words", words).threads(1).runFaulty(Fault::outOfBounds);
  EXPECT_NE(report.detail.find("byte 16 from the start of 'words', which has 16 bytes"), std::string::npos) << report.text();
  std::vector<uint32_t> three(3 * 4);
  EmulatorHarness below(access("%q = getelementptr i32, ptr addrspace(1) %p, i32 -1\nstore i32 1, ptr addrspace(1) %q"));
  below.memory.add("other", three.data(), 16);
  below.memory.add("words", three.data() + 8, 16);
  const Report before = below.argument(reinterpret_cast<uint64_t>(three.data() + 8)).threads(1).runFaulty(Fault::outOfBounds);
  EXPECT_NE(before.detail.find("4 bytes before the start of 'words', which has 16 bytes"), std::string::npos) << before.text();
  EmulatorHarness(at("3")).buffer("words", words).threads(1).runClean();
}

/// 2^32 + 4 bytes are not 4, and an end beyond the last address lies in no buffer.
TEST(EmulatorChecks, lengthsBeyond32Bits) {
  std::vector<uint32_t> words(4);
  for (const char *length : {"4294967300", "-8"}) {
    const std::string code = std::string("call void @llvm.memset.p1.i64(ptr addrspace(1) %p, i8 0, i64 ") + length + ", i1 false)";
    const Report report = EmulatorHarness(access(code)).buffer("words", words).threads(1).runFaulty(Fault::outOfBounds);
    EXPECT_EQ(report.space, Space::global) << report.text();
    const std::string shared = std::string("call void @llvm.memset.p3.i64(ptr addrspace(3) @tile, i8 0, i64 ") + length + ", i1 false)";
    EmulatorHarness(access(shared)).buffer("words", words).threads(1).runFaulty(Fault::outOfBounds);
  }
  EmulatorHarness(access("call void @llvm.memset.p1.i64(ptr addrspace(1) %p, i8 0, i64 16, i1 false)"))
      .buffer("words", words)
      .threads(1)
      .runClean();
}

TEST(EmulatorChecks, beyondSharedMemory) {
  std::vector<uint32_t> unused(1);
  auto at = [](const std::string &index) {
    return access("%q = getelementptr i32, ptr addrspace(3) @tile, i32 " + index + "\nstore i32 1, ptr addrspace(3) %q");
  };
  const Report report = EmulatorHarness(at("16")).buffer("p", unused).threads(1).runFaulty(Fault::outOfBounds);
  EXPECT_EQ(report.address, 64u);
  EmulatorHarness(at("15")).buffer("p", unused).threads(1).runClean();
}

TEST(EmulatorChecks, genericPointersAreFoundOut) {
  std::vector<uint32_t> words(4);
  auto at = [](const std::string &index) {
    return access("%g = addrspacecast ptr addrspace(1) %p to ptr\n%q = getelementptr i32, ptr %g, i32 " + index + "\nstore i32 1, ptr %q");
  };
  EmulatorHarness(at("4")).buffer("words", words).threads(1).runFaulty(Fault::outOfBounds);
  EmulatorHarness(at("2")).buffer("words", words).threads(1).runClean();
}

TEST(EmulatorChecks, misaligned) {
  std::vector<uint32_t> words(8);
  auto at = [](const std::string &index) {
    return access("%q = getelementptr i32, ptr addrspace(1) %p, i32 " + index +
                  "\nstore <2 x i32> zeroinitializer, ptr addrspace(1) %q, align 8");
  };
  EmulatorHarness(at("1")).buffer("words", words).threads(1).runFaulty(Fault::misaligned);
  EmulatorHarness(at("2")).buffer("words", words).threads(1).runClean();
}

// ---- lanes and threads that do not meet

TEST(EmulatorChecks, lanesThatSkipAShuffle) {
  auto body = [](const std::string &condition) {
    return storePerThread("%p = " + condition + R"(
  br i1 %p, label %a, label %end
a:
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %lane, i32 1, i32 31)
  br label %end
end:
  %r = phi i32 [%x, %a], [0, %0])");
  };
  std::vector<uint32_t> out(32);
  const Report report = EmulatorHarness(body("icmp ult i32 %lane, 8")).buffer("out", out).runFaulty(Fault::divergence);
  EXPECT_EQ(report.parties[0].instruction, "llvm.nvvm.shfl.sync.bfly.i32");
  EmulatorHarness(body("icmp ult i32 %lane, 32")).buffer("out", out).runClean();
}

TEST(EmulatorChecks, lanesAtTwoShuffles) {
  auto body = [](const std::string &low, const std::string &high) {
    return storePerThread("%p = icmp ult i32 %lane, 16\nbr i1 %p, label %a, label %b\n"
                          "a:\n%x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 " +
                          low +
                          ", i32 %lane, i32 1, i32 31)\nbr label %end\n"
                          "b:\n%y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 " +
                          high +
                          ", i32 %lane, i32 2, i32 31)\nbr label %end\n"
                          "end:\n%r = phi i32 [%x, %a], [%y, %b]");
  };
  std::vector<uint32_t> out(32);
  EXPECT_EQ(EmulatorHarness(body("-1", "-1")).buffer("out", out).runFaulty(Fault::divergence).parties.size(), 2u);
  EmulatorHarness(body("65535", "-65536")).buffer("out", out).runClean();
  EmulatorHarness(body("65535", "65535")).buffer("out", out).runFaulty(Fault::divergence); // a mask without its own lane
}

TEST(EmulatorChecks, shuffleFromALaneThatIsNotThere) {
  auto body = [](const std::string &distance) {
    return storePerThread("%p = icmp ult i32 %lane, 16\nbr i1 %p, label %a, label %end\n"
                          "a:\n%x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65535, i32 %lane, i32 " +
                          distance +
                          ", i32 31)\nbr label %end\n"
                          "end:\n%r = phi i32 [%x, %a], [0, %0]");
  };
  std::vector<uint32_t> out(32);
  EmulatorHarness(body("16")).buffer("out", out).runFaulty(Fault::divergence);
  EmulatorHarness(body("8")).buffer("out", out).runClean();
}

TEST(EmulatorChecks, threadsThatEndBeforeABarrier) {
  auto body = [](const std::string &bound) {
    return storePerThread("%p = icmp ult i32 %tid, " + bound + "\nbr i1 %p, label %go, label %out_\nout_:\nret void\ngo:\n" + kBarrier +
                          "%r = add i32 %tid, 0");
  };
  std::vector<uint32_t> out(64);
  EmulatorHarness(body("48")).buffer("out", out).threads(64).runFaulty(Fault::barrierDivergence);
  EmulatorHarness(body("64")).buffer("out", out).threads(64).runClean();
  for (uint64_t seed : {0, 1, 2, 3}) // whole warps may
    EmulatorHarness(body("32")).buffer("out", out).threads(64).seed(seed).runClean();
}

TEST(EmulatorChecks, aWarpThatEndsAfterOthersWait) {
  const std::string body = storePerThread("%p = icmp ult i32 %tid, 32\nbr i1 %p, label %go, label %late\nlate:\n"
                                          "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)\nret void\ngo:\n"
                                          "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)\n" +
                                          kBarrier + "%r = add i32 %tid, 0");
  std::vector<uint32_t> out(64);
  for (uint64_t seed : {0, 1, 2, 3})
    EmulatorHarness(body).buffer("out", out).threads(64).seed(seed).runClean();
  EXPECT_EQ(out[31], 31u);
}

TEST(EmulatorChecks, lanesThatStoreTheSame) {
  auto body = [](const std::string &value, const std::string &pointer) {
    return "@word = internal addrspace(3) global i32 undef, align 4\n" +
           storePerThread("%same = and i32 %lane, 0\nstore i32 " + value + ", " + pointer + "\n%r = add i32 %lane, 0");
  };
  std::vector<uint32_t> out(65);
  for (const std::string pointer : {"ptr addrspace(3) @word", "ptr addrspace(1) %out"}) {
    const std::string apart = pointer == "ptr addrspace(1) %out" ? "64" : "0"; // where no thread stores its own
    std::string same = body("%same", pointer), other = body("%lane", pointer);
    if (apart == "64")
      for (std::string *text : {&same, &other}) {
        text->replace(text->find("store i32"), 9, "%far = getelementptr i32, ptr addrspace(1) %out, i32 64\nstore i32");
        text->replace(text->find("ptr addrspace(1) %out\n%r"), 21, "ptr addrspace(1) %far");
      }
    EmulatorHarness(same).buffer("out", out).runClean();
    EmulatorHarness(other).buffer("out", out).runFaulty(Fault::race);
    EmulatorHarness(same).buffer("out", out).threads(64).runFaulty(Fault::race); // two warps
  }
}

TEST(EmulatorChecks, lanesAtTwoBarriers) {
  auto body = [](const std::string &bit, const std::string &barrier) {
    return storePerThread(
        "%b = and i32 %tid, " + bit + "\n%p = icmp eq i32 %b, 0\nbr i1 %p, label %x, label %y\nx:\ncall void @llvm.nvvm." + barrier +
        "(i32 0)\nbr label %end\ny:\ncall void @llvm.nvvm." + barrier + "(i32 0)\nbr label %end\nend:\n%r = add i32 %tid, 0");
  };
  std::vector<uint32_t> out(64);
  EmulatorHarness(body("1", "barrier.cta.sync.aligned.all")).buffer("out", out).threads(64).runFaulty(Fault::barrierDivergence);
  EmulatorHarness(body("32", "barrier.cta.sync.aligned.all")).buffer("out", out).threads(64).runClean(); // whole warps may
  EmulatorHarness(body("1", "barrier.cta.sync.all")).buffer("out", out).threads(64).runClean();
}

TEST(EmulatorChecks, deadlockSaysWhoWaitsWhere) {
  auto body = [](const std::string &count) {
    return storePerThread("call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 3, i32 " + count + ")\n%r = add i32 %tid, 0");
  };
  std::vector<uint32_t> out(64);
  const Report report = EmulatorHarness(body("96")).buffer("out", out).threads(64).runFaulty(Fault::deadlock);
  EXPECT_EQ(report.parties.size(), 2u);
  EXPECT_NE(report.detail.find("barrier 3 has 64 of 96 threads"), std::string::npos) << report.text();
  EmulatorHarness(body("64")).buffer("out", out).threads(64).runClean();
}

TEST(EmulatorChecks, barriersUsedWrongly) {
  auto body = [](const std::string &id, const std::string &count) {
    return storePerThread("call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 " + id + ", i32 " + count + ")\n%r = add i32 %tid, 0");
  };
  std::vector<uint32_t> out(64);
  EmulatorHarness(body("16", "64")).buffer("out", out).threads(64).runFaulty(Fault::barrierMisuse);
  EmulatorHarness(body("15", "48")).buffer("out", out).threads(64).runFaulty(Fault::barrierMisuse);
  EmulatorHarness(body("15", "64")).buffer("out", out).threads(64).runClean();
  const std::string perWarp = storePerThread("%w = and i32 %tid, 32\n%n = add i32 %w, 64\ncall void "
                                             "@llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 %n)\n%r = add i32 %tid, 0");
  EmulatorHarness(perWarp).buffer("out", out).threads(64).runFaulty(Fault::barrierMisuse);
}

TEST(EmulatorChecks, kernelsThatEndThemselves) {
  std::vector<uint32_t> words = {1};
  const auto kernel = [](const std::string &end) {
    return "declare void @llvm.trap()\ndeclare void @llvm.ubsantrap(i8)\ndeclare void @llvm.debugtrap()\n"
           "define ptx_kernel void @k(ptr addrspace(1) %p) {\n"
           "%r = load i32, ptr addrspace(1) %p\n%ends = icmp eq i32 %r, 1\nbr i1 %ends, label %end, label %go\n"
           "end:\n" + end + "\ngo:\nret void\n}";
  };
  for (const char *end : {"unreachable", "call void @llvm.trap()\nunreachable", "call void @llvm.ubsantrap(i8 0)\nret void",
                          "call void @llvm.debugtrap()\nret void"}) {
    words[0] = 1;
    const Report report = EmulatorHarness(kernel(end)).buffer("words", words).threads(1).runFaulty(Fault::trap);
    EXPECT_NE(report.text().find("trap in block (0, 0, 0)"), std::string::npos) << report.text();
    words[0] = 0;
    EmulatorHarness(kernel(end)).buffer("words", words).threads(1).runClean();
  }
}

TEST(EmulatorChecks, repeatedFaultsAreCounted) {
  std::vector<uint32_t> words(1);
  const Outcome outcome = EmulatorHarness(access("store i32 1, ptr addrspace(1) %p")).buffer("words", words).threads(1).grid(5).run();
  ASSERT_EQ(outcome.reports.size(), 1u);
  EXPECT_EQ(outcome.reports[0].count, 4u);
}
