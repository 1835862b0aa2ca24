// seeded_kernels_test.cpp - the bugs that kernels of this kind are prone to, put into kernels that
// the compiler made, and what the emulator reports them as. The same kernels without the bug are
// clean.
#include "test/unit/emulator/SeededKernels.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <functional>
#include <map>
using namespace logitile;
using namespace logitile::test;

namespace {
using Schedule = SeededProgram::Schedule;
constexpr int64_t kSixBlocks = 192; // six blocks of the shared axis, more than there are stages
constexpr int64_t kUnaligned = 100; // rows that are no multiples of 16 bytes

struct ProgramChoice {
  Schedule schedule;
  ElementType element;
  int64_t hidden;
  friend auto operator<=>(const ProgramChoice &, const ProgramChoice &) = default;
};
constexpr ProgramChoice kForward{Schedule::Forward, ElementType::BF16, kSixBlocks},
    kForwardF32{Schedule::Forward, ElementType::F32, kSixBlocks}, kForwardUnaligned{Schedule::Forward, ElementType::BF16, kUnaligned},
    kGradients{Schedule::Kept, ElementType::BF16, kSixBlocks}, kInPlace{Schedule::Kept, ElementType::F32, kSixBlocks},
    kBeside{Schedule::Kept, ElementType::F16, kSixBlocks}, kPairs{Schedule::Pairs, ElementType::BF16, 2 * kSixBlocks},
    kPlanes{Schedule::Warpgroups, ElementType::F32, kSixBlocks};

/// Each is compiled once.
const SeededProgram &programOf(const ProgramChoice &choice) {
  static std::map<ProgramChoice, SeededProgram> programs;
  return programs.try_emplace(choice, choice.schedule, choice.element, choice.hidden).first->second;
}

struct Bug {
  const char *name;
  ProgramChoice program;
  const char *kernel; // that is edited
  const char *fault;  // that is reported
  std::function<void(KernelText &)> edit;
  const char *reporter = nullptr; // the kernel that notices, where it is a later one
};
std::ostream &operator<<(std::ostream &stream, const Bug &bug) { return stream << bug.name; }

// ---- edits --------------------------------------------------------------------------------------

constexpr char kBarrier[] = "nvvm\\.barrier0";
// Of a sweep: before copies, before the first fragments are read, in the loop; after copies of an
// operand that is not aligned; before and after the states of warps are written.
constexpr int kBarriers = 6;
enum SweepBarrier { kBeforeCopies, kBeforeFragments, kInLoop, kAfterUnaligned, kBeforeStates, kBeforeJoin };

/// An instruction that all warps but the first run, or the first alone.
std::string forWarps(const std::string &which, const std::string &instruction) {
  return "%seed.thread = nvvm.read.ptx.sreg.tid.x : i32\n%seed.warp = arith.constant 32 : i32\n%seed.runs = arith.cmpi " + which +
         ", %seed.thread, %seed.warp : i32\nscf.if %seed.runs {\n" + instruction + "\n}";
}
std::function<void(KernelText &)> edit(const std::string &pattern, const std::string &replacement, int which = 0, int count = 1) {
  return [=](KernelText &text) { text.replace(pattern, replacement, which, count); };
}
std::function<void(KernelText &)> atBarrier(SweepBarrier barrier, const std::string &replacement) {
  return edit(kBarrier, replacement, barrier, kBarriers);
}

/// Which rows of the right operand exist, before the question whether operands are aligned.
constexpr char kTailOfCopies[] = "arith\\.cmpi ult, (%\\S+), %\\S+ : i32(\n *%\\S+ = arith\\.andi )";
constexpr char kNextSlot[] =
    "(%\\S+) = arith\\.subi (%\\S+), (%\\S+) : i32\n( *%\\S+ = arith\\.cmpi eq, .*\n *%\\S+ = arith\\.select %\\S+), %\\S+, \\1 : i32";
/// Whether there is a block to copy in the loop.
constexpr char kGuardOfPrefetch[] =
    "(arith\\.addi .*\n *%\\S+ = arith\\.cmpi) slt, (%\\S+), %\\S+ : i32(\n *%\\S+ = arith\\.muli )";
constexpr char kFirstCopies[] = "(-> \\(f32.*\\{\n *scf\\.for %\\S+ = )(%\\S+) to %\\S+ step";
constexpr char kWrap[] =
    "(%\\S+) = arith\\.addi (%\\S+), (%\\S+) : i32\n( *%\\S+ = arith\\.cmpi) eq, \\1, (%\\S+) : i32\n( *%\\S+ = arith\\.select)";
constexpr char kAligned[] = "(%\\S+) = arith\\.andi (%\\S+), (%\\S+) : i1\n( *%\\S+ = arith\\.andi)";
constexpr char kStatesOfQuad[] = "(%\\S+) = arith\\.cmpi eq, (%\\S+), %\\S+ : i64\n( *scf\\.if) \\1 ";
/// Before a row is stored.
constexpr char kRowsOfStore[] = "arith\\.cmpi ult, (%\\S+), %\\S+ : i64\n( *scf\\.if .*\n *%\\S+ = arith\\.addi .*\n *%\\S+ = arith\\.muli )";
constexpr char kRemoteArrival[] = "llvm\\.inline_asm .*mbarrier\\.arrive\\.shared::cluster.*\n";
constexpr char kTogether[] = "nvvm\\.cluster\\.arrive \\{aligned\\}\n *nvvm\\.cluster\\.wait \\{aligned\\}";
constexpr char kSwap[] = "arith\\.xori (%\\S+), %\\S+ : i64";

std::vector<Bug> bugsOfWarpgroups() {
  return {
      // pairs of blocks
      {"noArrivalAtTheOtherBlock", kPairs, "forward0", "deadlock", edit(kRemoteArrival, "", 0, 2)},
      {"noArrivalAtTheOwnBlock", kPairs, "z_hidden", "deadlock", edit("(%\\S+) = nvvm\\.mbarrier\\.arrive (%\\S+) : .*\n", "", 0, 2)},
      {"aBlockDoesNotWaitForTheOther", kPairs, "z_weight", "barrier-misuse", edit(kTogether, "nvvm.barrier0", 0, 2)},
      {"aBlockEndsBeforeTheOther", kPairs, "z_hidden", "barrier-misuse", edit(kTogether, "", 1, 2)},
      {"aHalfForOneBlock", kPairs, "z_hidden", "deadlock",
       edit("(arith\\.select %\\S+), %\\S+, (%\\S+) : i64(\n.*\n.*\n *%\\S+ = arith\\.trunci %\\S+ : i64 to i16)", "$1, $2, $2 : i64$3")},
      // planes that warpgroups multiply
      {"noFenceBeforePlanesAreMultiplied", kPlanes, "forward0", "proxy-fence", edit("nvvm\\.fence\\.proxy .*\n", "", 1, 3)},
      {"noBarrierBeforePlanesAreMultiplied", kPlanes, "forward0", "race", edit(kBarrier, "", 1, 4)},
      {"planesIntoThoseOfProductsUnderWay", kPlanes, "z_weight", "race", edit("arith\\.xori (%\\S+), %\\S+ : i32", "arith.ori $1, $1 : i32")},
      {"sumsBeforeProductsAreDone", kPlanes, "z_hidden", "in-flight", edit("wait_group(\\S+) 0", "wait_group$1 1", 0, 2)},
      // boxes that are written
      {"noFenceBeforeBoxes", kPairs, "z_weight", "proxy-fence", edit("nvvm\\.fence\\.proxy .*\n( *nvvm\\.bar\\.warp)", "$1")},
      {"noWarpBarrierBeforeBoxes", kPairs, "z_weight", "race", edit("nvvm\\.bar\\.warp\\.sync .*\n", "", 0, 1)},
      {"endsBeforeBoxesAreRead", kPairs, "z_weight", "misuse", edit("nvvm\\.cp\\.async\\.bulk\\.wait_group 0 \\{read\\}(\n *llvm\\.return)", "$1")},
  };
}

std::vector<Bug> bugsOfWarps() {
  return {
      // the pipeline
      {"noWait", kForward, "forward0", "in-flight", edit("nvvm\\.cp\\.async\\.wait\\.group 2", "", 1, 2)},
      {"waitOneStageEarly", kForward, "forward0", "in-flight", edit("wait\\.group 2", "wait.group 3", 1, 2)},
      {"waitOneStageEarlyInAContraction", kGradients, "z_weight", "in-flight", edit("wait\\.group 2", "wait.group 3", 1, 2)},
      {"copiesNotCommitted", kForward, "forward0", "in-flight", edit("nvvm\\.cp\\.async\\.commit\\.group", "", 1, 3)},
      {"noBarrierInTheLoop", kForward, "forward0", "race", atBarrier(kInLoop, "")},
      {"noBarrierInTheLoopOfAContraction", kGradients, "z_hidden", "race", edit(kBarrier, "", 2, 4)},
      {"barrierOfAWarpOnly", kForward, "forward0", "race",
       atBarrier(kInLoop, "%seed.all = arith.constant -1 : i32\nnvvm.bar.warp.sync %seed.all : i32")},
      {"noBarrierBeforePlanesAreRead", kForwardF32, "forward0", "race", edit(kBarrier, "", 1, 6)},
      {"planesIntoTheLiveSlot", kForwardF32, "forward0", "race", edit("arith\\.xori (%\\S+), %\\S+ : i32", "arith.ori $1, $1 : i32")},
      {"prefetchIntoTheLiveStage", kForward, "forward0", "race", edit(kNextSlot, "$1 = arith.subi $2, $3 : i32\n$4, $2, $2 : i32")},
      {"ringOneStageTooLong", kForward, "forward0", "out-of-bounds", edit(kWrap, "$1 = arith.addi $2, $3 : i32\n$4 ugt, $1, $5 : i32\n$6")},
      {"nothingCopiedAhead", kForward, "forward0", "uninitialised", edit(kFirstCopies, "$1$2 to $2 step")},
      // where operands end
      {"prefetchPastTheEnd", kForward, "forward0", "out-of-bounds", edit(kGuardOfPrefetch, "$1 sge, $2, $2 : i32$3")},
      {"noTailOfCopies", kForward, "forward0", "out-of-bounds", edit(kTailOfCopies, "arith.cmpi uge, $1, $1 : i32$2")},
      {"noTailOfStores", kGradients, "z_weight", "out-of-bounds", edit(kRowsOfStore, "arith.cmpi uge, $1, $1 : i64\n$2", 1, 4)},
      {"misalignedCopies", kForwardUnaligned, "forward0", "misaligned", edit(kAligned, "$1 = arith.ori $2, $3 : i1\n$4")},
      {"sharedMemoryTooSmall", kForward, "forward0", "out-of-bounds", edit("\\[256\\] : ", "[16896000] : ")},
      // reductions over shared memory
      {"noBarrierBeforeAReduction", kForward, "forward0", "race", atBarrier(kBeforeJoin, "")},
      {"noBarrierBeforeASumOfTokens", kBeside, "gradient", "race", edit(kBarrier, "", 1, 2)},
      {"noBarrierBeforeTheNextSumOfTokens", kBeside, "gradient", "race", edit(kBarrier, "", 0, 2)},
      {"noBarrierBeforeASharedRowStateIsRead", kGradients, "forward0", "race", edit(kBarrier, "", 5, 8)},
      {"allLanesOfAQuadStore", kForward, "forward0", "race", edit(kStatesOfQuad, "$1 = arith.cmpi eq, $2, $2 : i64\n$3 $1 ", 0, 4)},
      // whole warps and blocks
      {"aWarpSkipsABarrier", kForward, "forward0", "race", atBarrier(kInLoop, forWarps("uge", "nvvm.barrier0"))},
      {"aWarpHasOneBarrierMore", kForward, "forward0", "race", atBarrier(kInLoop, "nvvm.barrier0\n" + forWarps("ult", "nvvm.barrier0"))},
      {"aWarpLeavesEarly", kForward, "forward0", "uninitialised",
       edit("(llvm\\.func .*\n)", "$1%seed.thread = nvvm.read.ptx.sreg.tid.x : i32\n%seed.warp = arith.constant 32 : i32\n"
                                  "%seed.ends = arith.cmpi ult, %seed.thread, %seed.warp : i32\nllvm.cond_br %seed.ends, ^end, ^work\n"
                                  "^end:\nllvm.return\n^work:\n")},
      {"aLaneIsNotInItsMask", kForward, "forward0", "divergence",
       edit("(%\\S+) = nvvm\\.shfl\\.sync  bfly %\\S+,", "%seed.mask = arith.constant 1 : i32\n$1 = nvvm.shfl.sync  bfly %seed.mask,", 0,
            32)},
      // global memory
      {"everyThreadCopiesEverything", kForward, "pack_z_rows", "race", edit("(scf\\.for %\\S+ = )%\\S+ to", "$1%tokens to")},
      {"twoBlocksMakeOneTile", kForward, "forward0", "race",
       edit("(sreg\\.ctaid\\.x : i32.*\n)( *%\\S+) = arith\\.extui (%\\S+) : i32 to i64",
            "$1%seed.one = arith.constant 1 : i32\n%seed.half = arith.shrui $3, %seed.one : i32\n$2 = arith.extui %seed.half : i32 to i64")},
      {"noBarrierBeforeGradientsInPlace", kInPlace, "gradient", "race", edit(kBarrier, "", 0, 3)},
      {"aLogitIsNotKept", kBeside, "forward0", "uninitialised", edit("llvm\\.store %\\S+, %\\S+ .* : vector<2xf32>, !llvm\\.ptr<1>", "", 1, 8),
       "gradient"},
  };
}

std::vector<Bug> allBugs() {
  std::vector<Bug> bugs = bugsOfWarps();
  std::ranges::copy(bugsOfWarpgroups(), std::back_inserter(bugs));
  return bugs;
}

class SeededKernels : public testing::TestWithParam<Bug> {};
} // namespace

