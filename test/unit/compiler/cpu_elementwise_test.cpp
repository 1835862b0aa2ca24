// cpu_elementwise_test.cpp - row states, maps, sparse terms, sums, loads and stores as machine code
// against plain loops, on every tier that this machine has.
#include "test/unit/compiler/CpuKernelTest.h"
#include <limits>
using namespace logitile;

namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class CpuElementwise : public CpuKernelTest {
protected:
  Matrix columnMajor(Number type, int64_t count, int64_t vocab) { return Matrix(type, count, vocab, 1, padded(count) + 2); }
};

// ---- update_state -------------------------------------------------------------------------------

/// Runs the sweep over 'z' and gives max, sum and pick of both vocabulary splits.
struct Statistics {
  std::vector<float> max, sum, pick;
  int64_t stride;
  float at(const std::vector<float> &values, int64_t vocabSplit, int64_t token) const { return values[vocabSplit * stride + token]; }
  double logSum(int64_t token) const {
    double most = std::max(at(max, 0, token), at(max, 1, token));
    return most + std::log(at(sum, 0, token) * std::exp(at(max, 0, token) - most) + at(sum, 1, token) * std::exp(at(max, 1, token) - most));
  }
};
class CpuStatistics : public CpuElementwise {
protected:
  static constexpr int64_t kVocab = 37, kVocabSplit = 24;
  Statistics sweep(Matrix &z, std::vector<int32_t> target) {
    int64_t count = z.rows, stride = padded(count) + 3;
    Statistics s{std::vector<float>(2 * stride + width, 9), std::vector<float>(2 * stride + width, 9),
                 std::vector<float>(2 * stride + width, 9), stride};
    auto kernels = compile("statistics", {{"V", text(kVocab)}, {"TN", "8"}, {"SPLIT", text(kVocabSplit)}, {"TM", text(2 * width)}});
    if (!kernels)
      return s;
    kernels->set("tokens", count);
    kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("t", target.data());
    kernels->bind("max", s.max.data(), stride, 1), kernels->bind("sum", s.sum.data(), stride, 1),
        kernels->bind("pick", s.pick.data(), stride, 1);
    kernels->run("sweep", 2);
    return s;
  }
};

TEST_P(CpuStatistics, SweepLeavesMaximumSumAndPickOfEveryVocabSplit) {
  for (int64_t count : {int64_t(1), 2 * width, 2 * width + 7}) {
    Matrix z = columnMajor(Number::F32, count, kVocab);
    z.fillRandom(random, 8);
    std::vector<int32_t> target = perToken<int32_t>(count);
    for (int64_t i = 0; i < count; ++i)
      target[i] = i % 4 == 3 ? -100 : static_cast<int32_t>(random() % kVocab);
    Statistics s = sweep(z, target);
    for (int64_t vocabSplit = 0; vocabSplit < 2; ++vocabSplit)
      for (int64_t i = 0; i < count; ++i) {
        int64_t first = vocabSplit * kVocabSplit, end = std::min(first + kVocabSplit, kVocab);
        float most = -kInfinity;
        double sum = 0, pick = 0;
        for (int64_t v = first; v < end; ++v)
          most = std::max(most, z.at(i, v));
        for (int64_t v = first; v < end; ++v)
          sum += std::exp(double(z.at(i, v)) - most), pick += v == target[i] ? z.at(i, v) : 0;
        ASSERT_EQ(most, s.at(s.max, vocabSplit, i));
        ASSERT_NEAR(sum, s.at(s.sum, vocabSplit, i), 1e-6 * sum);
        ASSERT_EQ(float(pick), s.at(s.pick, vocabSplit, i)) << "target " << target[i];
      }
    for (int64_t i = count; i < s.stride; ++i)
      ASSERT_EQ(9, s.max[i]) << "a store must end with the last token";
  }
}

TEST_P(CpuStatistics, NaNAndInfinitiesReachTheSum) {
  int64_t count = width;
  for (float special : {NAN, kInfinity, -kInfinity})
    for (int64_t column : {0, 9, 36}) {
      Matrix z = columnMajor(Number::F32, count, kVocab);
      z.fill(0.5f);
      z.set(3, column, special);
      Statistics s = sweep(z, perToken<int32_t>(count));
      double value = s.logSum(3);
      if (special == -kInfinity)
        EXPECT_NEAR(0.5 + std::log(36.0), value, 1e-6) << column;
      else
        EXPECT_TRUE(std::isnan(value)) << special << " at " << column << " gives " << value;
      EXPECT_NEAR(0.5 + std::log(37.0), s.logSum(2), 1e-6) << "the neighbour token";
    }
}

