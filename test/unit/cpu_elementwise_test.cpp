// cpu_elementwise_test.cpp - row states, maps, single entries, sums, loads and stores as machine code against plain loops, on
// every tier that this machine has.
#include "test/unit/KernelHarness.h"
#include "test/unit/Numbers.h"
#include <gtest/gtest.h>
#include <limits>
using namespace logitile;

namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class CpuElementwise : public testing::TestWithParam<CpuTier> {
protected:
  const CpuTierInfo &tier = getTierInfo(GetParam());
  const int64_t width = tier.panelWidth();
  std::mt19937 random{7};

  std::unique_ptr<KernelHarness> compile(const std::string &text) {
    std::string error;
    auto kernels = KernelHarness::compile(text, GetParam(), error);
    EXPECT_TRUE(kernels) << error << text;
    return kernels;
  }
  int64_t padded(int64_t count) const { return (count + width - 1) / width * width; }
  Matrix columnMajor(Number type, int64_t count, int64_t vocab) { return Matrix(type, count, vocab, 1, padded(count) + 2); }
  /// One value per token, and lanes behind the last one.
  template <typename T>
  std::vector<T> perToken(int64_t count) const {
    return std::vector<T>(padded(count), T());
  }
  std::vector<float> randomTokens(int64_t count, float scale = 1) {
    std::vector<float> values = perToken<float>(count);
    std::uniform_real_distribution<float> uniform(-scale, scale);
    for (float &value : values)
      value = uniform(random);
    return values;
  }
};

// ---- update_rows --------------------------------------------------------------------------------------------------------

constexpr const char *kStatistics = R"(
logitile.kernel @sweep(%n: index from "tokens", %z: !logitile.view<?x$Vxf32, column_major> from "z", %t: !logitile.view<?xi32> from "t",
                       %pm: !logitile.view<2x?xf32> from "max", %ps: !logitile.view<2x?xf32> from "sum", %pp: !logitile.view<2x?xf32> from "pick") {
  %tn = arith.constant $TN : index
  %slab = arith.constant $SLAB : index
  %v = arith.constant $V : index
  scf.forall (%row, %s) = (0, 0) to (%n, 2) step ($TM, 1) {
    %first = arith.muli %s, %slab : index
    %next = arith.addi %first, %slab : index
    %end = arith.minui %next, %v : index
    %start:3 = logitile.init_rows : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32> {
      %low = arith.constant 0xFF7FFFFF : f32
      %zero = arith.constant 0.0 : f32
      logitile.yield %low, %zero, %zero : f32, f32, f32
    }
    %state:3 = scf.for %column = %first to %end step %tn iter_args(%m = %start#0, %l = %start#1, %p = %start#2)
        -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) {
      %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx$TNxf32>
      %target = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<$TMx1xi32>
      %new:3 = logitile.update_rows(%m, %l, %p) with (%tile, %target) at %column below $V
          : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>), (!logitile.tile<$TMx$TNxf32>, !logitile.tile<$TMx1xi32>) init {
        %low = arith.constant 0xFF7FFFFF : f32
        %zero = arith.constant 0.0 : f32
        logitile.yield %low, %zero, %zero : f32, f32, f32
      } bound {
      ^bb0(%x: f32, %i: i32):
        logitile.yield %x : f32
      } update {
      ^bb0(%max: f32, %sum: f32, %pick: f32, %x: f32, %i: i32):
        %d = arith.subf %x, %max : f32
        %e = math.exp %d : f32
        %all = arith.addf %sum, %e : f32
        %c = logitile.column : i32
        %is = arith.cmpi eq, %c, %i : i32
        %picked = arith.select %is, %x, %pick : f32
        logitile.yield %max, %all, %picked : f32, f32, f32
      } merge {
      ^bb0(%ma: f32, %sa: f32, %pa: f32, %mb: f32, %sb: f32, %pb: f32, %x: f32, %i: i32):
        %gt = arith.cmpf ogt, %mb, %ma : f32
        %max = arith.select %gt, %mb, %ma : f32
        %da = arith.subf %ma, %max : f32
        %db = arith.subf %mb, %max : f32
        %ea = math.exp %da : f32
        %eb = math.exp %db : f32
        %wa = logitile.weigh %ea, %sa : f32
        %wb = logitile.weigh %eb, %sb : f32
        %sum = arith.addf %wa, %wb : f32
        %pick = arith.addf %pa, %pb : f32
        logitile.yield %max, %sum, %pick : f32, f32, f32
      }
      scf.yield %new#0, %new#1, %new#2 : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>
    }
    logitile.store %state#0 to %pm at [%s, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<2x?xf32>
    logitile.store %state#1 to %ps at [%s, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<2x?xf32>
    logitile.store %state#2 to %pp at [%s, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<2x?xf32>
  }
})";

