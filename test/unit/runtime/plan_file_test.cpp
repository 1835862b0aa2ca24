// plan_file_test.cpp - plans survive the way through bytes, and damaged bytes are refused.
#include "runtime/plan/PlanFile.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"
#include <random>
using namespace logitile;
using namespace logitile::test;
using Gradients = PlanOptions::Gradients;

static PlanOptions everything() {
  PlanOptions options{Gradients::Split, -3, 2, 1, true, false, true};
  options.accumulates = true;
  return options;
}

TEST(PlanFile, BytesOfBytesAreTheSame) {
  for (const PlanOptions &options : {everything(), PlanOptions{Gradients::Early, 0, kVocabSplits, 0}, PlanOptions{Gradients::None}}) {
    std::string bytes = writePlan(makePlan(options), {});
    Result<SavedPlan> plan = readPlan(bytes);
    ASSERT_TRUE(plan.isOk()) << plan.status().error().text;
    EXPECT_EQ(writePlan(plan->plan, plan->rules), bytes);
  }
}
TEST(PlanFile, EveryFieldIsThere) {
  // A plan whose every field differs from its default.
  LaunchPlan plan = makePlan(everything());
  plan.tokensFirst = 3;
  plan.tokensEnd = 1234567890123;
  plan.kernels[0].grid[0].upper.cap = 77;
  plan.kernels[0].code = "another";
  plan.kernels[0].scratchBytes = 4096;
  plan.kernels[0].threads = 256;
  plan.kernels[0].sharedBytes = 65536;
  plan.kernels[0].tensorMaps = {{0, 64, 128}, {1, 16, 8}};
  plan.kernels[0].work.matrixInstructions = {{12, {plan.kernels[0].grid[0]}}};
  plan.kernels[0].work.globalBytes = {{34, {}}, {56, {}, 7}};
  plan.gradients[4].buffers.push_back(-1);
  plan.inputs[1].entries = 5;
  plan.projections[0].element = plan.projections[0].hiddenMemory = ElementType::BF16;
  Result<SavedPlan> saved = readPlan(writePlan(plan, CallRules{Reduction::Sum, "target", -7, true}));
  ASSERT_TRUE(saved.isOk());
  const LaunchPlan *read = &saved->plan;
  EXPECT_EQ(read->name, plan.name);
  EXPECT_EQ(read->target, plan.target);
  EXPECT_EQ(read->tokensFirst, 3);
  EXPECT_EQ(read->tokensEnd, 1234567890123);
  EXPECT_EQ(read->stored, plan.stored);
  EXPECT_TRUE(read->isSplit);
  EXPECT_EQ(read->projections.at(0).hidden, kHidden);
  EXPECT_EQ(read->projections.at(0).element, ElementType::BF16);
  EXPECT_EQ(read->projections.at(0).hiddenMemory, ElementType::BF16);
  EXPECT_EQ(read->projections.at(0).weightMemory, ElementType::F32);
  EXPECT_TRUE(read->inputs.at(0).isIndex);
  EXPECT_EQ(read->inputs.at(1).entries, 5);
  EXPECT_EQ(read->kernels.at(0).grid.at(0).upper.cap, 77);
  ASSERT_EQ(read->kernels.at(0).tensorMaps.size(), 2u);
  EXPECT_EQ(read->kernels.at(0).tensorMaps[1].argument, 1);
  EXPECT_EQ(read->kernels.at(0).tensorMaps[1].columns, 16);
  EXPECT_EQ(read->kernels.at(0).tensorMaps[1].rows, 8);
  EXPECT_FALSE(read->kernels.at(0).grid.at(0).upper.isConstant);
  EXPECT_EQ(read->kernels.at(0).function(), "another");
  EXPECT_EQ(read->kernels.at(1).function(), plan.kernels[1].name);
  EXPECT_EQ(read->kernels.at(0).scratchBytes, 4096);
  EXPECT_EQ(read->kernels.at(0).threads, 256);
  EXPECT_EQ(read->kernels.at(0).sharedBytes, 65536);
  EXPECT_EQ(read->kernels.at(0).work.matrixInstructions.at(0).amount, 12);
  EXPECT_EQ(read->kernels.at(0).work.matrixInstructions.at(0).axes.at(0).upper.cap, 77);
  EXPECT_EQ(read->kernels.at(0).work.globalBytes.at(1).amount, 56);
  EXPECT_EQ(read->kernels.at(0).work.globalBytes.at(1).share, 7);
  EXPECT_EQ(read->gradients.at(4).buffers, plan.gradients[4].buffers);
  EXPECT_TRUE(read->gradients.at(1).accumulates);
  EXPECT_EQ(read->checkedIndices, plan.checkedIndices);
  EXPECT_EQ(read->forward.at(0).step, -3);
  EXPECT_EQ(read->forward.at(0).body.size(), plan.forward[0].body.size());
  EXPECT_EQ(read->code, plan.code);
  ASSERT_TRUE(saved->rules);
  EXPECT_EQ(saved->rules->reduction, Reduction::Sum);
  EXPECT_EQ(saved->rules->ignore, "target");
  EXPECT_EQ(saved->rules->ignoreIndex, -7);
  EXPECT_TRUE(saved->rules->isZeroWhenAllIgnored);
}
TEST(PlanFile, APlanFromBytesRuns) {
  PlanOptions options{Gradients::Split, 8, 2, 1};
  Result<SavedPlan> plan = readPlan(writePlan(makePlan(options), {}));
  ASSERT_TRUE(plan.isOk());
  TestCall call({3, 9});
  std::unique_ptr<Saved> saved;
  ASSERT_TRUE(call.forward(load(plan->plan), &saved).isOk());
  ASSERT_TRUE(call.backward(*saved).isOk());
  call.expectRight(options, true);
}

