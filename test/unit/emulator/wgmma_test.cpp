// wgmma_test.cpp - matrix products of warpgroups: layouts of operands, sums under way, and each
// misuse with its corrected twin. The operands come as an image of shared memory, laid out row by
// row as tensor copies do it.
#include "test/unit/emulator/EmulatorHarness.h"
#include "test/unit/emulator/WgmmaText.h"
#include "runtime/emulator/HostCode.h"
#include <cmath>
using namespace logitile::emulator;

namespace {
constexpr uint32_t kDepth = 16, kThreads = 128;

/// How an operand of 16-bit elements lies in shared memory: rows of 'span' bytes, in which chunks
/// of 16 bytes are exchanged. 16: not.
struct Layout {
  uint32_t span;
  bool isTransposed; // elements along M or N follow each other
};

/// Byte of an element of an operand with 'rows' along M or N.
uint32_t placeOf(const Layout &layout, uint32_t row, uint32_t k) {
  if (layout.span == 16) // 8 x 8 elements follow each other, two along K, then those of the next rows
    return row / 8 * 256 + k / 8 * 128 + (layout.isTransposed ? k % 8 * 16 + row % 8 * 2 : row % 8 * 16 + k % 8 * 2);
  const uint32_t elements = layout.span / 2;
  const uint32_t line = layout.isTransposed ? k : row, byte = 2 * (layout.isTransposed ? row % elements : k);
  const uint32_t box = layout.isTransposed ? row / elements * kDepth * layout.span : 0;
  const uint32_t exchanged = layout.span == 128 ? line % 8 : layout.span == 64 ? line / 2 % 4 : line / 4 % 2;
  return box + line * layout.span + ((byte / 16 ^ exchanged) * 16 | byte % 16);
}

uint64_t descriptorOf(const Layout &layout, uint32_t start) {
  const bool isPlain = layout.span == 16;
  const uint64_t leading = isPlain ? 128 : layout.isTransposed ? kDepth * layout.span : 16, stride = isPlain ? 256 : 8 * layout.span;
  const uint64_t swizzle = isPlain ? 0 : layout.span == 128 ? 1 : layout.span == 64 ? 2 : 3;
  return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62;
}

float valueA(uint32_t row, uint32_t k) { return static_cast<float>((row * 7 + k * 3) % 11) - 5; }
float valueB(uint32_t column, uint32_t k) { return static_cast<float>((column * 5 + k * 13 + column / 8) % 9) - 4; }
uint16_t bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); } // of small integers exact

const std::string kFence = "call void @llvm.nvvm.wgmma.fence.sync.aligned()\n";
const std::string kCommit = "call void @llvm.nvvm.wgmma.commit_group.sync.aligned()\n";
std::string waitFor(uint32_t groups) { return "call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 " + std::to_string(groups) + ")\n"; }
const std::string kProxyFence = "call void @llvm.nvvm.fence.proxy.async.shared_cta()\n";
const std::string kBarrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

/// All threads copy the image to shared memory; 'code' follows.
std::string kernel(const std::string &code, const std::string &after = kProxyFence + kBarrier) {
  return R"(
@smem = external addrspace(3) global [0 x i8], align 1024
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %da, i64 %db, i32 %bytes) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = mul i32 %tid, 16
  br label %loop
loop:
  %at = phi i32 [%start, %0], [%next, %body]
  %more = icmp ult i32 %at, %bytes
  br i1 %more, label %body, label %copied
body:
  %from = getelementptr i8, ptr addrspace(1) %in, i32 %at
  %to = getelementptr i8, ptr addrspace(3) @smem, i32 %at
  %v = load <4 x i32>, ptr addrspace(1) %from
  store <4 x i32> %v, ptr addrspace(3) %to
  %next = add i32 %at, 2048
  br label %loop
copied:
)" + after +
         code + "ret void\n}";
}

struct Multiplication {
  WgmmaText text;
  Layout a{128, false}, b{128, false};
  std::vector<uint8_t> image;
  std::vector<float> out;
  uint32_t startB = 0;