/// Runs the sweep over 'z' and gives max, sum and pick of both slabs.
struct Statistics {
  std::vector<float> max, sum, pick;
  int64_t stride;
  float at(const std::vector<float> &values, int64_t slab, int64_t token) const { return values[slab * stride + token]; }
  double logSum(int64_t token) const {
    double most = std::max(at(max, 0, token), at(max, 1, token));
    return most + std::log(at(sum, 0, token) * std::exp(at(max, 0, token) - most) + at(sum, 1, token) * std::exp(at(max, 1, token) - most));
  }
};
class CpuStatistics : public CpuElementwise {
protected:
  static constexpr int64_t kVocab = 37, kSlab = 24;
  Statistics sweep(Matrix &z, std::vector<int32_t> target) {
    int64_t count = z.rows, stride = padded(count) + 3;
    Statistics s{std::vector<float>(2 * stride + width, 9), std::vector<float>(2 * stride + width, 9), std::vector<float>(2 * stride + width, 9), stride};
    auto kernels = compile(fill(kStatistics, {{"V", text(kVocab)}, {"TN", "8"}, {"SLAB", text(kSlab)}, {"TM", text(2 * width)}}));
    if (!kernels)
      return s;
    kernels->set("tokens", count);
    kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("t", target.data());
    kernels->bind("max", s.max.data(), stride, 1), kernels->bind("sum", s.sum.data(), stride, 1), kernels->bind("pick", s.pick.data(), stride, 1);
    kernels->run("sweep", 2);
    return s;
  }
};

