// mbarriers_test.cpp - the rarer forms of arrivals and waits, announced bytes, registers that warps
// hand over. The protocol of phases is in emulator_async_test.cpp.
#include "test/unit/emulator/EmulatorHarness.h"
#include <algorithm>
using namespace logitile::emulator;

namespace {
std::string kernel(const std::string &code, const std::string &attributes = "") {
  return "@bar = internal addrspace(3) global [2 x i64] undef, align 8\n"
         "define ptx_kernel void @k(ptr addrspace(1) %out) " +
         attributes + " {\n" + code + "\nret void\n}";
}
std::string init(const std::string &count) { return "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 " + count + ")\n"; }
std::string arrival(const std::string &name, const std::string &form, const std::string &operand = "") {
  return "%" + name + " = call i64 @llvm.nvvm.mbarrier.arrive" + form + "(ptr addrspace(3) @bar" + operand + ")\n";
}
std::string waitFor(const std::string &name, const std::string &parity) {
  return "%" + name + " = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 " + parity + ")\n";
}
std::string bytes(const std::string &what, const std::string &count) {
  return "call void @llvm.nvvm.mbarrier." + what + ".tx.scope.cta.space.cta(ptr addrspace(3) @bar, i32 " + count + ")\n";
}
Report faultOf(const std::string &code, Fault fault, const std::string &attributes = "", uint32_t threads = 1) {
  std::vector<uint32_t> out(4);
  return EmulatorHarness(kernel(code, attributes)).buffer("out", out).threads(threads).runFaulty(fault);
}
uint32_t cleanOf(const std::string &code, const std::string &attributes = "", uint32_t threads = 1) {
  std::vector<uint32_t> out(4);
  EmulatorHarness(kernel(code, attributes)).buffer("out", out).threads(threads).runClean();
  return out[0];
}
void expectDetail(const Report &report, const std::string &text) { EXPECT_NE(report.detail.find(text), std::string::npos) << report.text(); }
} // namespace

TEST(EmulatorArrivals, withoutCompletion) {
  cleanOf(init("3") + arrival("a", ".noComplete.shared", ", i32 2") + arrival("b", ".shared") + waitFor("w", "0"));
  expectDetail(faultOf(init("2") + arrival("a", ".noComplete.shared", ", i32 2"), Fault::barrierMisuse), "is the last of its phase");
}

TEST(EmulatorArrivals, droppedOnesAreNotExpectedAgain) {
  const std::string first = init("2") + arrival("a", ".drop.shared") + arrival("b", ".shared") + waitFor("v", "0");
  cleanOf(first + arrival("c", ".shared") + waitFor("w", "1"));
  faultOf(init("2") + arrival("a", ".shared") + arrival("b", ".shared") + arrival("c", ".shared") + waitFor("w", "1"), Fault::deadlock);
}

TEST(EmulatorArrivals, statesTellWhatIsPending) {
  const std::string tell = "%n = call i32 @llvm.nvvm.mbarrier.pending.count(i64 %b)\nstore i32 %n, ptr addrspace(1) %out\n";
  EXPECT_EQ(cleanOf(init("5") + arrival("a", ".shared") + arrival("b", ".shared") + tell), 4u);
}

TEST(EmulatorArrivals, ofNobody) {
  expectDetail(faultOf(init("2") + arrival("a", ".scope.cta.space.cta", ", i32 0"), Fault::barrierMisuse), "counts at least 1");
}

TEST(EmulatorArrivals, relaxedOnesOrderNothing) {
  auto body = [](const std::string &form) {
    return "@word = internal addrspace(3) global i32 undef, align 4\n" +
           kernel("%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n%first = icmp eq i32 %tid, 0\nbr i1 %first, label %one, label %ready\n"
                  "one:\n" +
                  init("1") +
                  "br label %ready\nready:\ncall void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\nbr i1 %first, label %give, label %take\n"
                  "give:\nstore i32 7, ptr addrspace(3) @word\n" +
                  arrival("a", form, ", i32 1") + "br label %end\ntake:\n" + waitFor("w", "0") +
                  "%r = load i32, ptr addrspace(3) @word\nstore i32 %r, ptr addrspace(1) %out\nbr label %end\nend:\n");
  };
  std::vector<uint32_t> out(1);
  EmulatorHarness(body(".scope.cta.space.cta")).buffer("out", out).threads(2).runClean();
  EXPECT_EQ(out[0], 7u);
  EmulatorHarness(body(".relaxed.scope.cta.space.cta")).buffer("out", out).threads(2).runFaulty(Fault::race);
}