  void prepare() {
    text.isTransposedA = a.isTransposed;
    text.isTransposedB = b.isTransposed;
    startB = 64 * 128;
    image.assign(startB + 256 * 128, 0);
    auto put = [&](uint32_t place, float value) {
      const uint16_t bits = text.type == "f16" ? std::bit_cast<uint16_t>(static_cast<_Float16>(value)) : bf16(value);
      std::memcpy(&image[place], &bits, 2);
    };
    for (uint32_t k = 0; k < kDepth; ++k) {
      for (uint32_t row = 0; row < 64; ++row)
        put(placeOf(a, row, k), valueA(row, k));
      for (uint32_t column = 0; column < text.columns; ++column)
        put(startB + placeOf(b, column, k), valueB(column, k));
    }
    out.assign(kThreads * text.columns / 2, -1);
  }
  EmulatorHarness harness(const std::string &body) {
    prepare();
    EmulatorHarness harness(body);
    harness.buffer("in", image).buffer("out", out).argument(descriptorOf(a, 0)).argument(descriptorOf(b, startB)).argument(image.size());
    harness.threads(kThreads).dynamicShared(static_cast<uint32_t>(image.size()));
    return harness;
  }
  /// Expects 'times' the product of A and B, and 'start' beside it.
  void expect(float times = 1, float start = 0) const {
    for (uint32_t thread = 0; thread < kThreads; ++thread)
      for (uint32_t i = 0; i < text.columns / 2; ++i) {
        const uint32_t lane = thread % 32, row = thread / 32 * 16 + lane / 4 + 8 * (i / 2 % 2);
        const uint32_t column = i / 4 * 8 + 2 * (lane % 4) + i % 2;
        float sum = 0;
        for (uint32_t k = 0; k < kDepth; ++k)
          sum += valueA(row, k) * valueB(column, k);
        ASSERT_EQ(out[thread * text.columns / 2 + i], start + times * sum) << "row " << row << ", column " << column;
      }
  }
  std::string whole(const std::string &sum = "0.0") const {
    return kFence + text.first("d", sum) + kCommit + waitFor(0) + text.store("d");
  }
};
} // namespace

TEST(EmulatorWgmma, allLayouts) {
  for (uint32_t spanA : {16, 32, 64, 128})
    for (uint32_t spanB : {16, 32, 64, 128})
      for (bool isTransposedA : {false, true})
        for (bool isTransposedB : {false, true}) {
          SCOPED_TRACE(std::to_string(spanA) + (isTransposedA ? "t " : " ") + std::to_string(spanB) + (isTransposedB ? "t" : ""));
          Multiplication product;
          product.a = {spanA, isTransposedA};
          product.b = {spanB, isTransposedB};
          product.prepare();
          product.harness(kernel(product.whole())).runClean();
          product.expect();
        }
}

TEST(EmulatorWgmma, allWidths) {
  for (uint32_t columns : {8, 24, 128, 256}) {
    Multiplication product;
    product.text.columns = columns;
    product.harness(kernel(product.whole())).runClean();
    product.expect();
  }
}

TEST(EmulatorWgmma, halfNumbers) {
  Multiplication product;
  product.text.type = "f16";
  product.harness(kernel(product.whole())).runClean();
  product.expect();
}

TEST(EmulatorWgmma, whatItDoesNotKnow) {
  for (const char *type : {"tf32", "e4m3"}) {
    Multiplication product;
    product.text.type = type;
    std::string error;
    EXPECT_FALSE(Program::load(emulatorModule(kernel(product.whole())), logitile::hostCompiler(), error));
    EXPECT_NE(error.find("unknown inline PTX '{\n.reg .pred p;"), std::string::npos) << error;
  }
}

TEST(EmulatorWgmma, basesOfDescriptors) {
  Multiplication product;
  product.prepare();
  EmulatorHarness harness(kernel(product.whole()));
  harness.buffer("in", product.image).buffer("out", product.out).argument(descriptorOf(product.a, 0) | uint64_t{1} << 49);
  harness.argument(descriptorOf(product.b, product.startB)).argument(product.image.size()).threads(kThreads).dynamicShared(65536);
  EXPECT_EQ(harness.runFaulty(Fault::misuse).detail, "its descriptor has base offset 1; the emulator knows only 0");
}