TEST_P(CpuStatistics, SweepLeavesMaximumSumAndPickOfEverySlab) {
  for (int64_t count : {int64_t(1), 2 * width, 2 * width + 7}) {
    Matrix z = columnMajor(Number::F32, count, kVocab);
    z.fillRandom(random, 8);
    std::vector<int32_t> target = perToken<int32_t>(count);
    for (int64_t i = 0; i < count; ++i)
      target[i] = i % 4 == 3 ? -100 : static_cast<int32_t>(random() % kVocab);
    Statistics s = sweep(z, target);
    for (int64_t slab = 0; slab < 2; ++slab)
      for (int64_t i = 0; i < count; ++i) {
        int64_t first = slab * kSlab, end = std::min(first + kSlab, kVocab);
        float most = -kInfinity;
        double sum = 0, pick = 0;
        for (int64_t v = first; v < end; ++v)
          most = std::max(most, z.at(i, v));
        for (int64_t v = first; v < end; ++v)
          sum += std::exp(double(z.at(i, v)) - most), pick += v == target[i] ? z.at(i, v) : 0;
        ASSERT_EQ(most, s.at(s.max, slab, i));
        ASSERT_NEAR(sum, s.at(s.sum, slab, i), 1e-6 * sum);
        ASSERT_EQ(float(pick), s.at(s.pick, slab, i)) << "target " << target[i];
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
  for (int64_t masked : {8, 24, 37}) { // a tile, a slab, everything
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
  auto kernels = compile(fill(R"(
logitile.kernel @sweep(%n: index from "tokens", %z: !logitile.view<?x$Vxf32, column_major> from "z", %b: !logitile.view<$Vxf32> from "bias",
                       %pm: !logitile.view<1x?xf32> from "max", %pi: !logitile.view<1x?xi32> from "arg", %pc: !logitile.view<1x?xi32> from "count", %pa: !logitile.view<1x?xi1> from "any") {
  %zero = arith.constant 0 : index
  %tn = arith.constant 8 : index
  %v = arith.constant $V : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %start:4 = logitile.init_rows : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1> {
      %low = arith.constant 0xFF7FFFFF : f32
      %none = arith.constant -1 : i32
      %c0 = arith.constant 0 : i32
      %no = arith.constant false
      logitile.yield %low, %none, %c0, %no : f32, i32, i32, i1
    }
    %state:4 = scf.for %column = %zero to %v step %tn iter_args(%m = %start#0, %i = %start#1, %c = %start#2, %a = %start#3)
        -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>) {
      %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
      %bias = logitile.load %b at [%column] : !logitile.view<$Vxf32> -> !logitile.tile<1x8xf32>
      %new:4 = logitile.update_rows(%m, %i, %c, %a) with (%tile, %bias) at %column below $V
          : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>), (!logitile.tile<$TMx8xf32>, !logitile.tile<1x8xf32>) init {
        %low = arith.constant 0xFF7FFFFF : f32
        %none = arith.constant -1 : i32
        %c0 = arith.constant 0 : i32
        %no = arith.constant false
        logitile.yield %low, %none, %c0, %no : f32, i32, i32, i1
      } bound {
      ^bb0(%x: f32, %bias_in: f32):
        %y = arith.addf %x, %bias_in : f32
        logitile.yield %y : f32
      } update {
      ^bb0(%max: f32, %arg: i32, %hits: i32, %any: i1, %x: f32, %bias_in: f32):
        %y = arith.addf %x, %bias_in : f32
        %col = logitile.column : i32
        %is = arith.cmpf oeq, %y, %max : f32
        %none = arith.constant -1 : i32
        %free = arith.cmpi eq, %arg, %none : i32
        %first = arith.andi %is, %free : i1
        %newArg = arith.select %first, %col, %arg : i32
        %zeroF = arith.constant 0.0 : f32
        %up = arith.cmpf ogt, %y, %zeroF : f32
        %one = arith.extui %up : i1 to i32
        %newHits = arith.addi %hits, %one : i32
        %large = arith.constant 1.5 : f32
        %over = arith.cmpf ogt, %y, %large : f32
        %newAny = arith.ori %any, %over : i1
        logitile.yield %max, %newArg, %newHits, %newAny : f32, i32, i32, i1
      } merge {
      ^bb0(%ma: f32, %ia: i32, %ca: i32, %aa: i1, %mb: f32, %ib: i32, %cb: i32, %ab: i1, %x: f32, %bias_in: f32):
        %gt = arith.cmpf ogt, %mb, %ma : f32
        %max = arith.select %gt, %mb, %ma : f32
        %arg = arith.select %gt, %ib, %ia : i32
        %hits = arith.addi %ca, %cb : i32
        %any = arith.ori %aa, %ab : i1
        logitile.yield %max, %arg, %hits, %any : f32, i32, i32, i1
      }
      scf.yield %new#0, %new#1, %new#2, %new#3 : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>
    }
    logitile.store %state#0 to %pm at [%zero, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<1x?xf32>
    logitile.store %state#1 to %pi at [%zero, %row] : !logitile.tile<$TMx1xi32> to !logitile.view<1x?xi32>
    logitile.store %state#2 to %pc at [%zero, %row] : !logitile.tile<$TMx1xi32> to !logitile.view<1x?xi32>
    logitile.store %state#3 to %pa at [%zero, %row] : !logitile.tile<$TMx1xi1> to !logitile.view<1x?xi1>
  }
})",
                              {{"V", text(vocab)}, {"TM", text(width)}}));
  ASSERT_TRUE(kernels);
  Matrix z = columnMajor(Number::F32, count, vocab), bias(Number::F32, vocab, 1);
  z.fillRandom(random), bias.fillRandom(random);
  z.set(2, 5, 3), z.set(2, 11, 3 + bias.at(5) - bias.at(11)); // nearly a tie
  std::vector<float> max = perToken<float>(count);
  std::vector<int32_t> arg = perToken<int32_t>(count), hits = perToken<int32_t>(count);
  std::vector<uint8_t> any = perToken<uint8_t>(count);
  kernels->set("tokens", count);
  kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("bias", bias.data());
  kernels->bind("max", max.data(), count, 1), kernels->bind("arg", arg.data(), count, 1), kernels->bind("count", hits.data(), count, 1), kernels->bind("any", any.data(), count, 1);
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
  auto kernels = compile(fill(R"(
logitile.kernel @sweep(%n: index from "tokens", %z: !logitile.view<?x$Vxf32, column_major> from "z", %t: !logitile.view<?xi32> from "t", %f: !logitile.view<?xi1> from "f",
                       %pa: !logitile.view<1x?xf32> from "a", %pb: !logitile.view<1x?xi32> from "b") {
  %zero = arith.constant 0 : index
  %tn = arith.constant 8 : index
  %v = arith.constant $V : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %start:2 = logitile.init_rows : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32> {
      %c0 = arith.constant 0.0 : f32
      %i0 = arith.constant 0 : i32
      logitile.yield %c0, %i0 : f32, i32
    }
    %state:2 = scf.for %column = %zero to %v step %tn iter_args(%a = %start#0, %b = %start#1) -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>) {
      %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
      %target = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<$TMx1xi32>
      %flag = logitile.load %f at [%row] : !logitile.view<?xi1> -> !logitile.tile<$TMx1xi1>
      %new:2 = logitile.update_rows(%a, %b) with (%tile, %target, %flag) at %column below $V
          : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>), (!logitile.tile<$TMx8xf32>, !logitile.tile<$TMx1xi32>, !logitile.tile<$TMx1xi1>) init {
        %c0 = arith.constant 0.0 : f32
        %i0 = arith.constant 0 : i32
        logitile.yield %c0, %i0 : f32, i32
      } bound {
      ^bb0(%x: f32, %i: i32, %ok: i1):
        logitile.yield
      } update {
      ^bb0(%old: f32, %oldColumn: i32, %x: f32, %i: i32, %ok: i1):
        %one = arith.constant 1 : i32
        %next = arith.addi %i, %one : i32
        %col = logitile.column : i32
        %is = arith.cmpi eq, %next, %col : i32
        %oneF = arith.constant 1.0 : f32
        %y = arith.addf %x, %oneF : f32
        %picked = arith.select %is, %y, %old : f32
        %isHere = arith.cmpi eq, %col, %i : i32
        %both = arith.andi %ok, %isHere : i1
        %pickedColumn = arith.select %both, %col, %oldColumn : i32
        logitile.yield %picked, %pickedColumn : f32, i32
      } merge {
      ^bb0(%pa_in: f32, %ca: i32, %pb_in: f32, %cb: i32, %x: f32, %i: i32, %ok: i1):
        %sum = arith.addf %pa_in, %pb_in : f32
        %sumColumn = arith.addi %ca, %cb : i32
        logitile.yield %sum, %sumColumn : f32, i32
      }
      scf.yield %new#0, %new#1 : !logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi32>
    }
    logitile.store %state#0 to %pa at [%zero, %row] : !logitile.tile<$TMx1xf32> to !logitile.view<1x?xf32>
    logitile.store %state#1 to %pb at [%zero, %row] : !logitile.tile<$TMx1xi32> to !logitile.view<1x?xi32>
  }
})",
                              {{"V", text(vocab)}, {"TM", text(width)}}));
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

