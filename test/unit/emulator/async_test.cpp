// async_test.cpp - asynchronous copies and mbarriers: values, lateness, and each misuse with its
// corrected twin.
#include "test/unit/emulator/EmulatorHarness.h"
#include <numeric>
using namespace logitile::emulator;

namespace {
/// 32 threads copy 16 bytes each to shared memory; after 'between' each reads the first word that
/// thread (tid ^ 'other') copied.
std::string copyAndRead(const std::string &between, const std::string &other = "0",
                        const std::string &copy = "16(ptr addrspace(3) %to, ptr addrspace(1) %from)") {
  return R"(
@tile = internal addrspace(3) global [128 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = mul i32 %tid, 4
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %n
  %to = getelementptr i32, ptr addrspace(3) @tile, i32 %n
  call void @llvm.nvvm.cp.async.cg.shared.global.)" +
         copy + "\n" + between + R"(
  %partner = xor i32 %tid, )" +
         other + R"(
  %m = mul i32 %partner, 4
  %where = getelementptr i32, ptr addrspace(3) @tile, i32 %m
  %r = load i32, ptr addrspace(3) %where
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %r, ptr addrspace(1) %at
  ret void
})";
}
const std::string kCommit = "call void @llvm.nvvm.cp.async.commit.group()\n";
const std::string kWait = "call void @llvm.nvvm.cp.async.wait.group(i32 0)\n";
const std::string kBarrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

struct Copies {
  std::vector<uint32_t> in = std::vector<uint32_t>(128), out = std::vector<uint32_t>(32);
  EmulatorHarness harness;
  explicit Copies(const std::string &body) : harness(body) {
    std::iota(in.begin(), in.end(), 0);
    harness.buffer("in", in).buffer("out", out);
  }
};

/// One thread works with the mbarrier @bar.
std::string withMbarrier(const std::string &code) {
  return "@bar = internal addrspace(3) global [2 x i64] undef, align 8\n"
         "define ptx_kernel void @k(ptr addrspace(1) %out) {\n" +
         code + "\nret void\n}";
}
const std::string kInitOne = "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 1)\n";
std::string arrive(const std::string &name) {
  return "%" + name + " = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @bar)\n";
}
std::string tryWait(const std::string &name, const std::string &parity) {
  return "%" + name + " = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 " + parity + ")\n";
}
Report faultOf(const std::string &code, Fault fault) {
  std::vector<uint32_t> out(4);
  return EmulatorHarness(withMbarrier(code)).buffer("out", out).threads(1).runFaulty(fault);
}
std::vector<uint32_t> cleanOf(const std::string &code) {
  std::vector<uint32_t> out(4);
  EmulatorHarness(withMbarrier(code)).buffer("out", out).threads(1).runClean();
  return out;
}

/// Warp 0 copies or writes, arrives at the mbarrier; warp 1 waits and reads what warp 0 has put
/// there.
std::string producerAndConsumer(const std::string &produce, const std::string &consume, const std::string &count = "32") {
  return R"(
@tile = internal addrspace(3) global [128 x i32] undef, align 16
@bar = internal addrspace(3) global [1 x i64] undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %n = mul i32 %lane, 4
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %n
  %to = getelementptr i32, ptr addrspace(3) @tile, i32 %n
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 )" +
         count + R"()
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %isProducer = icmp ult i32 %tid, 32
  br i1 %isProducer, label %produce, label %consume
produce:
  )" + produce +
         R"(
  br label %end
consume:
  )" + consume +
         R"(
  %r = load i32, ptr addrspace(3) %to
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %r, ptr addrspace(1) %at
  br label %end
end:
  ret void
})";
}
const std::string kStore = "store i32 %lane, ptr addrspace(3) %to\n";
const std::string kCopy = "call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)\n";
const std::string kArriveAfterCopies = "call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @bar)\n";
} // namespace

// ---- copies