TEST(EmulatorWgmma, signsAndStarts) {
  Multiplication product;
  product.harness(kernel(product.whole("2.0"))).runClean();
  product.expect(1, 2);
  product.text.adds = "0";
  product.harness(kernel(product.whole("2.0"))).runClean();
  product.expect(1, 0);
  product.text.adds = "1";
  product.text.signs = "i32 -1, i32 1";
  product.harness(kernel(product.whole("2.0"))).runClean();
  product.expect(-1, 2);
}

TEST(EmulatorWgmma, productsAddToSumsUnderWay) {
  Multiplication product;
  const std::string two = kFence + product.text.first("c") + kCommit + product.text.next("d", "c") + kCommit;
  for (uint64_t seed : {0, 1, 2}) {
    product.harness(kernel(two + waitFor(0) + product.text.store("d"))).seed(seed).runClean();
    product.expect(2);
  }
  const Report report = product.harness(kernel(two + waitFor(1) + product.text.store("d"))).runFaulty(Fault::inFlight);
  EXPECT_EQ(report.parties[0].action, "uses a sum of a wgmma");
}

TEST(EmulatorWgmma, productsThatDoNotAdd) {
  // Nothing reads what their registers held: sums that have gone into a later product.
  Multiplication product;
  WgmmaText alone = product.text;
  alone.adds = "0";
  const std::string body = kFence + product.text.first("c") + kCommit + waitFor(0) + kFence + product.text.next("d", "c") + kCommit +
                           waitFor(0) + kFence + alone.next("e", "c") + kCommit + waitFor(0) + product.text.store("e");
  product.harness(kernel(body)).runClean();
  product.expect(1);
}

TEST(EmulatorWgmma, sumsThatGoThroughALoop) {
  Multiplication product;
  const std::string type = product.text.structType();
  const std::string body = "br label %turn\nturn:\n%n = phi i32 [0, %copied], [%m, %turn]\n%c = phi " + type +
                           " [zeroinitializer, %copied], [%d, %turn]\n" + kFence + product.text.next("d", "c") + kCommit + waitFor(1) +
                           "%m = add i32 %n, 1\n%again = icmp ult i32 %m, 300\nbr i1 %again, label %turn, label %done\ndone:\n" +
                           waitFor(0) + product.text.store("d");
  product.harness(kernel(body)).runClean();
  product.expect(300);
}

TEST(EmulatorWgmma, waitsThatHaveTheSums) {
  Multiplication product;
  product.text.columns = 8;
  std::string wait;
  for (uint32_t i = 0; i < 4; ++i)
    wait += "%w" + std::to_string(i) + " = extractvalue {float, float, float, float} %d, " + std::to_string(i) + "\n";
  wait += "%w = call {float, float, float, float} asm sideeffect \"wgmma.wait_group.sync.aligned 0;\", \"=f,=f,=f,=f,0,1,2,3\""
          "(float %w0, float %w1, float %w2, float %w3)\n";
  product.harness(kernel(kFence + product.text.first("d") + kCommit + wait + product.text.store("w"))).runClean();
  product.expect();
}

TEST(EmulatorWgmma, aInRegisters) {
  // Register i of a lane has two elements: of row lane / 4 + 8 (i % 2), from column 2 (lane % 4) +
  // 8 (i / 2) on.
  Multiplication product;
  product.text.hasFragment = true;
  product.text.a = "i32 %a0, i32 %a1, i32 %a2, i32 %a3";
  std::string load = "%lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n%w = lshr i32 %tid, 5\n%r = mul i32 %w, 16\n%g = lshr i32 %lane, 2\n"
                     "%row = add i32 %r, %g\n%q = and i32 %lane, 3\n%rowAt = mul i32 %row, 32\n%qAt = mul i32 %q, 4\n%x = add i32 %rowAt, %qAt\n";
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    load += "%x" + n + " = add i32 %x, " + std::to_string(i % 2 * 8 * 32 + i / 2 * 16) + "\n%p" + n +
            " = getelementptr i8, ptr addrspace(1) %in, i32 %x" + n + "\n%a" + n + " = load i32, ptr addrspace(1) %p" + n + "\n";
  }
  product.prepare();
  EmulatorHarness harness = product.harness(kernel(load + product.whole()));
  for (uint32_t row = 0; row < 64; ++row) // without any exchange
    for (uint32_t k = 0; k < kDepth; ++k) {
      const uint16_t bits = bf16(valueA(row, k));
      std::memcpy(&product.image[row * 32 + k * 2], &bits, 2);
    }
  harness.runClean();
  product.expect();
}

