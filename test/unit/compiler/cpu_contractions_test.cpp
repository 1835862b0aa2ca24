// cpu_contractions_test.cpp - pack, project, contract and contract_sparse as machine code against
// plain loops, on every tier that this machine has.
#include "test/unit/compiler/CpuKernelTest.h"
using namespace logitile;

namespace {
class CpuContractions : public CpuKernelTest {
protected:
  /// Rows of 'source' (through 'map') packed by the kernel under test.
  std::vector<float> pack(Matrix &source, const std::vector<int32_t> &map, Number to, bool isRows);
  /// Packed as operands of contractions are on this tier.
  Number operand(Number type) const { return type == Number::BF16 && tier.hasBf16Dot ? Number::BF16 : Number::F32; }
  /// Of products of such operands, where the tier has a choice: what schedules choose.
  std::string algorithm(Number operand) const { return tier.hasAmxTiles && operand == Number::BF16 ? "amx_tiles" : "panels"; }
};

/// Where element (i, k) of a packed buffer lies.
int64_t packedIndex(Number type, int64_t width, int64_t stride, bool isRows, int64_t i, int64_t k) {
  int64_t lane = isRows ? i % width : k % width, inner = isRows ? k : i, panel = isRows ? i / width : k / width;
  if (type == Number::F32)
    return panel * stride + inner * width + lane;
  return panel * stride + inner / 2 * 2 * width + lane * 2 + inner % 2;
}
int64_t panelStride(Number type, int64_t width, int64_t inner) { return (type == Number::F32 ? inner : (inner + 1) / 2 * 2) * width; }

std::vector<float> CpuContractions::pack(Matrix &source, const std::vector<int32_t> &map, Number to, bool isRows) {
  int64_t count = source.rows, size = source.columns, tm = 2 * width;
  auto kernels = compile("pack", {{"LAYOUT", isRows ? "row_panels" : "column_panels"},
                                  {"D", text(size)},
                                  {"IN", nameOf(source.type)},
                                  {"OP", nameOf(to)},
                                  {"TM", text(tm)}});
  if (!kernels)
    return {};
  int64_t stride = panelStride(to, width, isRows ? size : padded(count)), panels = padded(isRows ? count : size) / width;
  std::vector<float> memory(stride * panels + 64, NAN);
  for (int64_t i = 0; i < stride * panels; ++i) // what is not written must be seen
    put(to, memory.data(), i, 77);
  kernels->set("tokens", count);
  kernels->bind("map", const_cast<int32_t *>(map.data()));
  kernels->bind("x", source.data(), source.stride0, source.stride1);
  kernels->bind("p", memory.data(), stride, stride);
  kernels->run("pack");
  return memory;
}

// ---- pack ---------------------------------------------------------------------------------------

struct Strides {
  const char *name;
  int64_t rows, columns; // of the memory
  int64_t stride0, stride1;
};

TEST_P(CpuContractions, PackRowsLaysTokensInLanesAndPadsWithZeros) {
  for (int64_t count : {int64_t(1), width + 1, 2 * width + 3})
    for (int64_t size : {1, 7, 70})
      for (Number in : {Number::F32, Number::BF16, Number::F16})
        for (Number out : {Number::F32, Number::BF16}) {
          Matrix source(in, count, size);
          source.fillRandom(random);
          std::vector<float> packed = pack(source, reversedMap(count), out, /*isRows=*/true);
          int64_t stride = panelStride(out, width, size), inner = out == Number::F32 ? size : (size + 1) / 2 * 2;
          for (int64_t i = 0; i < padded(count); ++i)
            for (int64_t k = 0; k < inner; ++k) {
              float want = i < count && k < size ? rounded(out, source.at(count - 1 - i, k)) : 0;
              ASSERT_EQ(want, get(out, packed.data(), packedIndex(out, width, stride, true, i, k)))
                  << nameOf(in) << " to " << nameOf(out) << " token " << i << " of " << count << ", " << k << " of " << size;
            }
        }
}

TEST_P(CpuContractions, PackColumnsLaysHiddenInLanesAndPadsWithZeros) {
  for (int64_t count : {int64_t(1), width + 1, 2 * width + 3})
    for (int64_t size : {int64_t(1), width, 2 * width + 5})
      for (Number in : {Number::F32, Number::BF16, Number::F16})
        for (Number out : {Number::F32, Number::BF16}) {
          Matrix source(in, count, size);
          source.fillRandom(random);
          std::vector<float> packed = pack(source, reversedMap(count), out, /*isRows=*/false);
          int64_t stride = panelStride(out, width, padded(count)), inner = out == Number::F32 ? count : (count + 1) / 2 * 2;
          for (int64_t i = 0; i < inner; ++i)
            for (int64_t k = 0; k < padded(size); ++k) {
              float want = i < count && k < size ? rounded(out, source.at(count - 1 - i, k)) : 0;
              ASSERT_EQ(want, get(out, packed.data(), packedIndex(out, width, stride, false, i, k)))
                  << nameOf(in) << " to " << nameOf(out) << " token " << i << " of " << count << ", " << k << " of " << size;
            }
        }
}

TEST_P(CpuContractions, PackTakesAnyStrides) {
  int64_t count = width + 3, size = width + 5;
  std::vector<std::pair<int64_t, int64_t>> strides{{-size, 1}, {size, -1}, {1, count}, {3 * size, 3}, {0, 1}, {size, 0}};
  for (auto [stride0, stride1] : strides)
    for (Number type : {Number::F32, Number::BF16})
      for (bool isRows : {true, false}) {
        Matrix source(type, count, size, stride0, stride1);
        source.fillRandom(random);
        std::vector<float> packed = pack(source, reversedMap(count), type, isRows);
        int64_t stride = panelStride(type, width, isRows ? size : padded(count));
        for (int64_t i = 0; i < count; ++i)
          for (int64_t k = 0; k < size; ++k)
            ASSERT_EQ(source.at(count - 1 - i, k), get(type, packed.data(), packedIndex(type, width, stride, isRows, i, k)))
                << stride0 << ", " << stride1 << (isRows ? " rows" : " columns");
      }
}

// ---- project ------------------------------------------------------------------------------------

TEST_P(CpuContractions, ProjectGivesTheProductForAllTypesAndTails) {
  struct Case {
    int64_t count, size, vocab, tn, tk;
  };
  int64_t w = width;
  for (Case c : {Case{1, 1, 1, 14, 32}, Case{w + 1, 33, 29, 14, 16}, Case{2 * w + 3, 20, 64, 32, 20}, Case{2 * w, 47, 13, 29, 46},
                 Case{w, 97, 100, 50, 64}})
    for (Number in : {Number::F32, Number::BF16, Number::F16})
      for (Number kept : {Number::F32, Number::F16}) {
        Number op = operand(in);
        Matrix x(in, c.count, c.size), weight(in, c.vocab, c.size), z(kept, c.count, c.vocab, 1, padded(c.count) + 8);
        x.fillRandom(random), weight.fillRandom(random);
        std::vector<float> packed = pack(x, reversedMap(c.count), op, true);
        auto kernels = compile("project", {{"ALGORITHM", algorithm(op)},
                                           {"D", text(c.size)},
                                           {"OP", nameOf(op)},
                                           {"IN", nameOf(in)},
                                           {"KEPT", nameOf(kept)},
                                           {"V", text(c.vocab)},
                                           {"TM", text(2 * w)},
                                           {"TN", text(c.tn)},
                                           {"TK", text(c.tk)}});
        ASSERT_TRUE(kernels);
        kernels->set("tokens", c.count);
        kernels->bind("x", packed.data(), panelStride(op, width, c.size), 0);
        kernels->bind("w", weight.data(), weight.stride0, weight.stride1);
        kernels->bind("z", z.data(), 1, z.stride1);
        kernels->run("project", 2);
        for (int64_t i = 0; i < c.count; ++i)
          for (int64_t v = 0; v < c.vocab; ++v) {
            double want = 0;
            for (int64_t d = 0; d < c.size; ++d)
              want += double(x.at(c.count - 1 - i, d)) * weight.at(v, d);
            ASSERT_NEAR(want, z.at(i, v), kept == Number::F32 ? 1e-5 : 2e-2)
                << nameOf(in) << " token " << i << " column " << v << " of " << c.vocab;
          }
        ASSERT_TRUE(z.isCleanOutside(padded(c.count)));
      }
}

/// Both products lie where they are kept, and what reads them afterwards finds both.
TEST_P(CpuContractions, ProjectKeepsTwoProductsThatAreReadAgain) {
  int64_t count = width + 1, size = 33, vocab = 29;
  for (Number in : {Number::F32, Number::BF16}) {
    Number op = operand(in);
    Matrix x(in, count, size), w(in, vocab, size), u(in, vocab, size);
    Matrix z(Number::F32, count, vocab, 1, padded(count)), t(Number::F32, count, vocab, 1, padded(count)), s(Number::F32, 1, vocab);
    x.fillRandom(random), w.fillRandom(random), u.fillRandom(random);
    std::vector<float> packed = pack(x, reversedMap(count), op, true);
    auto kernels = compile("project_two", {{"ALGORITHM", algorithm(op)},
                                           {"D", text(size)}, {"OP", nameOf(op)}, {"IN", nameOf(in)}, {"V", text(vocab)},
                                           {"TM", text(2 * width)}, {"TN", "14"}});
    ASSERT_TRUE(kernels);
    kernels->set("tokens", count);
    kernels->bind("x", packed.data(), panelStride(op, width, size), 0);
    for (auto [role, matrix] : {std::pair("w", &w), {"u", &u}, {"z", &z}, {"t", &t}, {"s", &s}})
      kernels->bind(role, matrix->data(), matrix->stride0, matrix->stride1);
    kernels->run("project");
    for (int64_t v = 0; v < vocab; ++v) {
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        double a = 0, b = 0;
        for (int64_t d = 0; d < size; ++d) {
          a += double(x.at(count - 1 - i, d)) * w.at(v, d);
          b += double(x.at(count - 1 - i, d)) * u.at(v, d);
        }
        ASSERT_NEAR(a, z.at(i, v), 1e-5) << nameOf(in) << " token " << i << " column " << v;
        ASSERT_NEAR(b, t.at(i, v), 1e-5) << nameOf(in) << " token " << i << " column " << v;
        sum += a - b;
      }
      ASSERT_NEAR(sum, s.at(0, v), 1e-4) << nameOf(in) << " column " << v;
    }
  }
}