TEST_P(CpuStatistics, ABlockOfMaskedLogitsLeavesTheOthersExact) {
  int64_t count = width;
  for (int64_t masked : {8, 24, 37}) { // a tile, a vocabulary split, everything
    Matrix z = columnMajor(Number::F32, count, kVocab);
    z.fill(0.5f);
    for (int64_t v = 0; v < masked; ++v)
      z.set(1, v, -kInfinity);
    Statistics s = sweep(z, perToken<int32_t>(count));
    if (masked == 37) {
      EXPECT_EQ(0, s.at(s.sum, 0, 1) + s.at(s.sum, 1, 1));
      EXPECT_EQ(-std::numeric_limits<float>::max(), s.at(s.max, 0, 1));
      continue;
    }
    EXPECT_NEAR(0.5 + std::log(37.0 - masked), s.logSum(1), 1e-6);
  }
}

TEST_P(CpuElementwise, RowStateMayHoldIntegersAndTruths) {
  int64_t count = width + 5, vocab = 19;
  auto kernels = compile("integer_state", {{"V", text(vocab)}, {"TM", text(width)}});
  ASSERT_TRUE(kernels);
  Matrix z = columnMajor(Number::F32, count, vocab), bias(Number::F32, vocab, 1);
  z.fillRandom(random), bias.fillRandom(random);
  z.set(2, 5, 3), z.set(2, 11, 3 + bias.at(5) - bias.at(11)); // nearly a tie
  std::vector<float> max = perToken<float>(count);
  std::vector<int32_t> arg = perToken<int32_t>(count), hits = perToken<int32_t>(count);
  std::vector<uint8_t> any = perToken<uint8_t>(count);
  kernels->set("tokens", count);
  kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("bias", bias.data());
  kernels->bind("max", max.data(), count, 1), kernels->bind("arg", arg.data(), count, 1), kernels->bind("count", hits.data(), count, 1),
      kernels->bind("any", any.data(), count, 1);
  kernels->run("sweep");
  for (int64_t i = 0; i < count; ++i) {
    float most = -kInfinity;
    int32_t where = -1, above = 0;
    bool isAny = false;
    for (int64_t v = 0; v < vocab; ++v) {
      float y = z.at(i, v) + bias.at(v);
      if (y > most)
        most = y, where = v;
      above += y > 0, isAny |= y > 1.5f;
    }
    ASSERT_EQ(most, max[i]);
    ASSERT_EQ(where, arg[i]);
    ASSERT_EQ(above, hits[i]);
    ASSERT_EQ(isAny, any[i]);
  }
}

TEST_P(CpuElementwise, ManySparsePicksAreFoundWhateverTheirValueIs) {
  int64_t count = width + 3, vocab = 20;
  // An entry of z + 1 at column t + 1, and one of the column itself where a flag is set.
  auto kernels = compile("sparse_picks", {{"V", text(vocab)}, {"TM", text(width)}});
  ASSERT_TRUE(kernels);
  Matrix z = columnMajor(Number::F32, count, vocab);
  z.fillRandom(random);
  std::vector<int32_t> target = perToken<int32_t>(count), column = perToken<int32_t>(count);
  std::vector<uint8_t> flag = perToken<uint8_t>(count);
  std::vector<float> pick = perToken<float>(count);
  for (int64_t i = 0; i < count; ++i)
    target[i] = static_cast<int32_t>(random() % (vocab + 4)) - 2, flag[i] = i % 3 != 0;
  kernels->set("tokens", count);
  kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("t", target.data()), kernels->bind("f", flag.data());
  kernels->bind("a", pick.data(), count, 1), kernels->bind("b", column.data(), count, 1);
  kernels->run("sweep");
  for (int64_t i = 0; i < count; ++i) {
    int64_t next = target[i] + 1;
    ASSERT_EQ(next >= 0 && next < vocab ? z.at(i, next) + 1 : 0, pick[i]) << "target " << target[i];
    ASSERT_EQ(flag[i] && target[i] >= 0 && target[i] < vocab ? target[i] : 0, column[i]) << "target " << target[i];
  }
}

// ---- map, terms, stores -------------------------------------------------------------------------

std::string termsText(const char *action) {
  return fill("%exact = logitile.sparse_terms $ACTION %dz, [%t, %a] at [%row, %column] below %n : !logitile.tile<$TMx8xf32>, "
              "[!logitile.view<?xi32>, !logitile.view<?xf32>]",
              {{"ACTION", action}});
}