TEST(EmulatorArrivals, bytesMayComeBeforeTheyAreAnnounced) {
  cleanOf(init("1") + bytes("complete", "16") + bytes("expect", "16") + arrival("a", ".shared") + waitFor("w", "0"));
  faultOf(init("1") + bytes("expect", "16") + arrival("a", ".shared") + waitFor("w", "0"), Fault::deadlock);
  expectDetail(faultOf(init("1") + bytes("expect", "1048576"), Fault::barrierMisuse), "can for 1048575 at most");
}

TEST(EmulatorArrivals, countsHaveABound) {
  expectDetail(faultOf(init("1048576"), Fault::barrierMisuse), "not one of 1 to 1048575");
}

TEST(EmulatorArrivals, invalidatedWhileOthersWait) {
  const std::string code = "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n%first = icmp eq i32 %tid, 0\n"
                           "br i1 %first, label %one, label %ready\none:\n" +
                           init("2") + "br label %ready\nready:\ncall void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n" +
                           "br i1 %first, label %wait, label %drop\nwait:\n" + waitFor("w", "0") +
                           "br label %end\ndrop:\ncall void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @bar)\nbr label %end\nend:\n";
  std::vector<uint32_t> out(4);
  for (uint64_t seed : {0, 1, 2, 3}) { // who comes first depends on the schedule
    const Outcome outcome = EmulatorHarness(kernel(code)).buffer("out", out).threads(2).seed(seed).run();
    EXPECT_TRUE(std::ranges::any_of(outcome.reports, [](const Report &report) { return report.fault == Fault::barrierMisuse; }))
        << outcome.text();
  }
}

TEST(EmulatorArrivals, waitsWithATimeLimit) {
  const std::string wait = "%w = call i1 @llvm.nvvm.mbarrier.try.wait.parity.tl.scope.cta.space.cta(ptr addrspace(3) @bar, i32 0, i32 100)\n"
                           "%r = zext i1 %w to i32\nstore i32 %r, ptr addrspace(1) %out\n";
  EXPECT_EQ(cleanOf(init("1") + arrival("a", ".shared") + wait), 1u);
}

// ---- registers and launches

namespace {
std::string registers(const std::string &direction, const std::string &count) {
  return "call void @llvm.nvvm.setmaxnreg." + direction + ".sync.aligned.u32(i32 " + count + ")\n";
}
const std::string kThreads = "\"nvvm.reqntid\"=\"384\"";
/// Warps 0 to 3 give registers back, the others take some.
std::string handOver(const std::string &most) {
  return "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n%gives = icmp ult i32 %tid, 128\nbr i1 %gives, label %give, label %take\ngive:\n" +
         registers("dec", "24") + "br label %end\ntake:\n" + registers("inc", most) + "br label %end\nend:\n";
}
} // namespace

TEST(EmulatorRegisters, goFromWarpToWarp) {
  cleanOf(handOver("240"), kThreads, 384);
  faultOf(handOver("248"), Fault::deadlock, kThreads, 384);
}

TEST(EmulatorRegisters, countsThatCannotBe) {
  expectDetail(faultOf(registers("dec", "100"), Fault::misuse, kThreads, 384), "100 registers are no multiple of 8 from 24 to 256");
  expectDetail(faultOf(registers("dec", "240"), Fault::misuse, kThreads, 384), ".dec to 240 registers, but the warp has 168");
  expectDetail(faultOf(registers("inc", "40"), Fault::misuse, kThreads, 384), ".inc to 40 registers, but the warp has 168");
  expectDetail(faultOf(registers("dec", "24"), Fault::misuse), "so ptxas ignores the instruction");
  cleanOf(registers("dec", "24"), "\"nvvm.maxnreg\"=\"64\"", 32);
}

TEST(EmulatorLaunches, dependenciesHoldAnyway) {
  cleanOf("call void @llvm.nvvm.griddepcontrol.wait()\ncall void @llvm.nvvm.griddepcontrol.launch.dependents()\n");
}