TEST(EmulatorWgmma, sumsNobodyHasWaitedFor) {
  Multiplication product;
  product.harness(kernel(kFence + product.text.first("d") + kCommit + product.text.store("d"))).runFaulty(Fault::inFlight);
  EXPECT_TRUE(std::isnan(product.out[0]));
  product.harness(kernel(kFence + product.text.first("d") + waitFor(0) + product.text.store("d"))).runFaulty(Fault::inFlight); // no group
}

TEST(EmulatorWgmma, withoutFences) {
  Multiplication product;
  const Report report =
      product.harness(kernel(product.text.first("d") + kCommit + waitFor(0) + product.text.store("d"))).runFaulty(Fault::misuse);
  EXPECT_NE(report.detail.find("no wgmma.fence"), std::string::npos) << report.text();
  product.harness(kernel(product.whole(), kBarrier)).runFaulty(Fault::proxyFence);
  product.harness(kernel(product.whole(), kBarrier + kProxyFence)).runClean(); // the readers' fence will do, too
}

TEST(EmulatorWgmma, operandsThatNobodyHasWaitedFor) {
  Multiplication product;
  const Outcome outcome = product.harness(kernel(product.whole(), kProxyFence)).run();
  ASSERT_FALSE(outcome.reports.empty());
  EXPECT_EQ(outcome.reports[0].fault, Fault::race) << outcome.text();
}

TEST(EmulatorWgmma, operandsOverwrittenTooEarly) {
  Multiplication product;
  const std::string overwrite = "%mine = getelementptr i8, ptr addrspace(3) @smem, i32 %start\nstore i32 0, ptr addrspace(3) %mine\n";
  const std::string issue = kFence + product.text.first("d") + kCommit, store = product.text.store("d");
  const Outcome early = product.harness(kernel(issue + kBarrier + overwrite + waitFor(0) + store)).run();
  EXPECT_NE(early.text().find("earlier read by wgmma of warp 0, 'wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16'"), std::string::npos)
      << early.text();
  product.harness(kernel(issue + waitFor(0) + kBarrier + overwrite + store)).runClean();
  product.expect();
  // Each warp knows only of its own products.
  EXPECT_FALSE(product.harness(kernel(issue + waitFor(0) + overwrite + store)).run().reports.empty());
}

TEST(EmulatorWgmma, sumsOfAnEarlierProduct) {
  Multiplication product;
  const std::string body = kFence + product.text.first("c") + kCommit + waitFor(0) + kFence + product.text.next("d", "c") + kCommit +
                           waitFor(0) + product.text.store("c");
  const Report report = product.harness(kernel(body)).runFaulty(Fault::misuse);
  EXPECT_EQ(report.detail, "the sum has gone into a later wgmma since");
}

TEST(EmulatorWgmma, warpsThatDoNotTakePart) {
  Multiplication product;
  EmulatorHarness few = product.harness(kernel(product.whole()));
  few.threads(96).runFaulty(Fault::misuse);
  const std::string three = "%all = icmp ult i32 %tid, 96\nbr i1 %all, label %go, label %out_\nout_:\nret void\ngo:\n";
  const Report report = product.harness(kernel(three + product.whole())).runFaulty(Fault::divergence);
  EXPECT_NE(report.detail.find("of its warpgroup has ended without it"), std::string::npos) << report.text();
}