TEST_P(CpuContractions, ProjectTakesAnyStridesOfTheHead) {
  int64_t count = width + 2, size = 35, vocab = 31;
  std::vector<std::pair<int64_t, int64_t>> strides{{1, vocab}, {-size, 1}, {size, -1}, {2 * size, 2}, {0, 1}};
  for (Number in : {Number::F32, Number::BF16})
    for (auto [stride0, stride1] : strides) {
      Number op = operand(in);
      Matrix x(in, count, size), weight(in, vocab, size, stride0, stride1), z(Number::F32, count, vocab, 1, padded(count));
      x.fillRandom(random), weight.fillRandom(random);
      std::vector<float> packed = pack(x, reversedMap(count), op, true);
      auto kernels = compile("project", {{"ALGORITHM", algorithm(op)},
                                         {"D", text(size)},
                                         {"OP", nameOf(op)},
                                         {"IN", nameOf(in)},
                                         {"KEPT", "f32"},
                                         {"V", text(vocab)},
                                         {"TM", text(width)},
                                         {"TN", "16"},
                                         {"TK", "16"}});
      ASSERT_TRUE(kernels);
      kernels->set("tokens", count);
      kernels->bind("x", packed.data(), panelStride(op, width, size), 0);
      kernels->bind("w", weight.data(), stride0, stride1);
      kernels->bind("z", z.data(), 1, z.stride1);
      kernels->run("project");
      for (int64_t i = 0; i < count; ++i)
        for (int64_t v = 0; v < vocab; ++v) {
          double want = 0;
          for (int64_t d = 0; d < size; ++d)
            want += double(x.at(count - 1 - i, d)) * weight.at(v, d);
          ASSERT_NEAR(want, z.at(i, v), 1e-5) << stride0 << ", " << stride1;
        }
    }
}