TEST_P(CpuElementwise, GradientTakesThePlaceOfLogitsWithAllKindsOfInputsAndTerms) {
  int64_t vocab = 21;
  for (int64_t count : {int64_t(1), width + 3})
    for (const char *action : {"", "add", "extract"})
      for (Number type : {Number::F32, Number::BF16, Number::F16})
        for (bool inPlace : {true, false}) {
          bool isTerms = *action;
          auto kernels = compile("gradient", {{"TERMS", isTerms ? termsText(action) : ""},
                                              {"RESULT", isTerms ? "%exact" : "%dz"},
                                              {"V", text(vocab)},
                                              {"G", nameOf(type)},
                                              {"TM", text(2 * width)}});
          ASSERT_TRUE(kernels);
          Matrix z = columnMajor(Number::F32, count, vocab), bias(Number::F32, vocab, 1);
          z.fillRandom(random, 3), bias.fillRandom(random);
          Matrix before = z, apart(type, count, vocab, 1, padded(count));
          std::vector<float> lse = randomTokens(count), a = randomTokens(count), aBefore = a;
          std::vector<int32_t> target = perToken<int32_t>(count);
          for (int64_t i = 0; i < count; ++i)
            target[i] = i % 4 == 3 ? -1 : static_cast<int32_t>(random() % vocab);
          float scale = 0.75f;
          kernels->set("tokens", count);
          kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("bias", bias.data()), kernels->bind("scale", &scale);
          kernels->bind("lse", lse.data()), kernels->bind("t", target.data()), kernels->bind("a", a.data());
          int64_t stride = inPlace ? z.stride1 * 4 / sizeOf(type) : apart.stride1;
          void *g = inPlace ? z.data() : apart.data();
          kernels->bind("g", g, 1, stride);
          kernels->run("gradient");
          for (int64_t i = 0; i < count; ++i)
            for (int64_t v = 0; v < vocab; ++v) {
              float want = std::exp(before.at(i, v) - lse[i]) + float(v) * (bias.at(v) * scale);
              bool isTerm = isTerms && target[i] == v;
              if (isTerm && std::string(action) == "extract") {
                ASSERT_NEAR(aBefore[i] + want, a[i], 1e-5 * (1 + std::fabs(want)));
                want = 0;
              } else if (isTerm) {
                want += aBefore[i];
              }
              float unit = type == Number::F32 ? 1e-6f : type == Number::F16 ? 5e-4f : 4e-3f;
              ASSERT_NEAR(want, get(type, g, i + v * stride), unit * (1 + 2 * std::fabs(want)))
                  << action << " " << nameOf(type) << " token " << i << " column " << v;
            }
          if (type != Number::F32)
            for (int64_t v = 0; v < vocab; ++v)
              ASSERT_EQ(0, get(type, g, count + v * stride)) << "the odd token of a pair is used by contractions";
        }
}

TEST_P(CpuElementwise, DenseInputsOfAnyTypeAndStridesAreReadThroughTheMap) {
  int64_t count = width + 3, vocab = 21;
  std::vector<std::pair<int64_t, int64_t>> strides{{vocab, 1}, {1, count + 2}, {-vocab, 1}, {0, 1}};
  for (Number type : {Number::F32, Number::BF16, Number::F16})
    for (auto [stride0, stride1] : strides) {
      auto kernels = compile("dense", {{"V", text(vocab)}, {"Q", nameOf(type)}, {"TM", text(width)}});
      ASSERT_TRUE(kernels);
      Matrix z = columnMajor(Number::F32, count, vocab), q(type, count, vocab, stride0, stride1), g(type, count, vocab);
      z.fillRandom(random), q.fillRandom(random);
      std::vector<int32_t> map = perToken<int32_t>(count);
      for (int64_t i = 0; i < count; ++i)
        map[i] = static_cast<int32_t>(count - 1 - i);
      kernels->set("tokens", count);
      kernels->bind("map", map.data()), kernels->bind("z", z.data(), 1, z.stride1);
      kernels->bind("q", q.data(), stride0, stride1), kernels->bind("g", g.data(), vocab, 1);
      kernels->run("add");
      for (int64_t i = 0; i < count; ++i)
        for (int64_t v = 0; v < vocab; ++v)
          ASSERT_EQ(rounded(type, z.at(i, v) + q.at(map[i], v)), g.at(map[i], v)) << nameOf(type);
      ASSERT_TRUE(g.isCleanOutside());
    }
}

