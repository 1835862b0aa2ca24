// ptx_test.cpp - how the emulator reads inline PTX: what it knows, as the PTX ISA has it, and what
// it refuses.
#include "emulator/core/Families.h"
#include "emulator/lowering/InlinePtx.h"
#include <gtest/gtest.h>
using namespace logitile::emulator;

namespace {
/// Bytes of the copy that a text makes, and whether an operand says how many of them the source
/// has.
struct Copy {
  uint32_t bytes;
  bool hasSourceBytes;
  bool operator==(const Copy &) const = default;
};
std::optional<Copy> copyOf(std::string_view text, uint32_t inputs) {
  const std::optional<Instruction> read = readPtx(text, inputs);
  if (!read)
    return std::nullopt;
  EXPECT_EQ(read->thread, copyAsync) << text;
  EXPECT_EQ(read->meeting, Meeting::none) << text;
  return Copy{read->modifiers[0], read->modifiers[1] != 0};
}
} // namespace

TEST(EmulatorPtx, copiesOfAllSizes) {
  EXPECT_EQ(copyOf("cp.async.ca.shared.global [$0], [$1], 4;", 2), (Copy{4, false}));
  EXPECT_EQ(copyOf("cp.async.ca.shared.global [$0], [$1], 8;", 2), (Copy{8, false}));
  EXPECT_EQ(copyOf("cp.async.ca.shared.global [$0], [$1], 16;", 2), (Copy{16, false}));
  EXPECT_EQ(copyOf("cp.async.cg.shared.global [$0], [$1], 16;", 2), (Copy{16, false}));
}

TEST(EmulatorPtx, copiesOfAPartOfTheSource) {
  EXPECT_EQ(copyOf("cp.async.ca.shared.global [$0], [$1], 4, $2;", 3), (Copy{4, true}));
  EXPECT_EQ(copyOf("cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;", 3), (Copy{16, true}));
}

TEST(EmulatorPtx, modifiersThatChangeNoValue) {
  for (const char *text : {"cp.async.cg.shared::cta.global [$0], [$1], 16;", "cp.async.cg.shared.global.L2::64B [$0], [$1], 16;",
                           "cp.async.cg.shared.global.L2::128B [$0], [$1], 16;", "cp.async.cg.shared.global.L2::256B [$0], [$1], 16;",
                           "  cp.async.cg.shared.global\t[$0] ,[$1],\n16 ; "})
    EXPECT_EQ(copyOf(text, 2), (Copy{16, false})) << text;
}

TEST(EmulatorPtx, sizesThatNoCopyHas) {
  for (const char *size : {"2", "12", "32", "$2", "16x", "-4", ""})
    EXPECT_FALSE(copyOf(std::string("cp.async.ca.shared.global [$0], [$1], ") + size + ";", 2)) << size;
  EXPECT_FALSE(copyOf("cp.async.cg.shared.global [$0], [$1], 8;", 2));
}

TEST(EmulatorPtx, operandsInAnotherPlaceOrNumber) {
  for (const char *text : {"cp.async.cg.shared.global [$1], [$0], 16;", "cp.async.cg.shared.global $0, [$1], 16;",
                           "cp.async.cg.shared.global [$0+16], [$1], 16;", "cp.async.cg.shared.global [$0], [$1];",
                           "cp.async.cg.shared.global [$0], [$1], 16, $2;", "cp.async.cg.shared.global;"})
    EXPECT_FALSE(copyOf(text, 2)) << text;
  for (const char *text : {"cp.async.cg.shared.global [$0], [$1], 16;", "cp.async.cg.shared.global [$0], [$1], 16, 8;",
                           "cp.async.cg.shared.global [$0], [$1], 16, $2, $3;"})
    EXPECT_FALSE(copyOf(text, 3)) << text;
}

TEST(EmulatorPtx, modifiersThatItDoesNotKnow) {
  for (const char *opcode :
       {"cp.async.shared.global", "cp.async.cg.global.shared", "cp.async.cg.shared::cluster.global", "cp.async.cg.shared.global.L2::32B",
        "cp.async.cg.shared.global.L2::cache_hint", "cp.async.cg.shared.global.L2::128B.L2::128B", "cp.async.cg.shared", "cp.sync.cg", "cp",
        "cp.async.bulk.shared::cta.global", "@$2 cp.async.cg.shared.global", "ld.global"})
    EXPECT_FALSE(readPtx(std::string(opcode) + " [$0], [$1], 16;", 2)) << opcode;
}

TEST(EmulatorPtx, oneStatementAlone) {
  for (const char *text : {"", ";", "cp.async.cg.shared.global [$0], [$1], 16",
                           "cp.async.cg.shared.global [$0], [$1], 16; cp.async.commit_group;",
                           "{ cp.async.cg.shared.global [$0], [$1], 16; }", "; cp.async.cg.shared.global [$0], [$1], 16;"})
    EXPECT_FALSE(readPtx(text, 2)) << text;
}

TEST(EmulatorPtx, barriersOfSomeThreads) {
  for (const char *text : {"bar.arrive $0, $1;", "bar.sync $0, $1;", "bar.cta.sync $0, $1;"}) {
    const std::optional<Instruction> read = readPtx(text, 2);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->thread, blockBarrier) << text;
    const bool arrives = std::string_view(text).find("arrive") != std::string_view::npos;
    EXPECT_EQ(read->modifiers[1], uint32_t(arrives ? BarrierAction::arrive : BarrierAction::sync)) << text;
  }
  for (const char *text : {"bar.sync $1, $0;", "bar.sync $0;", "bar.red.popc.u32 $0, $1;", "bar.warp.sync $0;", "barrier.sync $0, $1;"})
    EXPECT_FALSE(readPtx(text, 2)) << text;
  EXPECT_FALSE(readPtx("bar.sync $0, $1;", 1));
}

TEST(EmulatorPtx, arrivalsInTheCluster) {
  for (const char *text : {"mbarrier.arrive.shared::cluster.b64 _, [$0];", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];"}) {
    const std::optional<Instruction> read = readPtx(text, 1);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->thread, mbarrierArriveInCluster) << text;
  }
  for (const char *text :
       {"mbarrier.arrive.shared::cluster.b64 $0, [$0];", "mbarrier.arrive.shared::cta.b64 _, [$0];", "mbarrier.arrive.b64 _, [$0];",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [$0];", "mbarrier.arrive.shared::cluster.b64 _, [$0], 2;"})
    EXPECT_FALSE(readPtx(text, 1)) << text;
}

TEST(EmulatorPtx, sumsOfSeveralNumbers) {
  for (const char *text : {"red.global.add.v2.f32 [$0], {$1, $2};", "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};"}) {
    const std::optional<Instruction> read = readPtx(text, 3);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->thread, addVector) << text;
    EXPECT_EQ(read->operands, std::vector<uint32_t>{2}) << text;
  }
  EXPECT_TRUE(readPtx("red.global.add.v4.f32 [$0], {$1, $2, $3, $4};", 5));
  for (const char *text : {"red.global.add.v2.f32 [$0], {$2, $1};", "red.global.add.f32 [$0], {$1, $2};",
                           "red.global.add.v2.bf16x2 [$0], {$1, $2};", "red.global.min.v2.f32 [$0], {$1, $2};"})
    EXPECT_FALSE(readPtx(text, 3)) << text;
}
