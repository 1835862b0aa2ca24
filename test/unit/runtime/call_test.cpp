// call_test.cpp - calls with every kind of schedule, layout and reduction give the numbers of f64.
// Refusals are in runtime_refusals_test.cpp.
#include "runtime/cpu/CpuDevice.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include "gtest/gtest.h"
#include <cfenv>
#include <cmath>
#include <cstring>
using namespace logitile;
using namespace logitile::test;
using Gradients = PlanOptions::Gradients;

/// Fills free memory with bytes that are NaN as floats and far outside as indices.
static void poison(Workspace &memory, int64_t bytes) {
  WorkspaceBlock block = *memory.take(bytes);
  std::memset(block.data(), 0xff, bytes);
}

/// Runs all phases twice, the second time on memory that the first one left dirty, and compares.
static void expectRight(TestCall &call, const PlanOptions &options) {
  auto memory = std::make_shared<Workspace>(int64_t(64) << 20);
  std::shared_ptr<const LoadedPlan> plan = load(makePlan(options), std::make_shared<CpuDevice>(memory));
  for (int round = 0; round < 2; ++round) {
    poison(*memory, workspaceBytes(plan->plan, call.tokens, call.options.threads));
    std::unique_ptr<Saved> saved;
    Status status = call.forward(plan, &saved);
    ASSERT_TRUE(status.isOk()) << status.error().text;
    EXPECT_LE(call.report.measuredBytes, call.report.predictedBytes);
    ASSERT_EQ(saved != nullptr, options.gradients == Gradients::Split);
    for (int again = 0; saved && again < 2; ++again) { // the backward phase may run more than once
      status = call.backward(*saved);
      ASSERT_TRUE(status.isOk()) << status.error().text;
      EXPECT_LE(call.report.measuredBytes, call.report.predictedBytes);
    }
    call.expectRight(options, options.gradients != Gradients::None);
  }
}

// ---- schedules ----------------------------------------------------------------------------------

struct Schedule {
  const char *name;
  PlanOptions options;
};
static const Schedule kSchedules[] = {
    {"forward", {Gradients::None}},
    {"forward_chunks", {Gradients::None, 8}},
    {"kept_in_place", {Gradients::Early, 0, kVocabSplits, 0}},
    {"kept_in_place_chunks", {Gradients::Early, 12, kVocabSplits, 0}},
    {"kept_in_place_three_chunks", {Gradients::Early, -3, kVocabSplits, 0}},
    {"kept_grouped", {Gradients::Early, 0, kVocabSplits, 2}},
    {"recompute", {Gradients::Early, 0, 0, 1}},
    {"recompute_groups", {Gradients::Early, 8, 0, 2}},
    {"recompute_whole", {Gradients::Early, 8, 0, kVocabSplits}},
    {"partly_kept", {Gradients::Early, 0, 3, 1}},
    {"partly_kept_groups", {Gradients::Early, -2, 2, 2}},
    {"partly_kept_one", {Gradients::Early, 8, 1, 1}},
    {"split_kept", {Gradients::Split, 0, kVocabSplits, 1}},
    {"split_partly_kept", {Gradients::Split, 0, 2, 1}},
    {"split_recompute", {Gradients::Split, 8, 0, 1}},
    {"split_recompute_five_chunks", {Gradients::Split, -5, 0, 2}},
};

class CallSchedule : public testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(All, CallSchedule, testing::ValuesIn(kSchedules), [](const auto &info) { return std::string(info.param.name); });