// ---- map, terms, stores ---------------------------------------------------------------------------------------------------

/// g = exp(z - lse) * up + bias[column] * scale, in place of z or beside it.
constexpr const char *kGradient = R"(
logitile.kernel @gradient(%n: index from "tokens", %z: !logitile.view<?x$Vxf32, column_major> from "z", %lse: !logitile.view<?xf32> from "lse",
                          %b: !logitile.view<$Vxf32> from "bias", %s: !logitile.view<1xf32> from "scale", %t: !logitile.view<?xi32> from "t", %a: !logitile.view<?xf32> from "a",
                          %g: !logitile.view<?x$Vx$G, column_major> from "g") {
  %zero = arith.constant 0 : index
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
    %l = logitile.load %lse at [%row] : !logitile.view<?xf32> -> !logitile.tile<$TMx1xf32>
    %bias = logitile.load %b at [%column] : !logitile.view<$Vxf32> -> !logitile.tile<1x8xf32>
    %scale = logitile.load %s at [%zero] : !logitile.view<1xf32> -> !logitile.tile<1x1xf32>
    %dz = logitile.map(%tile, %l, %bias, %scale) at %column : (!logitile.tile<$TMx8xf32>, !logitile.tile<$TMx1xf32>, !logitile.tile<1x8xf32>, !logitile.tile<1x1xf32>) -> !logitile.tile<$TMx8xf32> {
    ^bb0(%z_in: f32, %l_in: f32, %b_in: f32, %s_in: f32):
      %x = arith.subf %z_in, %l_in : f32
      %p = math.exp %x : f32
      %c = logitile.column : i32
      %cf = arith.sitofp %c : i32 to f32
      %d = arith.mulf %b_in, %s_in : f32
      %e = arith.mulf %cf, %d : f32
      %sum = arith.addf %p, %e : f32
      logitile.yield %sum : f32
    }
    $TERMS
    logitile.store $RESULT to %g at [%row, %column] : !logitile.tile<$TMx8xf32> to !logitile.view<?x$Vx$G, column_major>
  }
})";
std::string termsText(const char *action) {
  return fill("%exact = logitile.terms $ACTION %dz, [%t, %a] at [%row, %column] below %n : !logitile.tile<$TMx8xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]", {{"ACTION", action}});
}