TEST(EmulatorCopies, ownCopyAfterItsWait) {
  Copies copies(copyAndRead(kCommit + kWait));
  const Counters counters = copies.harness.runClean();
  EXPECT_EQ(copies.out[5], 20u);
  EXPECT_EQ(counters.globalReadBytes, 512u);
  EXPECT_EQ(counters.sharedWriteBytes, 512u);
}

TEST(EmulatorCopies, withoutAWaitThereIsPoison) {
  Copies copies(copyAndRead(kCommit));
  const Report report = copies.harness.runFaulty(Fault::inFlight);
  EXPECT_NE(report.parties[0].who.find("copy engine of thread"), std::string::npos) << report.text();
  EXPECT_EQ(copies.out[5], 0xffffffffu);
}

TEST(EmulatorCopies, aCopyWithoutAGroupIsNotWaitedFor) {
  Copies copies(copyAndRead(kWait));
  copies.harness.runFaulty(Fault::inFlight);
  Copies fixed(copyAndRead("call void @llvm.nvvm.cp.async.wait.all()\n"));
  fixed.harness.runClean();
}

TEST(EmulatorCopies, aWaitThatLeavesTheLastGroup) {
  Copies copies(copyAndRead(kCommit + "call void @llvm.nvvm.cp.async.wait.group(i32 1)\n"));
  copies.harness.runFaulty(Fault::inFlight);
  Copies fixed(copyAndRead(kCommit + kCommit + "call void @llvm.nvvm.cp.async.wait.group(i32 1)\n"));
  fixed.harness.runClean();
}

TEST(EmulatorCopies, othersNeedABarrierAsWell) {
  Copies copies(copyAndRead(kCommit + kWait, "1"));
  const Outcome outcome = copies.harness.run();
  EXPECT_FALSE(outcome.reports.empty());
  Copies before(copyAndRead(kCommit + kBarrier + kWait, "1")); // a barrier before the wait orders nothing of the copy
  EXPECT_FALSE(before.harness.run().reports.empty());
  Copies fixed(copyAndRead(kCommit + kWait + kBarrier, "1"));
  fixed.harness.runClean();
  EXPECT_EQ(fixed.out[5], 16u);
}

TEST(EmulatorCopies, zerosFollowAShortSource) {
  const std::string copy = "16.s(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 8)";
  const std::string lastWords = R"(
  %p2 = getelementptr i32, ptr addrspace(3) %to, i32 2
  %w2 = load i32, ptr addrspace(3) %p2
  %p1 = getelementptr i32, ptr addrspace(3) %to, i32 1
  %w1 = load i32, ptr addrspace(3) %p1
  %sum = add i32 %w1, %w2
  store i32 %sum, ptr addrspace(3) %to
)";
  Copies copies(copyAndRead(kCommit + kWait + lastWords, "0", copy));
  copies.harness.runClean();
  EXPECT_EQ(copies.out[3], 13u);
}

TEST(EmulatorCopies, everySourceSize) {
  const std::string body = R"(
@tile = internal addrspace(3) global [512 x i8] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = mul i32 %tid, 16
  %from = getelementptr i8, ptr addrspace(1) %in, i32 %n
  %to = getelementptr i8, ptr addrspace(3) @tile, i32 %n
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 %tid)
  call void @llvm.nvvm.cp.async.wait.all()
  %words = load <4 x i32>, ptr addrspace(3) %to, align 16
  %at = getelementptr i8, ptr addrspace(1) %out, i32 %n
  store <4 x i32> %words, ptr addrspace(1) %at, align 16
  ret void
})";
  std::vector<uint8_t> in(17 * 16), out(17 * 16, 0xdd);
  std::iota(in.begin(), in.end(), 1);
  EmulatorHarness(body).buffer("in", in).buffer("out", out).threads(17).runClean();
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], i % 16 < i / 16 ? in[i] : 0) << "byte " << i % 16 << " of a copy of " << i / 16;
}

