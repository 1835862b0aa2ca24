// refusals_test.cpp - what calls refuse, in which words, and that a refused call does not harm the
// next one.
#include "runtime/cpu/CpuDevice.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include "gtest/gtest.h"
#include <cmath>
using namespace logitile;
using namespace logitile::test;
using Gradients = PlanOptions::Gradients;

namespace {
class CallRefusal : public testing::Test {
protected:
  const PlanOptions options{Gradients::Early, 8, 0, 1};
  std::shared_ptr<const LoadedPlan> plan = load(makePlan(options));

  /// The call must fail like this; the same call mended must work.
  void expectRefused(TestCall &call, ErrorCode code, const std::string &text) {
    Status status = call.forward(plan);
    ASSERT_FALSE(status.isOk());
    EXPECT_EQ(status.error().text, text);
    EXPECT_EQ(status.error().code, code);
    TestCall good({9});
    ASSERT_TRUE(good.forward(plan).isOk());
    good.expectRight(options, true);
  }
};
} // namespace

// ---- indices ------------------------------------------------------------------------------------

TEST_F(CallRefusal, IndexBeyondTheVocabulary) {
  TestCall call({4, 5});
  call.target.set(17, 23);
  expectRefused(call, ErrorCode::Index, "'target'[3, 2] is 23, outside the vocabulary of 23 entries: it must be 0 to 22");
}
TEST_F(CallRefusal, NegativeIndex) {
  TestCall call({6});
  call.target.set(5, -1);
  call.options.ignore = "target";
  call.options.ignoreIndex = -100;
  call.target.set(0, -100);
  expectRefused(call, ErrorCode::Index, "'target'[5] is -1, outside the vocabulary of 23 entries: it must be 0 to 22 or ignore_index -100");
}
TEST_F(CallRefusal, IndexThatIsInsideAfterNarrowing) {
  TestCall call({2});
  call.target.set(1, 4294967296.0 + 3); // 3 in 32 bits
  expectRefused(call, ErrorCode::Index, "'target'[1] is 4294967299, outside the vocabulary of 23 entries: it must be 0 to 22");
}
TEST_F(CallRefusal, IndexWithoutAxes) {
  TestCall call({});
  call.target.set(0, 99);
  call.setReduction(Reduction::Sum);
  expectRefused(call, ErrorCode::Index, "'target' is 99, outside the vocabulary of 23 entries: it must be 0 to 22");
}
TEST_F(CallRefusal, UnsignedIndexBeyondSignedNumbers) {
  TestCall call({3});
  call.target = TestArray("target", ElementType::U64, {3});
  call.target.fill(1);
  call.target.set(2, 18446744073709549568.0);
  call.options.ignore = "target";
  call.options.ignoreIndex = -2048; // the same bits
  expectRefused(call, ErrorCode::Index,
                "'target'[2] is 18446744073709549568, outside the vocabulary of 23 entries: it must be 0 to 22 or ignore_index -2048");
}
TEST_F(CallRefusal, IgnoredTokensMayHoldAnything) {
  TestCall call({6});
  call.target.set(2, 1e12);
  call.options.ignore = "target";
  call.options.ignoreIndex = 1000000000000;
  ASSERT_TRUE(call.forward(plan).isOk());
  call.expectRight(options, true);
}
TEST_F(CallRefusal, ComputedIndex) {
  PlanOptions computing{Gradients::Early, 8, 0, 1, false, false, /*hasIndex=*/true};
  std::shared_ptr<const LoadedPlan> plan = load(makePlan(computing));
  TestCall call({4, 5});
  call.target.set(13, 18);
  Status status = call.forward(plan);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.error().code, ErrorCode::Index);
  EXPECT_EQ(status.error().text,
            "the index that is computed for token [2, 3] is 25, outside the vocabulary of 23 entries: it must be 0 to 22");
  call.options.ignore = "target";
  call.options.ignoreIndex = 18; // ignored tokens are exempt
  EXPECT_TRUE(call.forward(plan).isOk());
}
TEST_F(CallRefusal, IntegerThatDoesNotFit) {
  LaunchPlan loose = makePlan(options);
  loose.inputs.front().isIndex = false;
  std::shared_ptr<const LoadedPlan> plan = load(loose);
  TestCall call({2, 2});
  call.target.set(3, -2147483649.0);
  Status status = call.forward(plan);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.error().code, ErrorCode::Value);
  EXPECT_EQ(status.error().text, "'target'[1, 1] is -2147483649, which does not fit in 32 bits");
}

// ---- arrays -------------------------------------------------------------------------------------