// ---- contract -----------------------------------------------------------------------------------

struct GradientCase {
  Number g, w, out;
  int64_t count, size, vocab;
  bool accumulate;
};
/// Gradients and their columns, with whatever in the lanes after the last token that a store
/// leaves there.
Matrix makeGradient(Number type, int64_t count, int64_t vocab, int64_t stride, std::mt19937 &random) {
  Matrix g(type, count, vocab, 1, stride);
  g.fillRandom(random);
  if (type != Number::F32 && count % 2 != 0)
    for (int64_t v = 0; v < vocab; ++v)
      g.set(count, v, 0);
  return g;
}

std::vector<GradientCase> gradientCases(int64_t width, bool mayPair) {
  std::vector<GradientCase> cases;
  for (bool accumulate : {false, true})
    for (Number in : {Number::F32, Number::BF16, Number::F16}) {
      Number g = in == Number::BF16 && mayPair ? Number::BF16 : Number::F32;
      cases.push_back({g, in, in, 3, 1, 5, accumulate});
      cases.push_back({g, in, Number::F32, 2 * width + 5, 2 * width + 3, 37, accumulate});
      cases.push_back({g, in, in, 7 * width + 1, width, 64, accumulate});
    }
  return cases;
}

TEST_P(CpuContractions, ContractGivesGradientsOfHiddenStatesThroughTheMap) {
  std::vector<GradientCase> cases = gradientCases(width, tier.hasBf16Dot);
  cases.push_back({Number::BF16, Number::F32, Number::F32, width + 3, 9, 21, false}); // widened
  for (const GradientCase &c : cases) {
    auto kernels = compile("contract_hidden", {{"ALGORITHM", c.w == Number::BF16 ? algorithm(c.g) : "panels"},
                                               {"TK", text(c.vocab > 37 ? 48 : 16)},
                                               {"V", text(c.vocab)},
                                               {"D", text(c.size)},
                                               {"G", nameOf(c.g)},
                                               {"IN", nameOf(c.w)},
                                               {"OUT", nameOf(c.out)},
                                               {"TM", text(6 * width)},
                                               {"TD", text(2 * width)}});
    ASSERT_TRUE(kernels);
    Matrix g = makeGradient(c.g, c.count, c.vocab, padded(c.count) + 8, random), weight(c.w, c.vocab, c.size), out(c.out, c.count, c.size);
    weight.fillRandom(random), out.fillRandom(random);
    Matrix before = out;
    std::vector<int32_t> map = reversedMap(c.count);
    kernels->set("tokens", c.count), kernels->set("accumulate_tokens", c.accumulate);
    kernels->bind("map", map.data());
    kernels->bind("g", g.data(), 1, g.stride1);
    kernels->bind("w", weight.data(), weight.stride0, 1);
    kernels->bind("out", out.data(), out.stride0, 1);
    kernels->run("contract");
    for (int64_t i = 0; i < c.count; ++i)
      for (int64_t d = 0; d < c.size; ++d) {
        double want = c.accumulate ? before.at(c.count - 1 - i, d) : 0;
        for (int64_t v = 2; v < c.vocab; ++v)
          want += double(g.at(i, v)) * weight.at(v, d);
        double tolerance = c.out == Number::F32 ? 1e-5 : 0.01 * (1 + std::fabs(want));
        ASSERT_NEAR(want, out.at(c.count - 1 - i, d), tolerance)
            << nameOf(c.g) << " " << nameOf(c.w) << " token " << i << " of " << c.count << ", " << d;
      }
    ASSERT_TRUE(out.isCleanOutside());
  }
}