TEST_P(CpuElementwise, MasksAreReadAndWrittenAsBytes) {
  int64_t count = width + 3, vocab = 9;
  auto kernels = compile("masks", {{"V", text(vocab)}, {"TM", text(width)}});
  ASSERT_TRUE(kernels);
  std::vector<uint8_t> mask(count * vocab), keep(vocab);
  for (uint8_t &value : mask)
    value = random() % 2;
  for (int64_t v = 0; v < vocab; ++v)
    keep[v] = v % 3 != 0;
  std::vector<int32_t> map = perToken<int32_t>(count);
  for (int64_t i = 0; i < count; ++i)
    map[i] = static_cast<int32_t>(i);
  Matrix z = columnMajor(Number::F32, count, vocab);
  kernels->set("tokens", count);
  kernels->bind("map", map.data()), kernels->bind("m", mask.data(), vocab, 1), kernels->bind("k", keep.data()),
      kernels->bind("z", z.data(), 1, z.stride1);
  kernels->run("select");
  for (int64_t i = 0; i < count; ++i)
    for (int64_t v = 0; v < vocab; ++v)
      ASSERT_EQ(mask[i * vocab + v] && keep[v] ? 1 : -2, z.at(i, v));
}

TEST_P(CpuElementwise, GatherClampsAnIndexOutsideTheVocabulary) {
  int64_t count = width + 3, vocab = 9;
  auto kernels = compile("gather", {{"V", text(vocab)}, {"TM", text(width)}});
  ASSERT_TRUE(kernels);
  Matrix c(Number::F32, vocab, 1), q(Number::BF16, count, vocab);
  c.fillRandom(random), q.fillRandom(random);
  std::vector<int32_t> map = perToken<int32_t>(count), target = perToken<int32_t>(count);
  std::vector<float> a = perToken<float>(count), b = perToken<float>(count);
  for (int64_t i = 0; i < count; ++i)
    map[i] = static_cast<int32_t>(count - 1 - i), target[i] = static_cast<int32_t>(random() % 30) - 10;
  kernels->set("tokens", count);
  kernels->bind("map", map.data()), kernels->bind("t", target.data()), kernels->bind("c", c.data()), kernels->bind("q", q.data(), vocab, 1);
  kernels->bind("a", a.data()), kernels->bind("b", b.data());
  kernels->run("gather");
  for (int64_t i = 0; i < count; ++i) {
    int64_t v = std::clamp<int64_t>(target[i], 0, vocab - 1);
    ASSERT_EQ(c.at(v), a[i]);
    ASSERT_EQ(q.at(map[i], v), b[i]);
  }
}

// ---- sums, finish, rounding ---------------------------------------------------------------------

TEST_P(CpuElementwise, SumsOverTokensAndBlocksWithSingleEntries) {
  int64_t vocab = 19, tm = 2 * width;
  for (int64_t count : {int64_t(1), 4 * width + 3})
    for (bool accumulate : {false, true}) {
      auto kernels = compile("sums", {{"V", text(vocab)}, {"TM", text(tm)}});
      ASSERT_TRUE(kernels);
      Matrix z = columnMajor(Number::F32, count, vocab), out(Number::F32, 1, vocab);
      z.fillRandom(random), out.fillRandom(random);
      Matrix before = out;
      std::vector<float> blocks(((count + tm - 1) / tm) * vocab), a = randomTokens(count);
      std::vector<int32_t> target = perToken<int32_t>(count);
      for (int64_t i = 0; i < count; ++i)
        target[i] = i % 4 == 3 ? -1 : static_cast<int32_t>(random() % vocab);
      kernels->set("tokens", count), kernels->set("accumulate_tokens", accumulate);
      kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("p", blocks.data(), vocab, 1), kernels->bind("out", out.data(), vocab, 1);
      kernels->bind("t", target.data()), kernels->bind("a", a.data());
      kernels->run("blocks"), kernels->run("sum");
      for (int64_t v = 0; v < vocab; ++v) {
        double want = accumulate ? before.at(0, v) : 0;
        for (int64_t i = 0; i < count; ++i)
          want += z.at(i, v) + (target[i] == v ? a[i] : 0);
        ASSERT_NEAR(want, out.at(0, v), 1e-5);
      }
      ASSERT_TRUE(out.isCleanOutside());
    }
}