TEST(EmulatorCopies, aWaitLeavesTheGroupsThatItSays) {
  for (int left : {0, 1, 2, 3}) {
    std::string code = R"(
@tile = internal addrspace(3) global [512 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
)";
    for (int group = 0; group < 4; ++group) {
      const std::string id = std::to_string(group);
      code += "%m" + id + " = mul i32 %tid, 4\n%n" + id + " = add i32 %m" + id + ", " + std::to_string(128 * group) + "\n%from" + id +
              " = getelementptr i32, ptr addrspace(1) %in, i32 %n" + id + "\n%to" + id +
              " = getelementptr i32, ptr addrspace(3) @tile, i32 %n" + id +
              "\ncall void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to" + id + ", ptr addrspace(1) %from" + id + ")\n" +
              kCommit;
    }
    code += "call void @llvm.nvvm.cp.async.wait.group(i32 " + std::to_string(left) + ")\n";
    for (int group = 0; group < 4 - left; ++group) {
      const std::string id = std::to_string(group);
      code += "%v" + id + " = load <4 x i32>, ptr addrspace(3) %to" + id + ", align 16\n%at" + id +
              " = getelementptr i32, ptr addrspace(1) %out, i32 %n" + id + "\nstore <4 x i32> %v" + id + ", ptr addrspace(1) %at" + id +
              ", align 16\n";
    }
    std::vector<uint32_t> in(512), out(512);
    std::iota(in.begin(), in.end(), 7);
    EmulatorHarness(code + "ret void\n}").buffer("in", in).buffer("out", out).runClean();
    for (uint32_t i = 0; i < 512; ++i)
      EXPECT_EQ(out[i], i < 128u * (4 - left) ? i + 7 : 0) << i << " of wait_group " << left;
  }
}

TEST(EmulatorCopies, sourceBytesOutsideAreNotTouched) {
  auto atEnd = [](const std::string &bytes) {
    return copyAndRead(kCommit + kWait, "0", "16.s(ptr addrspace(3) %to, ptr addrspace(1) %end, i32 " + bytes + ")");
  };
  auto withEnd = [](std::string body) {
    return body.insert(body.find("  call void @llvm.nvvm.cp"), "  %end = getelementptr i32, ptr addrspace(1) %in, i32 128\n");
  };
  Copies none(withEnd(atEnd("0")));
  none.harness.runClean();
  Copies some(withEnd(atEnd("4")));
  some.harness.runFaulty(Fault::outOfBounds);
  Copies tooMany(withEnd(atEnd("20")));
  tooMany.harness.runFaulty(Fault::outOfBounds);
}

TEST(EmulatorCopies, misalignedDestination) {
  auto body = [](const std::string &offset) {
    std::string text = copyAndRead(kCommit + kWait, "0", "16(ptr addrspace(3) %odd, ptr addrspace(1) %from)");
    text.insert(text.find("  call void @llvm.nvvm.cp"), "  %odd = getelementptr i8, ptr addrspace(3) %to, i32 " + offset + "\n");
    return text;
  };
  Copies faulty(body("8"));
  faulty.harness.runFaulty(Fault::misaligned);
  Copies fixed(body("0"));
  fixed.harness.runClean();
}

TEST(EmulatorCopies, twoCopiesToOnePlace) {
  const std::string again = "call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)\n";
  Copies faulty(copyAndRead(kCommit + again + kCommit + kWait));
  EXPECT_EQ(faulty.harness.runFaulty(Fault::inFlight).parties[1].action, "later write");
  Copies fixed(copyAndRead(kCommit + kWait + again + kCommit + kWait));
  fixed.harness.runClean();
}

TEST(EmulatorCopies, asInlinePtx) {
  std::string body = copyAndRead(kCommit + kWait);
  const std::string intrinsic = "call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)";
  body.replace(body.find(intrinsic), intrinsic.size(),
               "%s = ptrtoint ptr addrspace(3) %to to i32\n"
               "call void asm sideeffect \"cp.async.cg.shared.global.L2::128B\t[$0],  [$1], 16, $2; \", \"r,l,r\"(i32 %s, ptr addrspace(1) "
               "%from, i32 16)");
  Copies copies(body);
  copies.harness.runClean();
  EXPECT_EQ(copies.out[5], 20u);
}

// ---- mbarriers