TEST_P(SeededKernels, AreReported) {
  const Bug &bug = GetParam();
  const SeededProgram &program = programOf(bug.program);
  KernelText text(program.device, bug.kernel);
  bug.edit(text);
  const Status status = SeededCall(program, text.text()).run();
  ASSERT_FALSE(status.isOk()) << "nothing is reported";
  const std::string told = status.error().text;
  EXPECT_TRUE(faultsIn(status).contains(bug.fault)) << told;
  EXPECT_NE(told.find("faults in kernel '" + std::string(bug.reporter ? bug.reporter : bug.kernel) + "'"), std::string::npos) << told;
}
INSTANTIATE_TEST_SUITE_P(All, SeededKernels, testing::ValuesIn(allBugs()), [](const auto &info) { return std::string(info.param.name); });

TEST(UnseededKernels, AreCleanInAnyOrder) {
  for (const ProgramChoice &choice : {kForward, kForwardF32, kForwardUnaligned, kGradients, kInPlace, kBeside, kPairs, kPlanes}) {
    SeededCall call(programOf(choice), programOf(choice).device);
    for (uint64_t seed : {0, 1, 2}) {
      const Status status = call.run(seed);
      EXPECT_TRUE(status.isOk()) << status.error().text;
    }
  }
}

// ---- bugs that are no faults of memory ----------------------------------------------------------