TEST_P(CpuElementwise, GradientTakesThePlaceOfLogitsWithAllKindsOfInputsAndTerms) {
  int64_t vocab = 21;
  for (int64_t count : {int64_t(1), width + 3})
    for (const char *action : {"", "add", "take"})
      for (Number type : {Number::F32, Number::BF16, Number::F16})
        for (bool inPlace : {true, false}) {
          bool isTerms = *action;
          auto kernels = compile(fill(kGradient, {{"TERMS", isTerms ? termsText(action) : ""}, {"RESULT", isTerms ? "%exact" : "%dz"}, {"V", text(vocab)}, {"G", nameOf(type)}, {"TM", text(2 * width)}}));
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
              if (isTerm && std::string(action) == "take") {
                ASSERT_NEAR(aBefore[i] + want, a[i], 1e-5 * (1 + std::fabs(want)));
                want = 0;
              } else if (isTerm) {
                want += aBefore[i];
              }
              float unit = type == Number::F32 ? 1e-6f : type == Number::F16 ? 5e-4f : 4e-3f;
              ASSERT_NEAR(want, get(type, g, i + v * stride), unit * (1 + 2 * std::fabs(want))) << action << " " << nameOf(type) << " token " << i << " column " << v;
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
      auto kernels = compile(fill(R"(
logitile.kernel @add(%n: index from "tokens", %map: !logitile.view<?xi32> from "map", %z: !logitile.view<?x$Vxf32, column_major> from "z", %q: !logitile.view<?x$Vx$Q> from "q",
                     %g: !logitile.view<?x$Vx$Q> from "g") {
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
    %dense = logitile.load %q at [%row, %column] through %map : !logitile.view<?x$Vx$Q>, !logitile.view<?xi32> -> !logitile.tile<$TMx8xf32>
    %sum = logitile.map(%tile, %dense) at %column : (!logitile.tile<$TMx8xf32>, !logitile.tile<$TMx8xf32>) -> !logitile.tile<$TMx8xf32> {
    ^bb0(%z_in: f32, %q_in: f32):
      %s = arith.addf %z_in, %q_in : f32
      logitile.yield %s : f32
    }
    logitile.store %sum to %g at [%row, %column] through %map : !logitile.tile<$TMx8xf32> to !logitile.view<?x$Vx$Q>, !logitile.view<?xi32>
  }
})",
                                  {{"V", text(vocab)}, {"Q", nameOf(type)}, {"TM", text(width)}}));
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
  auto kernels = compile(fill(R"(
logitile.kernel @select(%n: index from "tokens", %map: !logitile.view<?xi32> from "map", %m: !logitile.view<?x$Vxi1> from "m", %k: !logitile.view<$Vxi1> from "k", %z: !logitile.view<?x$Vxf32, column_major> from "z") {
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %dense = logitile.load %m at [%row, %column] through %map : !logitile.view<?x$Vxi1>, !logitile.view<?xi32> -> !logitile.tile<$TMx8xi1>
    %keep = logitile.load %k at [%column] : !logitile.view<$Vxi1> -> !logitile.tile<1x8xi1>
    %chosen = logitile.map(%dense, %keep) at %column : (!logitile.tile<$TMx8xi1>, !logitile.tile<1x8xi1>) -> !logitile.tile<$TMx8xf32> {
    ^bb0(%m_in: i1, %k_in: i1):
      %both = arith.andi %m_in, %k_in : i1
      %one = arith.constant 1.0 : f32
      %none = arith.constant -2.0 : f32
      %s = arith.select %both, %one, %none : f32
      logitile.yield %s : f32
    }
    logitile.store %chosen to %z at [%row, %column] : !logitile.tile<$TMx8xf32> to !logitile.view<?x$Vxf32, column_major>
  }
})",
                              {{"V", text(vocab)}, {"TM", text(width)}}));
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
  kernels->bind("map", map.data()), kernels->bind("m", mask.data(), vocab, 1), kernels->bind("k", keep.data()), kernels->bind("z", z.data(), 1, z.stride1);
  kernels->run("select");
  for (int64_t i = 0; i < count; ++i)
    for (int64_t v = 0; v < vocab; ++v)
      ASSERT_EQ(mask[i * vocab + v] && keep[v] ? 1 : -2, z.at(i, v));
}