TEST_P(CpuContractions, ContractTransposedGivesGradientsOfTheHead) {
  std::vector<GradientCase> cases = gradientCases(width, tier.hasBf16Dot);
  for (GradientCase c : cases) {
    Number op = c.g == Number::BF16 ? Number::BF16 : Number::F32;
    auto kernels = compile("contract_weight", {{"ALGORITHM", algorithm(op)},
                                               {"TK", text(c.vocab > 37 ? 48 : 16)},
                                               {"V", text(c.vocab)},
                                               {"D", text(c.size)},
                                               {"G", nameOf(c.g)},
                                               {"OP", nameOf(op)},
                                               {"OUT", nameOf(c.out)},
                                               {"TN", "28"},
                                               {"TD", text(2 * width)}});
    ASSERT_TRUE(kernels);
    Matrix g = makeGradient(c.g, c.count, c.vocab, padded(c.count) + 8, random), x(c.w, c.count, c.size), out(c.out, c.vocab, c.size);
    x.fillRandom(random), out.fillRandom(random);
    Matrix before = out;
    std::vector<float> packed = pack(x, reversedMap(c.count), op, false);
    kernels->set("tokens", c.count), kernels->set("accumulate_tokens", c.accumulate);
    kernels->bind("g", g.data(), 1, g.stride1);
    kernels->bind("x", packed.data(), 0, panelStride(op, width, padded(c.count)));
    kernels->bind("out", out.data(), out.stride0, 1);
    kernels->run("contract", 2);
    for (int64_t v = 0; v < c.vocab; ++v)
      for (int64_t d = 0; d < c.size; ++d) {
        double want = c.accumulate ? before.at(v, d) : 0;
        for (int64_t i = 0; i < c.count; ++i)
          want += double(g.at(i, v)) * x.at(c.count - 1 - i, d);
        double tolerance = c.out == Number::F32 ? 2e-5 : 0.02 * (1 + std::fabs(want));
        ASSERT_NEAR(want, out.at(v, d), tolerance) << nameOf(c.g) << " column " << v << " of " << c.vocab << ", " << d;
      }
    ASSERT_TRUE(out.isCleanOutside());
  }
}