TEST_F(CallRefusal, MissingInput) {
  TestCall call({3});
  call.alpha.name = "alhpa";
  expectRefused(call, ErrorCode::Value, "input 'alpha' is missing");
}
TEST_F(CallRefusal, MissingOutput) {
  TestCall call({3});
  call.loss.name = "";
  expectRefused(call, ErrorCode::Value, "output 'loss' is missing");
}
TEST_F(CallRefusal, MissingGradient) {
  TestCall call({3});
  call.dMask.name = "";
  expectRefused(call, ErrorCode::Value, "gradient 'mask' is missing");
}
TEST_F(CallRefusal, TypeOfHidden) {
  TestCall call({3});
  call.hidden = TestArray("z.hidden", ElementType::BF16, {3, kHidden});
  expectRefused(call, ErrorCode::Type, "input 'z.hidden' is bfloat16[3, 6]; it must be float32");
}
TEST_F(CallRefusal, ShapeOfWeight) {
  TestCall call({3});
  call.weight = TestArray("z.weight", ElementType::F32, {22, kHidden});
  expectRefused(call, ErrorCode::Value, "input 'z.weight' has shape [22, 6]; it must be [23, 6]");
}
TEST_F(CallRefusal, ShapeOfATokenInput) {
  TestCall call({3, 4});
  call.alpha = TestArray("alpha", ElementType::F32, {12});
  expectRefused(call, ErrorCode::Value, "'alpha' has shape [12]; it must be [3, 4]");
}
TEST_F(CallRefusal, FloatsWhereIntegersAreNeeded) {
  TestCall call({3});
  call.target = TestArray("target", ElementType::F32, {3});
  expectRefused(call, ErrorCode::Type, "'target' is float32[3]; integers are needed");
}
TEST_F(CallRefusal, TypeOfAnOutput) {
  TestCall call({3});
  call.loss = TestArray("loss", ElementType::F16, {});
  expectRefused(call, ErrorCode::Type, "output 'loss' is float16[]; it must be float32");
}
TEST_F(CallRefusal, ShapeOfAReducedLoss) {
  TestCall call({3});
  call.loss = TestArray("loss", ElementType::F32, {3});
  expectRefused(call, ErrorCode::Value, "output 'loss' has shape [3]; it must be []");
}
TEST_F(CallRefusal, GradientWithTokensThatLieUnevenly) {
  TestCall call({3, 4});
  call.dHidden = TestArray("z.hidden", ElementType::F32, {3, 4, kHidden}, {1, 0, 2});
  expectRefused(call, ErrorCode::Value, "gradient 'z.hidden' must have evenly spaced tokens; make it contiguous");
}

// ---- options ------------------------------------------------------------------------------------

TEST_F(CallRefusal, CotangentPerTokenOfAReducedLoss) {
  TestCall call({3});
  call.cotangent = TestArray("loss", ElementType::F32, {3});
  call.cotangent->fill(1);
  expectRefused(call, ErrorCode::Value, "grad_output of 'loss' has shape [3]; the output has []");
}
TEST_F(CallRefusal, DivisorOfASum) {
  TestCall call({3});
  call.setReduction(Reduction::Sum);
  call.divisor = TestArray("divisor", ElementType::F32, {});
  expectRefused(call, ErrorCode::Value, "'divisor' replaces the denominator of a mean, but the reduction is another one");
}
TEST_F(CallRefusal, IgnoreWithoutItsInput) {
  TestCall call({3});
  call.options.ignore = "labels";
  call.options.ignoreIndex = 0;
  expectRefused(call, ErrorCode::Value, "input 'labels', which tells ignored tokens, is missing");
}
TEST_F(CallRefusal, LateDivisorOfAccumulatedGradients) {
  PlanOptions late{Gradients::Early, 0, 0, 1, true, true};
  late.accumulates = true;
  TestCall call({3});
  Status status = call.forward(load(makePlan(late)));
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.error().text.find("the sum of 'weight' that divides them is known only afterwards"), std::string::npos)
      << status.error().text;
  call.divisor = TestArray("divisor", ElementType::F32, {});
  call.divisor->set(0, 2);
  call.dWeight.fill(0);
  EXPECT_TRUE(call.forward(load(makePlan(late))).isOk());
}
TEST_F(CallRefusal, AnotherStreamForTheBackwardPhase) {
  PlanOptions split{Gradients::Split, 0, 0, 1};
  TestCall call({5});
  call.options.stream.handle = &call;
  std::unique_ptr<Saved> saved;
  ASSERT_TRUE(call.forward(load(makePlan(split)), &saved).isOk());
  for (DeviceStream stream : {DeviceStream{0, nullptr, {}}, DeviceStream{1, &call, {}}}) {
    call.options.stream = stream;
    Status status = call.backward(*saved);
    ASSERT_FALSE(status.isOk());
    EXPECT_EQ(status.error().text, "the backward phase runs on another stream or device than its forward call, for which the saved "
                                   "state may not be ready; use the same one");
  }
  call.options.stream = {0, &call, {}};
  EXPECT_TRUE(call.backward(*saved).isOk());
}
TEST_F(CallRefusal, InputsThatChangedBeforeTheBackwardPhase) {
  PlanOptions split{Gradients::Split, 0, 0, 1};
  TestCall call({5});
  call.options.ignore = "target";
  call.options.ignoreIndex = -7;
  std::unique_ptr<Saved> saved;
  ASSERT_TRUE(call.forward(load(makePlan(split)), &saved).isOk());
  double before = call.target.get(2);
  call.target.set(2, -7);
  Status status = call.backward(*saved);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.error().text, "4 tokens of [5] count, but in the forward call 5 of [5]; an input was changed in between");
  call.target.set(2, before);
  EXPECT_TRUE(call.backward(*saved).isOk());
  call.expectRight(split, true);
}

