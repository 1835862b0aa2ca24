// matrices_test.cpp - fragments of mma, ldmatrix and stmatrix against the layouts of the PTX ISA,
// written out here a second time. Numbers are small integers, so results are exact.
#include "emulator/core/Numbers.h"
#include "test/unit/emulator/EmulatorHarness.h"
using namespace logitile::emulator;

namespace {
using Matrix = std::vector<std::vector<float>>;

Matrix numbered(int rows, int columns, int step) {
  Matrix matrix(rows, std::vector<float>(columns));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      matrix[row][column] = static_cast<float>((row * 7 + column * step) % 11 - 5);
  return matrix;
}

uint32_t pack(bool isBf16, float low, float high) {
  auto bits = [&](float value) { return static_cast<uint32_t>(isBf16 ? toBf16(value) : toF16(value)); };
  return bits(low) | bits(high) << 16;
}

/// Four registers of A, two of B and four of C per lane, as the PTX ISA says for m16n8k16; m16n8k8
/// uses half of A and B.
struct Fragments {
  std::vector<uint32_t> a = std::vector<uint32_t>(32 * 4), b = std::vector<uint32_t>(32 * 2);
  std::vector<float> c = std::vector<float>(32 * 4);
};

Fragments fragmentsOf(const Matrix &a, const Matrix &b, const Matrix &c, int k, bool isBf16) {
  Fragments fragments;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane >> 2, q = lane & 3;
    fragments.a[lane * 4 + 0] = pack(isBf16, a[g][2 * q], a[g][2 * q + 1]);
    fragments.a[lane * 4 + 1] = pack(isBf16, a[g + 8][2 * q], a[g + 8][2 * q + 1]);
    fragments.b[lane * 2 + 0] = pack(isBf16, b[2 * q][g], b[2 * q + 1][g]);
    if (k == 16) {
      fragments.a[lane * 4 + 2] = pack(isBf16, a[g][2 * q + 8], a[g][2 * q + 9]);
      fragments.a[lane * 4 + 3] = pack(isBf16, a[g + 8][2 * q + 8], a[g + 8][2 * q + 9]);
      fragments.b[lane * 2 + 1] = pack(isBf16, b[2 * q + 8][g], b[2 * q + 9][g]);
    }
    for (int i = 0; i < 4; ++i)
      fragments.c[lane * 4 + i] = c[g + 8 * (i / 2)][2 * q + i % 2];
  }
  return fragments;
}

/// A kernel with one mma for each block: each lane loads its registers and stores its sums.
std::string mmaKernel(const std::string &name, int k, const std::string &type) {
  std::string code = R"(
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) {
  %own = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 32
  %lane = add i32 %first, %own
  %a4 = mul i32 %lane, 4
  %b2 = mul i32 %lane, 2
)";
  std::string operands;
  auto loads = [&](const std::string &from, const std::string &base, int count, const std::string &as) {
    for (int i = 0; i < count; ++i) {
      const std::string id = from + std::to_string(i);
      code += "%i" + id + " = add i32 %" + base + ", " + std::to_string(i) + "\n%p" + id + " = getelementptr i32, ptr addrspace(1) %" +
              from + ", i32 %i" + id + "\n%v" + id + " = load " + as + ", ptr addrspace(1) %p" + id + "\n";
      operands += (operands.empty() ? "" : ", ") + as + " %v" + id;
    }
  };
  loads("a", "a4", k / 4, type);
  loads("b", "b2", k / 8, type);
  loads("c", "a4", 4, "float");
  code += "%d = call {float, float, float, float} @llvm.nvvm." + name + "(" + operands + ")\n";
  for (const std::string i : {"0", "1", "2", "3"})
    code +=
        "%d" + i + " = extractvalue {float, float, float, float} %d, " + i + "\nstore float %d" + i + ", ptr addrspace(1) %pc" + i + "\n";
  return code + "ret void\n}";
}

void expectProduct(const std::string &name, int k, bool isBf16, const std::string &type) {
  const Matrix a = numbered(16, k, 3), b = numbered(k, 8, 5), c = numbered(16, 8, 2);
  Fragments fragments = fragmentsOf(a, b, c, k, isBf16);
  EmulatorHarness harness(mmaKernel(name, k, type));
  const Counters counters = harness.buffer("a", fragments.a).buffer("b", fragments.b).buffer("c", fragments.c).runClean();
  EXPECT_EQ(counters.matrixInstructions, 1u);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = (lane >> 2) + 8 * (i / 2), column = 2 * (lane & 3) + i % 2;
      float expected = c[row][column];
      for (int j = 0; j < k; ++j)
        expected += a[row][j] * b[j][column];
      EXPECT_EQ(fragments.c[lane * 4 + i], expected) << "row " << row << " column " << column;
    }
}

