// workspace_test.cpp - blocks are reused, accounted for and given back; conversions of 16-bit
// floats are exact.
#include "runtime/arrays/Values.h"
#include "runtime/device/Workspace.h"
#include "runtime/cpu/CpuDevice.h"
#include "test/unit/runtime/Child.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
using namespace logitile;
using namespace logitile::test;

// Counts what this program allocates on the heap, so that a test can say how much a call does.
static std::atomic<int64_t> heapBytes{0};
void *operator new(size_t size) {
  heapBytes += size;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

constexpr int64_t kMegabyte = 1 << 20;
static WorkspaceBlock take(Workspace &workspace, int64_t bytes) { return *workspace.take(bytes); }

TEST(Workspace, LargeBlocksAreAlignedToHugePages) {
  Workspace workspace(0);
  for (int64_t bytes : {2 * kMegabyte, 5 * kMegabyte + 123, int64_t(1), int64_t(4097)}) {
    WorkspaceBlock block = take(workspace, bytes);
    std::memset(block.data(), 1, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % (bytes >= 2 * kMegabyte ? 2 * kMegabyte : 4096), 0u);
    EXPECT_EQ(block.size(), bytes);
  }
}
TEST(Workspace, FreeBlocksAreUsedAgain) {
  Workspace workspace(64 * kMegabyte);
  char *first;
  {
    WorkspaceBlock block = take(workspace, 8 * kMegabyte);
    first = block.data();
  }
  WorkspaceBlock smaller = take(workspace, 6 * kMegabyte);
  EXPECT_EQ(smaller.data(), first);
  EXPECT_EQ(workspace.usage().takenBytes, 6 * kMegabyte);
  EXPECT_EQ(workspace.usage().freeBytes, 0);
}
TEST(Workspace, MuchLargerBlocksAreNotWasted) {
  Workspace workspace(64 * kMegabyte);
  take(workspace, 32 * kMegabyte);
  WorkspaceBlock small = take(workspace, kMegabyte);
  EXPECT_EQ(workspace.usage().freeBytes, 32 * kMegabyte);
}
TEST(Workspace, GrowingSizesDoNotPileUp) {
  Workspace workspace(1024 * kMegabyte);
  for (int64_t bytes = kMegabyte; bytes < 40 * kMegabyte; bytes += kMegabyte)
    take(workspace, bytes);
  EXPECT_LT(workspace.usage().freeBytes, 41 * kMegabyte);
}
TEST(Workspace, OnlySoMuchIsKept) {
  Workspace workspace(10 * kMegabyte);
  {
    WorkspaceBlock a = take(workspace, 6 * kMegabyte), b = take(workspace, 7 * kMegabyte), c = take(workspace, 20 * kMegabyte);
    EXPECT_EQ(workspace.usage().takenBytes, 33 * kMegabyte);
  }
  EXPECT_LE(workspace.usage().freeBytes, 10 * kMegabyte);
  EXPECT_EQ(workspace.usage().takenBytes, 0);
  EXPECT_EQ(workspace.usage().peakBytes, 33 * kMegabyte);
  workspace.clear();
  EXPECT_EQ(workspace.usage().freeBytes, 0);
}
TEST(Workspace, NoMemoryIsAnError) {
  Workspace workspace(0);
  Result<WorkspaceBlock> block = workspace.take(int64_t(1) << 60);
  ASSERT_FALSE(block.isOk());
  const std::string expected = "the system has no memory for a workspace of 1048576.0 TiB (1152921504606846976 bytes)";
  EXPECT_NE(block.status().error().text.find(expected), std::string::npos);
}
TEST(Workspace, ThreadsDoNotShareABlock) {
  Workspace workspace(64 * kMegabyte);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 300; ++round) {
        WorkspaceBlock block = take(workspace, 4096 * (1 + round % 5));
        std::memset(block.data(), thread, block.size());
        std::this_thread::yield();
        wrong += std::count(block.data(), block.data() + block.size(), thread) != block.size();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(workspace.usage().takenBytes, 0);
}
TEST(Workspace, ForksWhileAnotherThreadTakes) {
  Workspace workspace(64 * kMegabyte);
  std::atomic<bool> stops{false};
  std::thread busy([&] {
    while (!stops)
      take(workspace, 8192);
  });
  for (int round = 0; round < 20; ++round) {
    int status = inChild([&] {
      WorkspaceBlock block = take(workspace, kMegabyte);
      std::memset(block.data(), 3, kMegabyte);
      return true;
    });
    EXPECT_EQ(0, status) << round;
  }
  stops = true;
  busy.join();
}

// ---- calls --------------------------------------------------------------------------------------

TEST(WorkspaceOfCalls, IsWhatThePlanSays) {
  auto memory = std::make_shared<Workspace>(64 * kMegabyte);
  auto device = std::make_shared<CpuDevice>(memory);
  for (PlanOptions::Gradients gradients : {PlanOptions::Gradients::Early, PlanOptions::Gradients::Split}) {
    std::shared_ptr<const LoadedPlan> plan =
        load(makePlan({gradients, 0, gradients == PlanOptions::Gradients::Split ? kVocabSplits : 0, 1}), device);
    TestCall call({300});
    std::unique_ptr<Saved> saved;
    ASSERT_TRUE(call.forward(plan, &saved).isOk());
    int64_t most = call.report.measuredBytes;
    EXPECT_EQ(call.report.predictedBytes, workspaceBytes(plan->plan, 300, 2));
    if (saved) {
      EXPECT_EQ(memory->usage().takenBytes, saved->memory.size());
      ASSERT_TRUE(call.backward(*saved).isOk());
      most = std::max(most, call.report.measuredBytes);
    }
    EXPECT_EQ(most, call.report.predictedBytes);
    saved.reset();
    EXPECT_EQ(memory->usage().takenBytes, 0);
  }
}
TEST(WorkspaceOfCalls, NothingThatGrowsIsOnTheHeap) {
  auto device = std::make_shared<CpuDevice>(std::make_shared<Workspace>(64 * kMegabyte));
  std::shared_ptr<const LoadedPlan> plan = load(makePlan({PlanOptions::Gradients::Early, 8, 0, 1}), device);
  auto bytesOf = [&](int64_t tokens) {
    TestCall call({tokens / 2, 2});
    call.options.ignore = "target";
    call.options.ignoreIndex = 3;
    EXPECT_TRUE(call.forward(plan).isOk());
    int64_t before = heapBytes;
    EXPECT_TRUE(call.forward(plan).isOk());
    return heapBytes - before;
  };
  int64_t few = bytesOf(16), many = bytesOf(1600);
  EXPECT_EQ(few, many);
  EXPECT_LT(many, 16384);
}

// ---- 16-bit floats ------------------------------------------------------------------------------

/// The value of a 16-bit float with this many exponent bits.
static double valueOf(uint16_t bits, int exponentBits) {
  int mantissaBits = 15 - exponentBits, bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1), mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return mantissa ? NAN : sign * INFINITY;
  double significand = exponent ? 1 + std::ldexp(mantissa, -mantissaBits) : std::ldexp(mantissa, 1 - mantissaBits);
  return sign * std::ldexp(significand, exponent - bias);
}
template <typename T> static void expectExact(int exponentBits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    T value;
    value.bits = static_cast<uint16_t>(bits);
    double wanted = valueOf(value.bits, exponentBits);
    ASSERT_TRUE(std::isnan(wanted) ? std::isnan(float(value)) : float(value) == wanted) << bits;
    if (std::isnan(wanted))
      ASSERT_TRUE(std::isnan(float(T(float(value))))) << bits;
    else
      ASSERT_EQ(T(float(value)).bits, value.bits);
  }
}
/// Between two neighbours: to the nearer one, in the middle to the even one.
template <typename T> static void expectNearest(int exponentBits, uint16_t largest) {
  for (uint32_t bits = 0; bits < largest; ++bits) {
    T low, high;
    low.bits = static_cast<uint16_t>(bits);
    high.bits = static_cast<uint16_t>(bits + 1);
    float a = low, b = high, middle = static_cast<float>((double(a) + b) / 2);
    ASSERT_EQ(T(middle).bits, bits % 2 ? bits + 1 : bits) << bits;
    ASSERT_EQ(T(std::nextafter(middle, a)).bits, bits) << bits;
    ASSERT_EQ(T(std::nextafter(middle, b)).bits, bits + 1) << bits;
    ASSERT_EQ(T(-std::nextafter(middle, b)).bits, (bits + 1) | 0x8000) << bits;
  }
}
TEST(SixteenBits, HalfIsExact) { expectExact<Half>(5); }
TEST(SixteenBits, BFloatIsExact) { expectExact<BFloat>(8); }
TEST(SixteenBits, HalfRoundsToNearest) { expectNearest<Half>(5, 0x7bff); }
TEST(SixteenBits, BFloatRoundsToNearest) { expectNearest<BFloat>(8, 0x7f7f); }
TEST(SixteenBits, LargeNumbersBecomeInfinite) {
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(BFloat(3.4e38f).bits, 0x7f80);
}