/// What copies and fragments trade must be the same: then a wrong swizzle shows in the numbers.
TEST(SeededSwizzles, OnOneSideMakeOtherNumbers) {
  const SeededProgram &program = programOf(kForward);
  SeededCall right(program, program.device);
  ASSERT_TRUE(right.run().isOk());
  KernelText text(program.device, "forward0");
  text.replace(kSwap, "arith.addi $1, %tokens : i64", 0, 14); // where this thread copies the left operand to; %tokens is 0
  SeededCall wrong(program, text.text());
  ASSERT_TRUE(wrong.run().isOk());
  EXPECT_NE(right.results(), wrong.results());
}

/// Without any the numbers are right, and lanes meet in memory banks: the kernels have no conflict,
/// these have.
TEST(SeededSwizzles, NoneAtAllMeansBankConflicts) {
  const SeededProgram &program = programOf(kForward);
  SeededCall right(program, program.device);
  ASSERT_TRUE(right.run().isOk());
  KernelText text(program.device, "forward0");
  for (int left = 14; left > 0; --left)
    text.replace(kSwap, "arith.addi $1, %tokens : i64", 0, left);
  SeededCall wrong(program, text.text());
  ASSERT_TRUE(wrong.run().isOk());
  EXPECT_EQ(right.results(), wrong.results());
  auto conflicts = [](const SeededCall &call) {
    uint64_t sum = 0;
    for (const KernelUse &kernel : call.report.kernels)
      sum += kernel.counters->bankConflicts;
    return sum;
  };
  EXPECT_EQ(conflicts(right), 0u);
  EXPECT_GT(conflicts(wrong), 0u);
}
