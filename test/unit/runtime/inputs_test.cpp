// inputs_test.cpp - small inputs and outputs on their own: ignored tokens, rows, entries,
// conversions, fillings.
#include "runtime/arrays/Inputs.h"
#include "runtime/arrays/Outputs.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include "gtest/gtest.h"
#include <cmath>
using namespace logitile;
using namespace logitile::test;

/// All tokens of these leading dimensions.
static Tokens allTokens(const std::vector<int64_t> &leading) {
  Tokens tokens{leading, 1, 0, nullptr};
  for (int64_t extent : leading)
    tokens.total *= extent;
  tokens.counted = tokens.total;
  return tokens;
}

// ---- tokens -------------------------------------------------------------------------------------

TEST(TokensTest, MapOfTokensThatCount) {
  std::vector<int64_t> leading{2, 3};
  for (std::vector<int> order : {std::vector<int>{0, 1}, {1, 0}}) {
    TestArray target("target", ElementType::I8, leading, order, 1);
    double values[] = {-100, 4, 5, 6, -100, 7};
    for (int i = 0; i < 6; ++i)
      target.set(i, values[i]);
    Array array = target.array();
    IgnoreRule rule{&array, -100};
    Tokens tokens = allTokens(leading);
    tokens.counted = countTokens(rule, tokens);
    ASSERT_EQ(tokens.counted, 4);
    std::vector<int32_t> map(4);
    fillMap(rule, tokens, map.data());
    EXPECT_EQ(map, (std::vector<int32_t>{1, 2, 3, 5}));
  }
}
TEST(TokensTest, TokensWithEntriesAreIgnoredWhereAllMatch) {
  std::vector<int64_t> leading{3};
  TestArray target("target", ElementType::I64, {3, 2});
  double values[] = {-1, -1, -1, 4, 5, -1};
  for (int i = 0; i < 6; ++i)
    target.set(i, values[i]);
  Array array = target.array();
  EXPECT_EQ(countTokens({&array, -1}, allTokens(leading)), 2);
}
TEST(TokensTest, ComparedAsNumbersNotAsBits) {
  std::vector<int64_t> leading{2};
  TestArray target("target", ElementType::U8, leading);
  target.set(0, 156); // -100 in 8 bits
  target.set(1, 3);
  Array array = target.array();
  EXPECT_EQ(countTokens({&array, -100}, allTokens(leading)), 2);
  EXPECT_EQ(countTokens({&array, 156}, allTokens(leading)), 1);
}