TEST_P(CpuElementwise, FinishMergesVocabSplitsInOrderAndMakesResults) {
  int64_t count = width + 3;
  auto kernels = compile("finish", {{"TM", text(width)}});
  ASSERT_TRUE(kernels);
  int64_t stride = padded(count);
  std::vector<float> partial = randomTokens(3 * stride), in = randomTokens(count), loss(padded(count) + 8, 5);
  std::vector<uint8_t> up(padded(count) + 8, 7);
  kernels->set("tokens", count);
  kernels->bind("p", partial.data(), stride, 1), kernels->bind("s", in.data()), kernels->bind("loss", loss.data()),
      kernels->bind("up", up.data());
  kernels->run("finish");
  for (int64_t i = 0; i < count; ++i) {
    float state = 1;
    for (int64_t vocabSplit = 0; vocabSplit < 3; ++vocabSplit)
      state = state * 0.5f + partial[vocabSplit * stride + i];
    ASSERT_EQ(state - in[i], loss[i]);
    ASSERT_EQ(state > in[i], up[i]);
  }
  EXPECT_EQ(5, loss[count]) << "a store must end with the last token";
  EXPECT_EQ(7, up[count]);
}

TEST_P(CpuElementwise, RoundingIsToNearestEven) {
  int64_t rows = 5, columns = width + 9;
  for (Number out : {Number::BF16, Number::F16, Number::F32}) {
    auto kernels = compile("round", {{"D", text(columns)}, {"OUT", nameOf(out)}, {"TD", text(width)}});
    ASSERT_TRUE(kernels);
    Matrix sum(Number::F32, rows, columns), result(out, rows, columns);
    sum.fillRandom(random, 100);
    // Halfway cases of both formats, overflow, numbers below the normal range of f16, NaN and
    // infinities.
    std::vector<float> specials{1.00390625f, 1.01171875f, 1.00048828125f, 1.00146484375f, 65519.0f, 65520.0f,  -1e9f,      3e-8f,
                                6e-8f,       5.9e-5f,     6.1e-5f,        -0.0f,          NAN,      kInfinity, -kInfinity, 0.0f};
    for (size_t i = 0; i < specials.size(); ++i)
      sum.set(1, i, specials[i]), sum.set(3, columns - 1 - i, specials[i]);
    kernels->bind("sum", sum.data(), columns, 1), kernels->bind("out", result.data(), columns, 1);
    kernels->run("round");
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        float want = rounded(out, sum.at(i, j));
        if (std::isnan(want))
          ASSERT_TRUE(std::isnan(result.at(i, j)));
        else
          ASSERT_EQ(want, result.at(i, j)) << nameOf(out) << " of " << sum.at(i, j);
      }
    ASSERT_TRUE(result.isCleanOutside());
  }
}

// ---- functions of the language ------------------------------------------------------------------

TEST_P(CpuElementwise, FunctionsOfTheLanguageAreAccurateAndFiniteAtTheEnds) {
  std::vector<float> x{-kInfinity, kInfinity, NAN, 0, -0.0f, -200, -90, -88, 88, 200};
  for (float value = -100; value < 100; value += 0.37f)
    x.push_back(value);
  int64_t count = x.size();
  x.resize(padded(count));
  std::vector<float> weight = perToken<float>(count), sigmoid = perToken<float>(count), softplus = perToken<float>(count),
                     weighed = perToken<float>(count);
  auto kernels = compile("language", {{"TM", text(width)}});
  ASSERT_TRUE(kernels);
  kernels->set("tokens", count);
  for (int64_t i = 0; i < count; ++i)
    weight[i] = i < 3 ? 0 : 0.5f;
  kernels->bind("x", x.data()), kernels->bind("w", weight.data()), kernels->bind("sigmoid", sigmoid.data());
  kernels->bind("softplus", softplus.data()), kernels->bind("weighed", weighed.data());
  kernels->run("language");
  auto expectNear = [](double want, float got, const char *name, float at) {
    if (std::isnan(want) || std::isinf(want))
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : want == got) << name << " of " << at << " is " << got;
    else
      EXPECT_NEAR(want, got, 3e-7 * std::fabs(want) + 0x1p-149) << name << " of " << at;
  };
  for (int64_t i = 0; i < count; ++i) {
    double v = x[i], e = std::exp(v);
    expectNear(v > 0 ? 1 / (1 + std::exp(-v)) : e / (1 + e), sigmoid[i], "sigmoid", x[i]);
    expectNear(v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(e), softplus[i], "softplus", x[i]);
    EXPECT_EQ(i < 3 ? 0 : 0.5f * x[i], weighed[i]) << "of " << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, CpuElementwise, testing::ValuesIn(hostTiers()), nameOfTier);
INSTANTIATE_TEST_SUITE_P(Tiers, CpuStatistics, testing::ValuesIn(hostTiers()), nameOfTier);
} // namespace