/// A block for every element of A, B and C that is 1 while all others of its matrix are 0. The
/// other factor is numbered, so that a wrong place in a fragment shows; the sums must be those of
/// the host.
void expectEveryPlace(const std::string &name, int k, bool isBf16, const std::string &type) {
  Matrix as(16, std::vector<float>(k)), bs(k, std::vector<float>(8));
  for (int i = 0; i < 16 * k; ++i)
    as[i / k][i % k] = static_cast<float>(i + 1); // up to 256, which bf16 holds
  for (int i = 0; i < k * 8; ++i)
    bs[i / 8][i % 8] = static_cast<float>(i + 1);
  const int blocks = 16 * k + k * 8 + 16 * 8;
  Fragments all{{}, {}, {}}, expected{{}, {}, {}};
  for (int block = 0; block < blocks; ++block) {
    Matrix a(16, std::vector<float>(k)), b(k, std::vector<float>(8)), c(16, std::vector<float>(8)), d = c;
    if (int hot = block; hot < 16 * k) {
      a[hot / k][hot % k] = 1, b = bs;
      d[hot / k] = bs[hot % k];
    } else if (hot -= 16 *k; hot < k * 8) {
      b[hot / 8][hot % 8] = 1, a = as;
      for (int row = 0; row < 16; ++row)
        d[row][hot % 8] = as[row][hot / 8];
    } else {
      hot -= k * 8;
      c[hot / 8][hot % 8] = d[hot / 8][hot % 8] = 1;
    }
    auto append = [](auto &to, const auto &from) { to.insert(to.end(), from.begin(), from.end()); };
    const Fragments before = fragmentsOf(a, b, c, k, isBf16), after = fragmentsOf(a, b, d, k, isBf16);
    append(all.a, before.a), append(all.b, before.b), append(all.c, before.c), append(expected.c, after.c);
  }
  EmulatorHarness(mmaKernel(name, k, type)).buffer("a", all.a).buffer("b", all.b).buffer("c", all.c).grid(blocks).runClean();
  EXPECT_EQ(all.c, expected.c) << name;
}

/// Shared memory holds 32 rows of 8 elements, element = its number; lane l gives the row of number
/// l ^ 'order'.
std::vector<uint32_t> loadMatrices(int count, bool isTransposed, int order = 0) {
  const std::string n = std::to_string(count);
  std::string code = R"(
@tile = internal addrspace(3) global [256 x i16] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  br label %fill
fill:
  %i = phi i32 [0, %0], [%next, %fill]
  %first = mul i32 %lane, 8
  %n = add i32 %first, %i
  %at = getelementptr i16, ptr addrspace(3) @tile, i32 %n
  %h = trunc i32 %n to i16
  store i16 %h, ptr addrspace(3) %at
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 8
  br i1 %more, label %fill, label %go
go:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %number = xor i32 %lane, )" +
                     std::to_string(order) + R"(
  %start = mul i32 %number, 8
  %row = getelementptr i16, ptr addrspace(3) @tile, i32 %start
  %base = mul i32 %lane, )" +
                     n + "\n";
  std::string type = "i32";
  if (count > 1) {
    type = "{i32";
    for (int i = 1; i < count; ++i)
      type += ", i32";
    type += "}";
  }
  code += "%m = call " + type + " @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" + n + (isTransposed ? ".trans" : "") +
          ".b16.p3(ptr addrspace(3) %row)\n";
  for (int i = 0; i < count; ++i) {
    const std::string id = std::to_string(i);
    code += count == 1 ? "%r0 = add i32 %m, 0\n" : "%r" + id + " = extractvalue " + type + " %m, " + id + "\n";
    code += "%i" + id + " = add i32 %base, " + id + "\n%p" + id + " = getelementptr i32, ptr addrspace(1) %out, i32 %i" + id +
            "\nstore i32 %r" + id + ", ptr addrspace(1) %p" + id + "\n";
  }
  std::vector<uint32_t> out(32 * count);
  EmulatorHarness(code + "ret void\n}").buffer("out", out).runClean();
  return out;
}