TEST(EmulatorMbarriers, phasesAndParities) {
  // A fresh barrier lets those pass who wait for the phase before the first.
  EXPECT_EQ(cleanOf(kInitOne + tryWait("w", "1") + "%r = zext i1 %w to i32\nstore i32 %r, ptr addrspace(1) %out")[0], 1u);
  cleanOf(kInitOne + arrive("a") + tryWait("w", "0") + arrive("b") + tryWait("v", "1"));
  faultOf(kInitOne + tryWait("w", "0"), Fault::deadlock);
  faultOf(kInitOne + arrive("a") + arrive("b") + tryWait("w", "0"), Fault::deadlock); // two phases on
}

TEST(EmulatorMbarriers, testsDoNotBlock) {
  const std::string test = "%w = call i1 @llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 0)\n"
                           "%r = zext i1 %w to i32\nstore i32 %r, ptr addrspace(1) %out";
  EXPECT_EQ(cleanOf("store i32 7, ptr addrspace(1) %out\n" + kInitOne + test)[0], 0u);
  EXPECT_EQ(cleanOf(kInitOne + arrive("a") + test)[0], 1u);
}

TEST(EmulatorMbarriers, statesOfArrivals) {
  const std::string wait = "%w = call i1 @llvm.nvvm.mbarrier.try.wait.scope.cta.space.cta(ptr addrspace(3) @bar, i64 %a)\n";
  cleanOf(kInitOne + arrive("a") + wait);
  faultOf("call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 2)\n" + arrive("a") + wait, Fault::deadlock);
}

TEST(EmulatorMbarriers, loopsOverTestsThatNeverEndAreDeadlocks) {
  auto body = [](const std::string &parity) {
    return kInitOne +
           "br label %loop\nloop:\n%w = call i1 @llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 " +
           parity + ")\nbr i1 %w, label %end, label %loop\nend:";
  };
  const Report report = faultOf(body("0"), Fault::deadlock);
  EXPECT_NE(report.parties[0].action.find("an mbarrier"), std::string::npos) << report.text();
  cleanOf(body("1"));
}

TEST(EmulatorMbarriers, usesOutsideOfTheProtocol) {
  const std::string invalidate = "call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @bar)\n";
  EXPECT_EQ(faultOf(kInitOne + kInitOne, Fault::barrierMisuse).detail, "it is initialised already; invalidate it first");
  cleanOf(kInitOne + invalidate + kInitOne);
  faultOf("call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 0)\n", Fault::barrierMisuse);
  faultOf(kInitOne + invalidate + arrive("a"), Fault::barrierMisuse);
  faultOf(kInitOne + "%a = call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @bar, i32 2)\n", Fault::barrierMisuse);
  cleanOf(kInitOne + "%a = call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @bar, i32 1)\n");
  faultOf(kInitOne + tryWait("w", "2"), Fault::barrierMisuse);
  faultOf("%p = getelementptr i32, ptr addrspace(3) @bar, i32 1\ncall void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %p, i32 1)\n",
          Fault::misaligned);
}

TEST(EmulatorMbarriers, announcedBytesHoldThePhase) {
  const std::string expect = "%a = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @bar, i32 ";
  const Report report = faultOf(kInitOne + expect + "16)\n" + tryWait("w", "0"), Fault::deadlock);
  EXPECT_NE(report.detail.find("lacks 0 arrivals and 16 bytes"), std::string::npos) << report.text();
  cleanOf(kInitOne + expect + "0)\n" + tryWait("w", "0"));
}

TEST(EmulatorMbarriers, aWaitOrdersWhatCameBeforeTheArrivals) {
  Copies fixed(producerAndConsumer(kStore + arrive("a"), tryWait("w", "0")));
  fixed.harness.threads(64).runClean();
  EXPECT_EQ(fixed.out[9], 9u);
  Copies late(producerAndConsumer(arrive("a") + kStore, tryWait("w", "0")));
  EXPECT_FALSE(late.harness.threads(64).run().reports.empty());
}