static std::vector<int32_t> rowsOf(const TestArray &array, int64_t &unit, int64_t &first) {
  std::vector<int64_t> leading(array.shape.begin(), array.shape.end() - 1);
  TokenLayout layout(leading, {array.strides.data(), leading.size()});
  Tokens tokens = allTokens(leading);
  RowUnits units = rowUnitsOf(layout, tokens.total);
  std::vector<int32_t> rows(tokens.total);
  fillRows(layout, units, tokens, rows.data());
  unit = units.unit;
  first = units.first;
  return rows;
}
TEST(RowsTest, UnitsDivideEveryOffset) {
  int64_t unit, first;
  EXPECT_EQ(rowsOf(TestArray("x", ElementType::F32, {2, 3, 4}), unit, first), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(unit, 4);
  EXPECT_EQ(rowsOf(TestArray("x", ElementType::F32, {2, 3, 4}, {1, 0, 2}), unit, first), (std::vector<int32_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(unit, 4);
  EXPECT_EQ(rowsOf(TestArray("x", ElementType::F32, {2, 3, 4}, {2, 0, 1}), unit, first), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(unit, 1);
  EXPECT_EQ(rowsOf(TestArray("x", ElementType::F32, {2, 3, 4}, {}, 0, {0}), unit, first), (std::vector<int32_t>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(first, -12);
  TestArray broadcast("x", ElementType::F32, {1, 1, 4});
  broadcast.shape = {2, 3, 4};
  broadcast.strides = {0, 0, 1};
  EXPECT_EQ(rowsOf(broadcast, unit, first), std::vector<int32_t>(6, 0));
}

// ---- inputs -------------------------------------------------------------------------------------

/// What loadInput makes of an input, 8 lanes of one entry each.
struct Loaded {
  Status status;
  std::vector<std::vector<char>> buffers;
  template <typename T> std::vector<T> values(size_t entry) const {
    auto *data = reinterpret_cast<const T *>(buffers[entry].data());
    return {data, data + 8};
  }
};
static Loaded loaded(const InputPlan &input, const TestArray &array, const Tokens &tokens,
                     const IntegerRules &rules = {1000, {}, std::nullopt}) {
  Loaded result;
  size_t count = std::max<int64_t>(input.entries, 1);
  result.buffers.assign(count, std::vector<char>(32, 0x77));
  std::vector<char *> pointers;
  for (std::vector<char> &buffer : result.buffers)
    pointers.push_back(buffer.data());
  result.status = checkInput(input, array.array(), tokens, rules.vocab);
  if (result.status.isOk())
    result.status = loadInput(input, array.array(), tokens, rules, pointers, 8);
  return result;
}

TEST(InputsTest, EntriesGoIntoBuffersOfTheirOwn) {
  std::vector<int64_t> leading{3};
  TestArray array("t", ElementType::I64, {3, 4}, {1, 0});
  for (int i = 0; i < 12; ++i)
    array.set(i, i);
  InputPlan input{InputKind::Token, "t", 2, ElementType::I32, true}; // the program reads 2 of 4
  Loaded result = loaded(input, array, allTokens(leading));
  ASSERT_TRUE(result.status.isOk()) << result.status.error().text;
  EXPECT_EQ(result.values<int32_t>(0), (std::vector<int32_t>{0, 4, 8, 0, 0, 0, 0, 0}));
  EXPECT_EQ(result.values<int32_t>(1), (std::vector<int32_t>{1, 5, 9, 0, 0, 0, 0, 0}));
}
TEST(InputsTest, EntriesThatAreIgnoreIndexStay) {
  std::vector<int64_t> leading{2};
  TestArray array("t", ElementType::I64, {2, 2});
  double values[] = {3, -100, -100, 7};
  for (int i = 0; i < 4; ++i)
    array.set(i, values[i]);
  InputPlan input{InputKind::Token, "t", 2, ElementType::I32, true};
  Loaded result = loaded(input, array, allTokens(leading), {10, {}, -100});
  ASSERT_TRUE(result.status.isOk());
  EXPECT_EQ(result.values<int32_t>(1)[0], -100);
  result = loaded(input, array, allTokens(leading), {10, {}, std::nullopt});
  EXPECT_EQ(result.status.error().text, "'t'[1, 0] is -100, outside the vocabulary of 10 entries: it must be 0 to 9");
  array.set(3, 10);
  result = loaded(input, array, allTokens(leading), {10, {}, -100});
  EXPECT_EQ(result.status.error().text, "'t'[1, 1] is 10, outside the vocabulary of 10 entries: it must be 0 to 9 or ignore_index -100");
}
TEST(InputsTest, TooFewEntriesAreRefused) {
  std::vector<int64_t> leading{3};
  InputPlan input{InputKind::Token, "t", 4, ElementType::F32, false};
  EXPECT_EQ(loaded(input, TestArray("t", ElementType::F32, {3, 2}), allTokens(leading)).status.error().text,
            "'t' has shape [3, 2]; it must be [3, 4]");
}
TEST(InputsTest, BoolsAreZeroOrOne) {
  std::vector<int64_t> leading{4};
  TestArray array("b", ElementType::Bool, {4});
  for (int i = 0; i < 4; ++i)
    array.set(i, i * 85);
  Loaded result = loaded({InputKind::Token, "b", 0, ElementType::Bool, false}, array, allTokens(leading));
  EXPECT_EQ(result.values<char>(0), (std::vector<char>{0, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(result.buffers[0][8], 0x77) << "a byte for each lane";
}
TEST(InputsTest, BoolsAreNotIntegers) {
  std::vector<int64_t> leading{4};
  Loaded result =
      loaded({InputKind::Token, "b", 0, ElementType::Bool, false}, TestArray("b", ElementType::U8, {4}), allTokens(leading));
  EXPECT_EQ(result.status.error().text, "'b' is uint8[4]; bools are needed");
}
TEST(InputsTest, ScalarsMayBeIntegers) {
  TestArray array("s", ElementType::I64, {});
  array.set(0, -3);
  Loaded result = loaded({InputKind::Scalar, "s", 0, ElementType::F32, false}, array, allTokens({}));
  EXPECT_EQ(result.values<float>(0)[0], -3.0f);
}
TEST(InputsTest, VocabIntegersAreChecked) {
  TestArray array("v", ElementType::I64, {3});
  array.set(0, 1);
  array.set(1, 2147483648.0);
  array.set(2, 2);
  Loaded result = loaded({InputKind::Vocab, "v", 0, ElementType::I32, false}, array, allTokens({}), {3, {}, std::nullopt});
  EXPECT_EQ(result.status.error().text, "'v'[1] is 2147483648, which does not fit in 32 bits");
}

// ---- calls with entries -------------------------------------------------------------------------

TEST(EntriesOfATokenInput, ValuesAndGradients) {
  PlanOptions options{PlanOptions::Gradients::Early, 8, 0, 1};
  LaunchPlan plan = makePlan(options);
  plan.inputs[1].entries = 2; // the kernels read entry 1 of "alpha"
  plan.buffers[plan.findBuffer(BufferRole::Input, 1)].entry = 1;
  GradientPlan &gradient = plan.gradients[4];
  ASSERT_EQ(gradient.owner, "alpha");
  gradient.buffers.insert(gradient.buffers.begin(), -1);

  TestCall call({2, 7});
  call.options.ignore = "target";
  call.options.ignoreIndex = 1;
  call.target.set(4, 1);
  TestArray wide("alpha", ElementType::F32, {2, 7, 3}), wideGradient = wide, plain = call.alpha, plainGradient = call.dAlpha;
  for (int64_t t = 0; t < 14; ++t)
    wide.set(3 * t + 1, call.alpha.get(t));
  call.alpha = wide;
  call.dAlpha = wideGradient;
  Status status = call.forward(load(plan));
  ASSERT_TRUE(status.isOk()) << status.error().text;
  for (int64_t t = 0; t < 14; ++t) {
    plainGradient.set(t, wideGradient.get(3 * t + 1));
    EXPECT_EQ(wideGradient.get(3 * t), 0);
    EXPECT_EQ(wideGradient.get(3 * t + 2), 0);
  }
  call.alpha = plain;
  call.dAlpha = plainGradient;
  call.expectRight(options, true);
}

// ---- outputs ------------------------------------------------------------------------------------

TEST(OutputsTest, FillAndScaleTouchOnlyTheirElements) {
  TestArray matrix("m", ElementType::BF16, {4, 6}, {}, 1); // every other element
  matrix.fill(2);
  TestArray part = matrix;
  part.shape = {4, 3};
  scale(part.array(), 1.5f);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(matrix.get(i), i % 6 < 3 ? 3 : 2);
  fillZero(part.array());
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(matrix.get(i), i % 6 < 3 ? 0 : 2);
}
TEST(OutputsTest, IgnoredRowsBecomeZero) {
  std::vector<int64_t> leading{2, 2};
  int32_t map[] = {0, 3};
  Tokens tokens{leading, 4, 2, map};
  TestArray rows("r", ElementType::F16, {2, 2, 3}, {1, 0, 2});
  rows.fill(7);
  zeroIgnoredRows(rows.array(), tokens);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(rows.get(i), i / 3 == 0 || i / 3 == 3 ? 7 : 0) << i;
}
TEST(OutputsTest, SumsAreInDoublePrecision) {
  std::vector<float> values(100001, 1.0f);
  values[0] = 1e9f;
  EXPECT_EQ(sumOf(reinterpret_cast<char *>(values.data()), ElementType::F32, 100001), 1e9 + 100000);
  std::vector<int32_t> integers{1 << 30, 1 << 30, 1 << 30};
  EXPECT_EQ(sumOf(reinterpret_cast<char *>(integers.data()), ElementType::I32, 3), 3.0 * (1 << 30));
  EXPECT_EQ(sumOf("\1\0\1", ElementType::Bool, 3), 2);
}