// ---- interrupts ---------------------------------------------------------------------------------

TEST_F(CallRefusal, InterruptBetweenLaunches) {
  for (int allowed : {0, 1, 9}) {
    TestCall call({30});
    int launches = 0;
    struct Context {
      int *launches, allowed;
    } context{&launches, allowed};
    call.options.interrupt = {[](void *given) {
                                auto *context = static_cast<Context *>(given);
                                return (*context->launches)++ == context->allowed;
                              },
                              &context};
    expectRefused(call, ErrorCode::Interrupted, "the call was interrupted");
    EXPECT_EQ(launches, allowed + 1);
  }
}

// ---- plans --------------------------------------------------------------------------------------

/// Loading must fail with a text that names 'part'.
static void expectInconsistent(const LaunchPlan &plan, const std::string &part) {
  Result<std::shared_ptr<LoadedPlan>> loaded = loadPlan(plan, KernelKey(), std::make_shared<CpuDevice>(std::make_shared<Workspace>(0)));
  ASSERT_FALSE(loaded.isOk()) << part;
  EXPECT_NE(loaded.status().error().text.find(part), std::string::npos) << loaded.status().error().text;
  EXPECT_EQ(loaded.status().error().code, ErrorCode::Internal);
}
TEST(PlanRefusal, InconsistentPlans) {
  const LaunchPlan good = makePlan({Gradients::Early, 8, 0, 1});
  LaunchPlan plan = good;
  plan.kernels[1].arguments[4].buffer = 1000;
  expectInconsistent(plan, "kernel 'sweep'");
  plan = good;
  plan.forward.front().body.front().kernel = -1;
  expectInconsistent(plan, "a launch");
  plan = good;
  plan.forward.front().step = 0;
  expectInconsistent(plan, "a loop");
  plan = good;
  plan.outputs.front().buffer = -1;
  expectInconsistent(plan, "output 'loss'");
  plan = good;
  plan.gradients[1].buffers = {};
  expectInconsistent(plan, "the gradient of weight 'z'");
  plan = good;
  plan.buffers[0].owner = 1; // there is one projection
  expectInconsistent(plan, "buffer 'z_hidden'");
  plan = good;
  plan.gradients[0].number = 1;
  expectInconsistent(plan, "the gradient of hidden 'z'");
  plan = good;
  plan.buffers[5].alias = 5;
  expectInconsistent(plan, "buffer 'map_mask'");
}
TEST(PlanRefusal, LoopsInThePrologueAreLookedInto) {
  // Their own kernel index means nothing.
  LaunchPlan plan = makePlan({Gradients::Early, 8, 0, 1});
  StepPlan loop;
  loop.kind = StepKind::TokenLoop;
  loop.kernel = 1 << 20;
  loop.step = 8;
  loop.body = plan.prologue;
  plan.prologue = {loop};
  EXPECT_TRUE(loadPlan(plan, KernelKey(), std::make_shared<CpuDevice>(std::make_shared<Workspace>(0))).isOk());
}
TEST(PlanRefusal, AnIntervalOfAPlanWithoutProjections) {
  LaunchPlan plan = makePlan({Gradients::None});
  plan.projections.clear();
  for (BufferPlan &buffer : plan.buffers)
    if (buffer.role <= BufferRole::WeightSum)
      buffer.owner = -1;
  plan.tokensFirst = 1000;
  Result<std::shared_ptr<LoadedPlan>> loaded = loadPlan(plan, KernelKey(), std::make_shared<CpuDevice>(std::make_shared<Workspace>(0)));
  ASSERT_TRUE(loaded.isOk()) << loaded.status().error().text;
  TestCall call({5});
  Status status = call.forward(*loaded);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.error().text, "the plan serves calls of 1000 or more tokens, but 'target' has 5; compile a plan for as many");
}
TEST(PlanRefusal, CodeThatDoesNotLoad) {
  LaunchPlan plan = makePlan({Gradients::None});
  plan.kernels.front().name = "packs";
  expectInconsistent(plan, "packs");
  plan = makePlan({Gradients::None});
  plan.code = "no object";
  expectInconsistent(plan, "the code of 'weighted' does not load");
  plan.code = kernelObject().substr(0, kernelObject().size() / 2);
  expectInconsistent(plan, "the code of 'weighted' does not load");
}