TEST_P(CallSchedule, MeanOverEveryToken) {
  TestCall call({29});
  expectRight(call, GetParam().options);
}
TEST_P(CallSchedule, SumWithIgnoredTokens) {
  TestCall call({3, 11});
  call.setReduction(Reduction::Sum);
  call.options.ignore = "target";
  call.options.ignoreIndex = -100;
  for (int64_t t : {0, 1, 7, 15, 16, 17, 32})
    call.target.set(t, -100);
  for (int64_t d = 0; d < kHidden; ++d)
    call.hidden.set(7 * kHidden + d, NAN); // an ignored row may be anything
  TestCall clean = call;
  expectRight(call, GetParam().options);
}
TEST_P(CallSchedule, OneToken) {
  TestCall call({});
  call.setReduction(Reduction::None);
  expectRight(call, GetParam().options);
}
TEST_P(CallSchedule, FewerTokensThanAChunk) {
  TestCall call({1, 3});
  expectRight(call, GetParam().options);
}
TEST_P(CallSchedule, EveryThreadCountGivesTheSameBits) {
  std::vector<float> losses;
  std::shared_ptr<const LoadedPlan> plan = load(makePlan(GetParam().options));
  for (int threads : {1, 2, 5}) {
    TestCall call({40});
    call.options.threads = threads;
    ASSERT_TRUE(call.forward(plan).isOk());
    losses.push_back(static_cast<float>(call.loss.get(0)));
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
}

// ---- layouts ------------------------------------------------------------------------------------

TEST(CallLayout, TransposedLeadingDimensions) {
  TestCall call({4, 5});
  auto copy = [](TestArray from, TestArray to) {
    for (int64_t i = 0; i < from.elements(); ++i)
      to.set(i, from.get(i));
    return to;
  };
  call.hidden = copy(call.hidden, TestArray("z.hidden", ElementType::F32, {4, 5, kHidden}, {1, 0, 2}));
  call.mask = copy(call.mask, TestArray("mask", ElementType::F32, {4, 5, kVocab}, {2, 1, 0}));
  call.weight = copy(call.weight, TestArray("z.weight", ElementType::F32, {kVocab, kHidden}, {1, 0}, 3));
  call.target = copy(call.target, TestArray("target", ElementType::I16, {4, 5}, {1, 0}, 1));
  call.alpha = copy(call.alpha, TestArray("alpha", ElementType::F64, {4, 5}, {0, 1}, 0, {0, 1}));
  call.dWeight = TestArray("z.weight", ElementType::F32, {kVocab, kHidden}, {1, 0});
  call.dHidden = TestArray("z.hidden", ElementType::F32, {4, 5, kHidden}, {}, 2);
  call.dAlpha = TestArray("alpha", ElementType::F32, {4, 5}, {1, 0});
  call.options.ignore = "target";
  call.options.ignoreIndex = 3;
  call.target.set(6, 3);
  expectRight(call, {Gradients::Early, 8, 0, 1});
}
TEST(CallLayout, BackwardsAndBroadcast) {
  TestCall call({2, 7});
  TestArray hidden("z.hidden", ElementType::F32, {2, 7, kHidden}, {}, 0, {0, 1, 2});
  for (int64_t i = 0; i < hidden.elements(); ++i)
    hidden.set(i, call.hidden.get(i));
  call.hidden = hidden;
  call.mask = TestArray("mask", ElementType::F32, {1, 1, kVocab});
  call.mask.fill(0.25);
  call.mask.shape = {2, 7, kVocab}; // one row for all tokens
  call.mask.strides = {0, 0, 1};
  expectRight(call, {Gradients::Split, 0, kVocabSplits, 1});
}

struct TypeCase {
  ElementType input, gradient;
};
class CallTypes : public testing::TestWithParam<TypeCase> {};
INSTANTIATE_TEST_SUITE_P(All, CallTypes,
                         testing::Values(TypeCase{ElementType::F16, ElementType::F16}, TypeCase{ElementType::BF16, ElementType::BF16},
                                         TypeCase{ElementType::F64, ElementType::F64}, TypeCase{ElementType::F32, ElementType::F32}));
TEST_P(CallTypes, SmallInputsOfEveryFloat) {
  TestCall call({19});
  auto convert = [&](TestArray &array) {
    TestArray converted(array.name, GetParam().input, array.shape);
    for (int64_t i = 0; i < array.elements(); ++i)
      converted.set(i, array.get(i));
    array = converted;
  };
  convert(call.alpha);
  convert(call.bias);
  convert(call.beta);
  for (TestArray *array : {&call.dAlpha, &call.dBias, &call.dBeta})
    *array = TestArray(array->name, GetParam().gradient, array->shape);
  expectRight(call, {Gradients::Early, 8, 3, 1});
}
TEST(CallTypes, TargetsOfEveryInteger) {
  for (ElementType type :
       {ElementType::I8, ElementType::I16, ElementType::I32, ElementType::I64, ElementType::U8, ElementType::U16, ElementType::U32,
        ElementType::U64}) {
    TestCall call({13});
    TestArray target("target", type, {13});
    for (int64_t t = 0; t < 13; ++t)
      target.set(t, call.target.get(t));
    call.target = target;
    call.options.ignore = "target";
    call.options.ignoreIndex = static_cast<int64_t>(target.get(4));
    expectRight(call, {Gradients::Early, 0, 0, 1});
  }
}

// ---- reductions ---------------------------------------------------------------------------------

TEST(CallReduction, GivenDivisor) {
  for (Gradients gradients : {Gradients::Early, Gradients::Split}) {
    TestCall call({17});
    call.divisor = TestArray("divisor", ElementType::I32, {});
    call.divisor->set(0, 5);
    expectRight(call, {gradients, 0, 0, 1});
  }
}
TEST(CallReduction, DivisorIsTheSumOfWeights) {
  for (bool isLate : {false, true})
    for (Gradients gradients : {Gradients::Early, Gradients::Split, Gradients::None}) {
      TestCall call({21});
      call.options.ignore = "target";
      call.options.ignoreIndex = 2;
      call.target.set(3, 2);
      expectRight(call, {gradients, 8, 0, 1, /*hasWeight=*/true, isLate});
    }
}
TEST(CallReduction, CotangentOfAReducedLoss) {
  for (Gradients gradients : {Gradients::Early, Gradients::Split}) {
    TestCall call({17});
    call.cotangent = TestArray("loss", ElementType::F32, {});
    call.cotangent->set(0, -2.5);
    expectRight(call, {gradients, 8, 0, 1});
  }
}
TEST(CallReduction, CotangentPerToken) {
  TestCall call({4, 5});
  call.setReduction(Reduction::None);
  call.cotangent = TestArray("loss", ElementType::F64, {4, 5}, {1, 0});
  for (int64_t t = 0; t < 20; ++t)
    call.cotangent->set(t, t - 7.5);
  call.options.ignore = "target";
  call.options.ignoreIndex = -1;
  call.target.set(11, -1);
  expectRight(call, {Gradients::Split, 8, 0, 1});
}
TEST(CallReduction, OtherOutputs) {
  TestCall call({33});
  call.options.ignore = "target";
  call.options.ignoreIndex = 1000;
  for (int64_t t : {0, 30, 32})
    call.target.set(t, 1000);
  expectRight(call, {Gradients::Early, 8, 0, 1, true, false, /*hasIndex=*/true});
}

// ---- no tokens ----------------------------------------------------------------------------------

static void expectNothing(TestCall &call, const PlanOptions &options, double loss) {
  std::shared_ptr<const LoadedPlan> plan = load(makePlan(options));
  std::unique_ptr<Saved> saved;
  Status status = call.forward(plan, &saved);
  ASSERT_TRUE(status.isOk()) << status.error().text;
  if (saved)
    ASSERT_TRUE(call.backward(*saved).isOk());
  if (call.options.reduction != Reduction::None)
    EXPECT_TRUE(std::isnan(loss) ? std::isnan(call.loss.get(0)) : call.loss.get(0) == loss) << call.loss.get(0);
  for (TestArray *array : {&call.dHidden, &call.dWeight, &call.dMask, &call.dBias, &call.dAlpha, &call.dBeta})
    for (int64_t i = 0; i < array->elements(); ++i)
      EXPECT_EQ(array->get(i), 0) << array->name << " " << i;
  EXPECT_EQ(call.report.counted, 0);
}
TEST(CallWithoutTokens, AllIgnored) {
  for (Gradients gradients : {Gradients::Early, Gradients::Split}) {
    TestCall call({2, 3});
    call.target.fill(-100);
    call.options.ignore = "target";
    call.options.ignoreIndex = -100;
    expectNothing(call, {gradients, 0, 0, 1}, NAN);
    call.options.isZeroWhenAllIgnored = true;
    expectNothing(call, {gradients, 0, 0, 1}, 0);
    call.setReduction(Reduction::Sum);
    expectNothing(call, {gradients, 0, 0, 1}, 0);
    call.setReduction(Reduction::None);
    expectNothing(call, {gradients, 0, 0, 1}, 0);
    for (int64_t t = 0; t < 6; ++t)
      EXPECT_EQ(call.loss.get(t), 0);
  }
}
TEST(CallWithoutTokens, EmptyArrays) {
  for (std::vector<int64_t> leading : {std::vector<int64_t>{0}, std::vector<int64_t>{3, 0, 2}}) {
    TestCall call(leading);
    expectNothing(call, {Gradients::Early, 8, 0, 1}, NAN);
    call.setReduction(Reduction::None);
    expectNothing(call, {Gradients::Split, 8, 0, 1}, 0);
  }
}

// ---- accumulation -------------------------------------------------------------------------------

TEST(CallAccumulation, AddsToTheWeightGradient) {
  PlanOptions options{Gradients::Split, 8, 0, 1};
  options.accumulates = true;
  std::shared_ptr<const LoadedPlan> plan = load(makePlan(options));
  TestCall call({23});
  std::unique_ptr<Saved> saved;
  ASSERT_TRUE(call.forward(plan, &saved).isOk());
  call.dWeight.fill(0);
  ASSERT_TRUE(call.backward(*saved).isOk());
  call.expectRight(options, true);
  std::vector<double> once;
  for (int64_t i = 0; i < call.dWeight.elements(); ++i)
    once.push_back(call.dWeight.get(i));
  ASSERT_TRUE(call.backward(*saved).isOk());
  for (int64_t i = 0; i < call.dWeight.elements(); ++i)
    EXPECT_NEAR(call.dWeight.get(i), 2 * once[i], 1e-5);
}
TEST(CallAccumulation, LeavesTheBufferAloneWhereNothingCounts) {
  PlanOptions options{Gradients::Split, 0, 0, 1};
  options.accumulates = true;
  TestCall call({5});
  call.target.fill(9);
  call.options.ignore = "target";
  call.options.ignoreIndex = 9;
  call.dWeight.fill(1.5);
  std::unique_ptr<Saved> saved;
  ASSERT_TRUE(call.forward(load(makePlan(options)), &saved).isOk());
  ASSERT_TRUE(call.backward(*saved).isOk());
  EXPECT_EQ(call.dWeight.get(17), 1.5);
  EXPECT_EQ(call.dHidden.get(3), 0);
}

// ---- environment --------------------------------------------------------------------------------

TEST(CallEnvironment, RoundingModeOfTheCallerDoesNotMatter) {
  std::shared_ptr<const LoadedPlan> plan = load(makePlan({Gradients::Early, 8, 0, 1}));
  TestCall plain({31}), changed({31});
  ASSERT_TRUE(plain.forward(plan).isOk());
  std::fesetround(FE_UPWARD);
  Status status = changed.forward(plan);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  ASSERT_TRUE(status.isOk());
  EXPECT_EQ(plain.loss.get(0), changed.loss.get(0));
}
TEST(CallReportTest, ChunksAndKernels) {
  TestCall call({29});
  call.options.isTimed = true;
  ASSERT_TRUE(call.forward(load(makePlan({Gradients::Early, 8, 0, 1}))).isOk());
  EXPECT_EQ(call.report.chunks, 4);
  EXPECT_EQ(call.report.tokens, 29);
  int64_t launches = 0;
  for (const KernelUse &kernel : call.report.kernels)
    launches += kernel.launches;
  // pack, sweep, finish, coefficients, 5 x (gradient, hidden, weight), round, sum
  EXPECT_EQ(launches, 4 * (4 + 15 + 2));
}