TEST_P(CpuContractions, ContractOverNothingIsZero) {
  auto kernels = compile("contract_nothing", {{"TM", text(width)}});
  ASSERT_TRUE(kernels);
  Matrix g(Number::F32, 3, 8, 1, width), weight(Number::F32, 8, 5), out(Number::F32, 3, 5);
  kernels->set("tokens", 3), kernels->set("vocab_split_end", 0);
  kernels->bind("g", g.data(), 1, width), kernels->bind("w", weight.data(), 5, 1), kernels->bind("out", out.data(), 5, 1);
  kernels->run("contract");
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t d = 0; d < 5; ++d)
      EXPECT_EQ(0, out.at(i, d));
}

// ---- contract_sparse ----------------------------------------------------------------------------

TEST_P(CpuContractions, ContractTermsAddsRowsOfTheHead) {
  int64_t count = 2 * width + 5, size = width + 3, vocab = 23;
  for (Number in : {Number::F32, Number::BF16, Number::F16}) {
    auto kernels = compile("contract_sparse_hidden", {{"V", text(vocab)}, {"D", text(size)}, {"IN", nameOf(in)}, {"TM", text(width)}});
    ASSERT_TRUE(kernels);
    Matrix g = makeGradient(Number::F32, count, vocab, padded(count), random), weight(in, vocab, size), a(Number::F32, count, 1),
           out(Number::F32, count, size);
    weight.fillRandom(random), a.fillRandom(random);
    std::vector<int32_t> columns = randomColumns(count, vocab, 5, -100);
    kernels->set("tokens", count);
    kernels->bind("g", g.data(), 1, g.stride1), kernels->bind("w", weight.data(), size, 1), kernels->bind("out", out.data(), size, 1);
    kernels->bind("c", columns.data()), kernels->bind("a", a.data());
    kernels->run("terms");
    for (int64_t i = 0; i < count; ++i)
      for (int64_t d = 0; d < size; ++d) {
        double want = columns[i] < 0 ? 0 : double(a.at(i)) * weight.at(columns[i], d);
        for (int64_t v = 0; v < vocab; ++v)
          want += double(g.at(i, v)) * weight.at(v, d);
        ASSERT_NEAR(want, out.at(i, d), 1e-5) << nameOf(in) << " token " << i << ", " << d;
      }
  }
}

TEST_P(CpuContractions, ContractTermsAddsHiddenStatesToTheRowsOfTheirTokens) {
  int64_t count = 2 * width + 5, size = width + 3, vocab = 23;
  for (Number in : {Number::F32, Number::BF16}) {
    Number op = operand(in);
    auto kernels = compile("contract_sparse_weight", {{"ALGORITHM", algorithm(op)},
                                                     {"V", text(vocab)}, {"D", text(size)}, {"OP", nameOf(op)}, {"TM", text(width)}});
    ASSERT_TRUE(kernels);
    Matrix g(op, count, vocab, 1, padded(count)), x(in, count, size), a(Number::F32, count, 1), out(Number::F32, vocab, size);
    x.fillRandom(random), a.fillRandom(random);
    for (int64_t v = 0; v < vocab; ++v)
      for (int64_t i = 0; i < padded(count); ++i)
        g.set(i, v, 0);
    std::vector<int32_t> columns = randomColumns(count, vocab, 5, -1);
    std::vector<float> packed = pack(x, reversedMap(count), op, false);
    kernels->set("tokens", count);
    kernels->bind("g", g.data(), 1, g.stride1), kernels->bind("out", out.data(), size, 1);
    kernels->bind("x", packed.data(), 0, panelStride(op, width, padded(count)));
    kernels->bind("c", columns.data()), kernels->bind("a", a.data());
    kernels->run("terms");
    for (int64_t v = 0; v < vocab; ++v)
      for (int64_t d = 0; d < size; ++d) {
        double want = 0;
        for (int64_t i = 0; i < count; ++i)
          want += columns[i] == v ? 2.0 * a.at(i) * x.at(count - 1 - i, d) : 0;
        ASSERT_NEAR(want, out.at(v, d), 1e-5) << nameOf(in) << " column " << v << ", " << d;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, CpuContractions, testing::ValuesIn(hostTiers()), nameOfTier);
} // namespace