TEST_P(CpuElementwise, GatherClampsAnIndexOutsideTheVocabulary) {
  int64_t count = width + 3, vocab = 9;
  auto kernels = compile(fill(R"(
logitile.kernel @gather(%n: index from "tokens", %map: !logitile.view<?xi32> from "map", %t: !logitile.view<?xi32> from "t", %c: !logitile.view<$Vxf32> from "c", %q: !logitile.view<?x$Vxbf16> from "q",
                        %a: !logitile.view<?xf32> from "a", %b: !logitile.view<?xf32> from "b") {
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %i = logitile.load %t at [%row] : !logitile.view<?xi32> -> !logitile.tile<$TMx1xi32>
    %w = logitile.gather %c[%i] : !logitile.view<$Vxf32>, !logitile.tile<$TMx1xi32> -> !logitile.tile<$TMx1xf32>
    %d = logitile.gather %q[%i] at %row through %map : !logitile.view<?x$Vxbf16>, !logitile.tile<$TMx1xi32>, !logitile.view<?xi32> -> !logitile.tile<$TMx1xf32>
    logitile.store %w to %a at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
    logitile.store %d to %b at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
  }
})",
                              {{"V", text(vocab)}, {"TM", text(width)}}));
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

// ---- sums, finish, rounding -------------------------------------------------------------------------------------------------