// ---- damage -------------------------------------------------------------------------------------

constexpr size_t kMagicAndVersion = 14 + 8;

/// A plan without code: fewer bytes to try.
static std::string smallPlan() {
  LaunchPlan plan = makePlan({Gradients::None, 8});
  plan.code = "code";
  return writePlan(plan, CallRules());
}
TEST(PlanFile, EveryTruncationIsRefused) {
  std::string bytes = smallPlan();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Result<SavedPlan> plan = readPlan(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(plan.isOk()) << size;
    EXPECT_EQ(plan.status().error().code, ErrorCode::Value);
  }
  EXPECT_FALSE(readPlan(bytes + '\0').isOk());
}
TEST(PlanFile, EveryFlippedBitIsRefused) {
  std::string bytes = smallPlan();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= 1 << bit % 8;
    ASSERT_FALSE(readPlan(bytes).isOk()) << bit;
    bytes[bit / 8] ^= 1 << bit % 8;
  }
  EXPECT_TRUE(readPlan(bytes).isOk());
}
/// The file of a body that is not what the writer made: a right length and checksum before it.
static std::string sealed(const std::string &body) {
  std::string bytes = smallPlan().substr(0, kMagicAndVersion);
  for (uint64_t word : {uint64_t(body.size()), uint64_t(llvm::xxh3_64bits(llvm::StringRef(body)))})
    for (int shift = 0; shift < 64; shift += 8)
      bytes += static_cast<char>(word >> shift);
  return bytes + body;
}
TEST(PlanFile, WrongFieldsWithARightChecksumDoNoHarm) {
  std::string good = smallPlan().substr(kMagicAndVersion + 16);
  ASSERT_TRUE(readPlan(sealed(good)).isOk());
  std::mt19937 generator(7);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string body = good;
    for (int i = 0; i <= round % 3; ++i)
      body[generator() % body.size()] = static_cast<char>(round % 2 ? generator() : 0xff);
    refused += !readPlan(sealed(body)).isOk();
  }
  EXPECT_GT(refused, 2500); // the others changed a number or a name, which only loading can judge
}
TEST(PlanFile, TextsSayWhy) {
  auto reason = [](const std::string &bytes) { return readPlan(bytes).status().error().text; };
  std::string bytes = smallPlan();
  EXPECT_NE(reason("hello").find("do not start like one"), std::string::npos);
  EXPECT_NE(reason(bytes.substr(0, bytes.size() - 1)).find("cut off"), std::string::npos);
  std::string damaged = bytes;
  damaged.back() ^= 1;
  EXPECT_NE(reason(damaged).find("checksum"), std::string::npos);
  std::string other = bytes;
  other[std::string_view("logitile plan\n").size()] = 13;
  EXPECT_NE(reason(other).find("they have format 13, not 14"), std::string::npos);
}