// ---- sizes beyond every machine -----------------------------------------------------------------

TEST(WorkspaceLayout, RowsBeginWhereTheMemoryModelSays) {
  BufferPlan buffer;
  buffer.element = ElementType::BF16;
  buffer.rows = 3;
  buffer.columns = 5;
  buffer.inForward = true;
  auto stride = [&](MemoryModel memory) { return layoutWorkspace({buffer}, 1, 1, memory, /*backward=*/false).geometry[0].stride0; };
  EXPECT_EQ(stride({1, 1}), 5);
  EXPECT_EQ(stride({16, 1}), 5);
  EXPECT_EQ(stride({1, 16}), 8) << "16 bytes are 8 values";
  EXPECT_EQ(stride({16, 16}), 8);
  buffer.columns = 1;
  EXPECT_EQ(stride({1, 16}), 1) << "values of tokens stay neighbours";
}
TEST(WorkspaceLayout, ColumnsAreACacheLineFurtherApartThanTheyNeedBe) {
  auto bytesBetween = [](ElementType element, int64_t size) {
    BufferPlan buffer;
    buffer.element = element;
    buffer.layout = Layout::ColumnMajor;
    buffer.columns = 5;
    buffer.inForward = true;
    return layoutWorkspace({buffer}, 64, 64, {32, 1}, /*backward=*/false).geometry[0].stride1 * size;
  };
  EXPECT_EQ(bytesBetween(ElementType::F32, 4), 64 * 4 + 64);
  EXPECT_EQ(bytesBetween(ElementType::BF16, 2), 64 * 2 + 64) << "else every second column would begin inside a line";
}
TEST(WorkspaceLayout, SizesThatOverflowAreHuge) {
  constexpr int64_t kMost = (int64_t(1) << 31) - 1;
  for (Layout layout : {Layout::Strided, Layout::ColumnMajor, Layout::RowPanels, Layout::ColumnPanels}) {
    std::vector<BufferPlan> buffers(200);
    for (BufferPlan &buffer : buffers) {
      buffer.layout = layout;
      buffer.columns = kMost;
      buffer.inForward = true;
    }
    EXPECT_GT(layoutWorkspace(buffers, kMost, kMost, {16, 1}, /*backward=*/false).phaseBytes, int64_t(1) << 52);
  }
  Workspace workspace(0);
  EXPECT_FALSE(workspace.take(int64_t(1) << 52).isOk());
}