TEST(EmulatorMbarriers, initNeedsABarrierBeforeOthersUseIt) {
  std::string body = producerAndConsumer(kStore + arrive("a"), tryWait("w", "0"));
  const std::string barrier = "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  body.erase(body.find(barrier), barrier.size());
  Copies copies(body);
  EXPECT_FALSE(copies.harness.threads(64).run().reports.empty());
}

TEST(EmulatorMbarriers, copiesArriveWhenTheyLand) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    Copies fixed(producerAndConsumer(kCopy + kArriveAfterCopies, tryWait("w", "0")));
    fixed.harness.threads(64).seed(seed).runClean();
    EXPECT_EQ(fixed.out[9], 36u);
    Copies early(producerAndConsumer(kArriveAfterCopies + kCopy, tryWait("w", "0")));
    EXPECT_FALSE(early.harness.threads(64).seed(seed).run().reports.empty());
  }
}

TEST(EmulatorMbarriers, copiesThatCountThemselves) {
  const std::string arriveToo = "call void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3) @bar)\n";
  Copies fixed(producerAndConsumer(kCopy + arriveToo + arrive("a"), tryWait("w", "0")));
  fixed.harness.threads(64).runClean();
  EXPECT_EQ(fixed.out[9], 36u);
}

// ---- sources of copies

/// A copy reads its source at some time until it is waited for.
TEST(EmulatorAsync, overwritingTheSourceOfACopy) {
  const std::string overwrite = "store i32 77, ptr addrspace(1) %from\n";
  const Report early = Copies(copyAndRead(overwrite + kCommit + kWait)).harness.runFaulty(Fault::inFlight);
  EXPECT_EQ(early.parties[0].action, "earlier read");
  EXPECT_EQ(early.object, "in");
  EXPECT_NE(early.text().find("the copy may not have read its source; wait for its group first"), std::string::npos) << early.text();
  Copies late(copyAndRead(kCommit + kWait + overwrite));
  late.harness.runClean();
  EXPECT_EQ(late.out[3], 12u);
}

TEST(EmulatorAsync, aBarrierDoesNotWaitForSourcesOfCopies) {
  const std::string theirs = "%other = xor i32 %n, 4\n%there = getelementptr i32, ptr addrspace(1) %in, i32 %other\n"
                             "store i32 77, ptr addrspace(1) %there\n";
  const Outcome early = Copies(copyAndRead(kCommit + kBarrier + theirs + kWait)).harness.run();
  ASSERT_FALSE(early.reports.empty());
  EXPECT_NE(early.text().find("earlier read by copy engine of thread"), std::string::npos) << early.text();
  Copies(copyAndRead(kCommit + kWait + kBarrier + theirs)).harness.runClean();
}

// ---- polling

namespace {
/// 64 threads arrive at an mbarrier for 'count' and ask for the end of its phase again and again.
std::string pollers(const std::string &count) {
  return R"(
@bar = internal addrspace(3) global [1 x i64] undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 )" +
         count + R"()
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %next
next:
  %round = phi i32 [0, %ready], [%rounds, %passed]
  %phase = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @bar)
  br label %poll
poll:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.scope.cta.space.cta(ptr addrspace(3) @bar, i64 %phase)
  br i1 %done, label %passed, label %poll
passed:
  %rounds = add i32 %round, 1
  %more = icmp ult i32 %rounds, 50
  br i1 %more, label %next, label %end
end:
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %rounds, ptr addrspace(1) %at
  ret void
})";
}
} // namespace

TEST(EmulatorAsync, pollersLetOthersRun) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<uint32_t> out(64);
    EmulatorHarness(pollers("64")).buffer("out", out).threads(64).seed(seed).runClean();
    EXPECT_EQ(out, std::vector<uint32_t>(64, 50)) << "seed " << seed;
  }
}

TEST(EmulatorAsync, pollersWhomNobodyComesToAreStuck) {
  std::vector<uint32_t> out(64);
  EmulatorHarness(pollers("65")).buffer("out", out).threads(64).runFaulty(Fault::deadlock);
}