TEST_P(CpuElementwise, SumsOverTokensAndBlocksWithSingleEntries) {
  int64_t vocab = 19, tm = 2 * width;
  for (int64_t count : {int64_t(1), 4 * width + 3})
    for (bool again : {false, true}) {
      auto kernels = compile(fill(R"(
logitile.kernel @blocks(%n: index from "tokens", %z: !logitile.view<?x$Vxf32, column_major> from "z", %p: !logitile.view<?x$Vxf32> from "p") {
  %tm = arith.constant $TM : index
  scf.forall (%row, %column) = (0, 0) to (%n, $V) step ($TM, 8) {
    %block = arith.divui %row, %tm : index
    %tile = logitile.load %z at [%row, %column] : !logitile.view<?x$Vxf32, column_major> -> !logitile.tile<$TMx8xf32>
    %sums = logitile.sum_tokens %tile at %row below %n : !logitile.tile<$TMx8xf32> -> !logitile.tile<1x8xf32>
    logitile.store %sums to %p at [%block, %column] : !logitile.tile<1x8xf32> to !logitile.view<?x$Vxf32>
  }
}
logitile.kernel @sum(%n: index from "tokens", %again: i1 from "again", %p: !logitile.view<?x$Vxf32> from "p", %t: !logitile.view<?xi32> from "t", %a: !logitile.view<?xf32> from "a", %out: !logitile.view<1x$Vxf32> from "out") {
  %zero = arith.constant 0 : index
  %tm = arith.constant $TM : index
  %blocks = arith.ceildivui %n, %tm : index
  scf.forall (%column) = (0) to ($V) step (8) {
    %sum = logitile.sum_rows %p at %column below %blocks plus %out when %again : !logitile.view<?x$Vxf32> plus !logitile.view<1x$Vxf32> -> !logitile.tile<1x8xf32>
    %all = logitile.terms sum %sum, [%t, %a] at [%zero, %column] below %n : !logitile.tile<1x8xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
    logitile.store %all to %out at [%zero, %column] : !logitile.tile<1x8xf32> to !logitile.view<1x$Vxf32>
  }
})",
                                  {{"V", text(vocab)}, {"TM", text(tm)}}));
      ASSERT_TRUE(kernels);
      Matrix z = columnMajor(Number::F32, count, vocab), out(Number::F32, 1, vocab);
      z.fillRandom(random), out.fillRandom(random);
      Matrix before = out;
      std::vector<float> blocks(((count + tm - 1) / tm) * vocab), a = randomTokens(count);
      std::vector<int32_t> target = perToken<int32_t>(count);
      for (int64_t i = 0; i < count; ++i)
        target[i] = i % 4 == 3 ? -1 : static_cast<int32_t>(random() % vocab);
      kernels->set("tokens", count), kernels->set("again", again);
      kernels->bind("z", z.data(), 1, z.stride1), kernels->bind("p", blocks.data(), vocab, 1), kernels->bind("out", out.data(), vocab, 1);
      kernels->bind("t", target.data()), kernels->bind("a", a.data());
      kernels->run("blocks"), kernels->run("sum");
      for (int64_t v = 0; v < vocab; ++v) {
        double want = again ? before.at(0, v) : 0;
        for (int64_t i = 0; i < count; ++i)
          want += z.at(i, v) + (target[i] == v ? a[i] : 0);
        ASSERT_NEAR(want, out.at(0, v), 1e-5);
      }
      ASSERT_TRUE(out.isCleanOutside());
    }
}