/// Lane l stores 1000 * register + 2 l and the next number with stmatrix; returns shared memory
/// afterwards.
std::vector<uint16_t> storeMatrices(int count, bool isTransposed) {
  const std::string n = std::to_string(count);
  std::string code = R"(
@tile = internal addrspace(3) global [256 x i16] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %two = mul i32 %lane, 2
  %high0 = add i32 %two, 1
  %high = shl i32 %high0, 16
  %pair0 = or i32 %high, %two
  %pair1 = add i32 %pair0, 65537000
  %pair2 = add i32 %pair1, 65537000
  %pair3 = add i32 %pair2, 65537000
  %first = mul i32 %lane, 8
  %row = getelementptr i16, ptr addrspace(3) @tile, i32 %first
)";
  std::string operands;
  for (int i = 0; i < count; ++i)
    operands += ", i32 %pair" + std::to_string(i);
  code += "call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x" + n + (isTransposed ? ".trans" : "") + ".b16.p3(ptr addrspace(3) %row" +
          operands + R"()
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  br label %copy
copy:
  %i = phi i32 [0, %0], [%next, %copy]
  %n0 = mul i32 %i, 32
  %n = add i32 %n0, %lane
  %from = getelementptr i16, ptr addrspace(3) @tile, i32 %n
  %to = getelementptr i16, ptr addrspace(1) %out, i32 %n
  %h = load i16, ptr addrspace(3) %from
  store i16 %h, ptr addrspace(1) %to
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, )" +
          std::to_string(2 * count) + R"(
  br i1 %more, label %copy, label %end
end:
  ret void
})";
  std::vector<uint16_t> out(64 * count);
  EmulatorHarness(code).buffer("out", out).runClean();
  return out;
}
} // namespace

TEST(EmulatorMatrices, productOfBf16) {
  expectProduct("mma.m16n8k16.row.col.bf16", 16, true, "i32");
  expectProduct("mma.m16n8k8.row.col.bf16", 8, true, "i32");
}

TEST(EmulatorMatrices, productOfF16) {
  expectProduct("mma.m16n8k16.row.col.f32.f32", 16, false, "<2 x half>");
  expectProduct("mma.m16n8k8.row.col.f32.f32", 8, false, "<2 x half>");
}

TEST(EmulatorMatrices, everyPlaceOfTheFragments) {
  expectEveryPlace("mma.m16n8k16.row.col.bf16", 16, true, "i32");
  expectEveryPlace("mma.m16n8k8.row.col.bf16", 8, true, "i32");
  expectEveryPlace("mma.m16n8k16.row.col.f32.f32", 16, false, "<2 x half>");
  expectEveryPlace("mma.m16n8k8.row.col.f32.f32", 8, false, "<2 x half>");
}

TEST(EmulatorMatrices, rowsLieWhereLanesSay) {
  constexpr int kOrder = 21;
  for (int count : {1, 2, 4})
    for (bool isTransposed : {false, true}) {
      const std::vector<uint32_t> out = loadMatrices(count, isTransposed, kOrder);
      auto element = [](int lane, int column) { return static_cast<uint32_t>((lane ^ kOrder) * 8 + column); };
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < count; ++i) {
          const int g = lane >> 2, q = 2 * (lane & 3);
          const uint32_t low = isTransposed ? element(8 * i + q, g) : element(8 * i + g, q);
          const uint32_t high = isTransposed ? element(8 * i + q + 1, g) : low + 1;
          EXPECT_EQ(out[lane * count + i], low | high << 16) << "x" << count << " lane " << lane << " register " << i;
        }
    }
}

TEST(EmulatorMatrices, loadGivesRowsAndPairs) {
  for (int count : {1, 2, 4}) {
    const std::vector<uint32_t> out = loadMatrices(count, false);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < count; ++i) {
        const uint32_t low = (8 * i + (lane >> 2)) * 8 + 2 * (lane & 3);
        EXPECT_EQ(out[lane * count + i], low | (low + 1) << 16) << "x" << count << " lane " << lane << " register " << i;
      }
  }
}

TEST(EmulatorMatrices, loadTransposed) {
  for (int count : {1, 2, 4}) {
    const std::vector<uint32_t> out = loadMatrices(count, true);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < count; ++i) {
        const uint32_t low = (8 * i + 2 * (lane & 3)) * 8 + (lane >> 2);
        EXPECT_EQ(out[lane * count + i], low | (low + 8) << 16) << "x" << count << " lane " << lane << " register " << i;
      }
  }
}

TEST(EmulatorMatrices, storeIsTheInverse) {
  for (int count : {1, 2, 4})
    for (bool isTransposed : {false, true}) {
      const std::vector<uint16_t> out = storeMatrices(count, isTransposed);
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < count; ++i)
          for (int half = 0; half < 2; ++half) {
            const int along = 2 * (lane & 3) + half, across = lane >> 2;
            const int row = isTransposed ? along : across, column = isTransposed ? across : along;
            EXPECT_EQ(out[64 * i + 8 * row + column], 1000 * i + 2 * lane + half) << "x" << count << " lane " << lane;
          }
    }
}

TEST(EmulatorMatrices, aPartOfAWarpIsReported) {
  Fragments fragments;
  EmulatorHarness harness(mmaKernel("mma.m16n8k16.row.col.bf16", 16, "i32"));
  harness.buffer("a", fragments.a).buffer("b", fragments.b).buffer("c", fragments.c).threads(16);
  EXPECT_EQ(harness.runFaulty(Fault::divergence).detail, "only 16 of 32 lanes are there");
}