TEST_P(CpuElementwise, FinishMergesSlabsInOrderAndMakesResults) {
  int64_t count = width + 3;
  auto kernels = compile(fill(R"(
logitile.kernel @finish(%n: index from "tokens", %p: !logitile.view<3x?xf32> from "p", %s: !logitile.view<?xf32> from "s", %loss: !logitile.view<?xf32> from "loss", %up: !logitile.view<?xi1> from "up") {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.forall (%row) = (0) to (%n) step ($TM) {
    %in = logitile.load %s at [%row] : !logitile.view<?xf32> -> !logitile.tile<$TMx1xf32>
    %start = logitile.init_rows : !logitile.tile<$TMx1xf32> {
      %c = arith.constant 1.0 : f32
      logitile.yield %c : f32
    }
    %state = scf.for %slab = %zero to %three step %one iter_args(%rows = %start) -> (!logitile.tile<$TMx1xf32>) {
      %other = logitile.load %p at [%slab, %row] : !logitile.view<3x?xf32> -> !logitile.tile<$TMx1xf32>
      %both = logitile.map(%rows, %other) : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) -> !logitile.tile<$TMx1xf32> {
      ^bb0(%a: f32, %b: f32):
        %half = arith.constant 0.5 : f32
        %x = arith.mulf %a, %half : f32
        %y = arith.addf %x, %b : f32
        logitile.yield %y : f32
      }
      scf.yield %both : !logitile.tile<$TMx1xf32>
    }
    %result:2 = logitile.map(%state, %in) : (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xf32>) -> (!logitile.tile<$TMx1xf32>, !logitile.tile<$TMx1xi1>) {
    ^bb0(%a: f32, %b: f32):
      %x = arith.subf %a, %b : f32
      %g = arith.cmpf ogt, %a, %b : f32
      logitile.yield %x, %g : f32, i1
    }
    logitile.store %result#0 to %loss at [%row] : !logitile.tile<$TMx1xf32> to !logitile.view<?xf32>
    logitile.store %result#1 to %up at [%row] : !logitile.tile<$TMx1xi1> to !logitile.view<?xi1>
  }
})",
                              {{"TM", text(width)}}));
  ASSERT_TRUE(kernels);
  int64_t stride = padded(count);
  std::vector<float> partial = randomTokens(3 * stride), in = randomTokens(count), loss(padded(count) + 8, 5);
  std::vector<uint8_t> up(padded(count) + 8, 7);
  kernels->set("tokens", count);
  kernels->bind("p", partial.data(), stride, 1), kernels->bind("s", in.data()), kernels->bind("loss", loss.data()), kernels->bind("up", up.data());
  kernels->run("finish");
  for (int64_t i = 0; i < count; ++i) {
    float state = 1;
    for (int64_t slab = 0; slab < 3; ++slab)
      state = state * 0.5f + partial[slab * stride + i];
    ASSERT_EQ(state - in[i], loss[i]);
    ASSERT_EQ(state > in[i], up[i]);
  }
  EXPECT_EQ(5, loss[count]) << "a store must end with the last token";
  EXPECT_EQ(7, up[count]);
}

TEST_P(CpuElementwise, RoundingIsToNearestEven) {
  int64_t rows = 5, columns = width + 9;
  for (Number out : {Number::BF16, Number::F16, Number::F32}) {
    auto kernels = compile(fill(R"(
logitile.kernel @round(%sum: !logitile.view<5x$Dxf32> from "sum", %out: !logitile.view<5x$Dx$OUT> from "out") {
  scf.forall (%row, %column) = (0, 0) to (5, $D) step (2, $TD) {
    %tile = logitile.load %sum at [%row, %column] : !logitile.view<5x$Dxf32> -> !logitile.tile<2x$TDxf32>
    logitile.store %tile to %out at [%row, %column] : !logitile.tile<2x$TDxf32> to !logitile.view<5x$Dx$OUT>
  }
})",
                                {{"D", text(columns)}, {"OUT", nameOf(out)}, {"TD", text(width)}}));
    ASSERT_TRUE(kernels);
    Matrix sum(Number::F32, rows, columns), result(out, rows, columns);
    sum.fillRandom(random, 100);
    // Halfway cases of both formats, overflow, numbers below the normal range of f16, NaN and infinities.
    std::vector<float> specials{1.00390625f, 1.01171875f, 1.00048828125f, 1.00146484375f, 65519.0f, 65520.0f, -1e9f, 3e-8f, 6e-8f, 5.9e-5f, 6.1e-5f, -0.0f, NAN, kInfinity, -kInfinity, 0.0f};
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

const auto kNameOfTier = [](const auto &info) { return std::string(getTierInfo(info.param).name); };
INSTANTIATE_TEST_SUITE_P(Tiers, CpuElementwise, testing::ValuesIn(hostTiers()), kNameOfTier);
INSTANTIATE_TEST_SUITE_P(Tiers, CpuStatistics, testing::ValuesIn(hostTiers()), kNameOfTier);
} // namespace
