// bulk_test.cpp - copies of the asynchronous proxy: boxes of tensors and plain bytes, to and from
// shared memory, and each misuse with its corrected twin.
#include "emulator/core/TensorMap.h"
#include "test/unit/emulator/EmulatorHarness.h"
#include <numeric>
using namespace logitile::emulator;

namespace {
std::string coordinates(uint32_t rank, bool areTypes) {
  std::string text;
  for (uint32_t i = 0; i < rank; ++i)
    text += areTypes ? ", i32" : ", i32 %c" + std::to_string(i);
  return text;
}
std::string loadName(uint32_t rank) { return "@llvm.nvvm.cp.async.bulk.tensor.g2s.tile." + std::to_string(rank) + "d"; }
std::string storeName(uint32_t rank, bool adds) {
  return "@llvm.nvvm.cp.async.bulk.tensor." + std::string(adds ? "reduce.add" : "s2g") + ".tile." + std::to_string(rank) + "d";
}

const std::string kInit = "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 1)\n"
                          "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @other, i32 1)\n";
const std::string kFenceInit = "call void @llvm.nvvm.fence.mbarrier_init.release.cluster()\n";
std::string expectBytes(const std::string &bytes = "%bytes") {
  return "%state = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @bar, i32 " + bytes + ")\n";
}
std::string load(uint32_t rank, const std::string &multicast = "0") {
  return "%to7 = addrspacecast ptr addrspace(3) @smem to ptr addrspace(7)\ncall void " + loadName(rank) +
         "(ptr addrspace(7) %to7, ptr addrspace(3) @bar, ptr %map" + coordinates(rank, false) + ", i16 0, i64 0, i1 " + multicast +
         ", i1 0, i32 0)\n";
}
std::string store(uint32_t rank, bool adds = false) {
  return "call void " + storeName(rank, adds) + "(ptr addrspace(3) @smem, ptr %map" + coordinates(rank, false) + ", i64 0, i1 0)\n";
}
const std::string kBarrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
const std::string kWait = "%w = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 0)\n";
const std::string kProxyFence = "call void @llvm.nvvm.fence.proxy.async.shared_cta()\n";
const std::string kCommit = "call void @llvm.nvvm.cp.async.bulk.commit.group()\n";
const std::string kWaitStores = "call void @llvm.nvvm.cp.async.bulk.wait.group(i32 0)\n";
const std::string kWaitReads = "call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)\n";

/// Code for thread 0 alone.
std::string alone(const std::string &name, const std::string &code) {
  return "br i1 %first, label %" + name + ", label %after_" + name + "\n" + name + ":\n" + code + "br label %after_" + name + "\nafter_" +
         name + ":\n";
}
/// Every word of shared memory goes to or comes from buffer %words.
std::string forWords(const std::string &name, bool reads) {
  const std::string shared = "ptr addrspace(3) %s_" + name, global = "ptr addrspace(1) %g_" + name;
  return "br label %from_" + name + "\nfrom_" + name + ":\nbr label %loop_" + name + "\nloop_" + name + ":\n%i_" + name +
         " = phi i32 [%tid, %from_" + name + "], [%n_" + name + ", %body_" + name + "]\n%m_" + name + " = icmp ult i32 %i_" + name +
         ", %count\nbr i1 %m_" + name + ", label %body_" + name + ", label %end_" + name + "\nbody_" + name + ":\n%s_" + name +
         " = getelementptr i32, ptr addrspace(3) @smem, i32 %i_" + name + "\n%g_" + name +
         " = getelementptr i32, ptr addrspace(1) %words, i32 %i_" + name + "\n%v_" + name + " = load i32, " + (reads ? shared : global) +
         "\nstore i32 %v_" + name + ", " + (reads ? global : shared) + "\n%n_" + name + " = add i32 %i_" + name + ", 32\nbr label %loop_" +
         name + "\nend_" + name + ":\n";
}
const std::string kRead = forWords("read", true), kFill = forWords("fill", false);

std::string kernel(uint32_t rank, const std::string &code) {
  const std::string types = coordinates(rank, true);
  return "declare void @llvm.nvvm.prefetch.tensormap.p0(ptr)\ndeclare void " + loadName(rank) +
         "(ptr addrspace(7), ptr addrspace(3), ptr" + types + ", i16, i64, i1, i1, i32)\n" +
         "declare void " + storeName(rank, false) + "(ptr addrspace(3), ptr" + types + ", i64, i1)\n" + "declare void " +
         storeName(rank, true) + "(ptr addrspace(3), ptr" + types + ", i64, i1)\n" + R"(
@smem = internal addrspace(3) global [16384 x i8] undef, align 1024
@bar = internal addrspace(3) global i64 undef, align 8
@other = internal addrspace(3) global i64 undef, align 8
define ptx_kernel void @k(ptr byval([128 x i8]) align 64 %map, ptr addrspace(1) %words, ptr addrspace(1) %tensor, i32 %bytes)" +
         coordinates(rank, false) + R"() {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  %count = lshr i32 %bytes, 2
)" + code + "ret void\n}";
}
/// Thread 0 asks for a box; all wait for it and read it.
std::string loading(uint32_t rank) {
  const std::string hint = "call void @llvm.nvvm.prefetch.tensormap.p0(ptr %map)\n";
  return alone("init", kInit + kFenceInit + expectBytes() + hint + load(rank)) + kBarrier + kWait + kRead;
}

/// A tensor of 32-bit numbers, element i having number i + 1, and the box that a kernel copies.
struct Tensor {
  uint32_t rank = 2;
  std::array<uint64_t, 5> sizes = {20, 6, 3, 2, 2};
  std::array<uint32_t, 5> box = {8, 4, 1, 1, 1};
  std::array<int64_t, 5> at = {};
  uint32_t swizzle = 0, fill = 0;
  TensorType type = TensorType::u32;
  std::array<uint64_t, 4> strides = {};
  std::vector<uint32_t> data, words;
  TensorMap map = {};

  uint32_t bytes() const { return 4 * std::accumulate(box.begin(), box.begin() + rank, 1u, std::multiplies<>()); }
  TensorMapArguments arguments() {
    return {type, rank, data.data(), sizes, strides, box, {1, 1, 1, 1, 1}, 0, swizzle, 0, fill};
  }
  void prepare() {
    uint64_t stride = (sizes[0] * 4 + 31) / 16 * 16; // rows have some words to spare
    for (uint32_t i = 1; i < rank; ++i) {
      strides[i - 1] = stride;
      stride *= sizes[i];
    }
    data.resize(stride / 4 + 4);
    std::iota(data.begin(), data.end(), 1);
    words.assign(bytes() / 4, 0);
    std::array<uint32_t, 5> all = {1, 1, 1, 1, 1};
    std::copy_n(box.begin(), rank, all.begin());
    box = all;
    ASSERT_EQ(encodeTensorMap(arguments(), map), "");
  }
  EmulatorHarness harness(const std::string &code) {
    prepare();
    EmulatorHarness harness(kernel(rank, code));
    harness.launch.arguments.push_back(&map);
    harness.buffer("words", words).buffer("tensor", data).argument(bytes());
    for (uint32_t i = 0; i < rank; ++i)
      harness.argument(static_cast<uint32_t>(at[i]));
    return harness;
  }
  /// Where word 'column' of a row of the box is in shared memory, in words: chunks of 4 words are
  /// exchanged, row by row.
  uint32_t placeOf(uint32_t row, uint32_t column) const {
    const uint32_t chunk = column / 4, exchanged = swizzle == 3 ? row % 8 : swizzle == 2 ? row / 2 % 4 : swizzle == 1 ? row / 4 % 2 : 0;
    return row * box[0] + (chunk ^ exchanged) * 4 + column % 4;
  }
  /// Calls 'body' for each word of the box: its place in shared memory and its index in the tensor,
  /// -1 outside of it.
  template <typename Body> void forBox(Body body) const {
    for (uint32_t row = 0; row < words.size() / box[0]; ++row)
      for (uint32_t column = 0; column < box[0]; ++column) {
        int64_t index = 0;
        for (uint32_t i = 0, rest = row; i < rank; ++i) {
          const int64_t here = at[i] + (i ? rest % box[i] : column);
          rest = i ? rest / box[i] : rest;
          const bool isInside = here >= 0 && here < static_cast<int64_t>(sizes[i]);
          index = isInside && index >= 0 ? index + here * static_cast<int64_t>(i ? strides[i - 1] / 4 : 1) : -1;
        }
        body(placeOf(row, column), index);
      }
  }
  void expectLoaded(uint32_t outside = 0) const {
    forBox([&](uint32_t place, int64_t index) {
      ASSERT_EQ(words[place], index < 0 ? outside : static_cast<uint32_t>(index + 1)) << "word " << place;
    });
  }
};
Tensor tensorOf(uint32_t rank) {
  Tensor tensor;
  tensor.rank = rank;
  tensor.box = {8, 4, 2, 2, 2};
  return tensor;
}
void expectDetail(const Report &report, const std::string &text) { EXPECT_NE(report.detail.find(text), std::string::npos) << report.text(); }
} // namespace

// ---- loads

TEST(EmulatorBulk, boxesOfAllRanks) {
  for (uint32_t rank = 1; rank <= 5; ++rank)
    for (uint64_t seed : {0, 1}) {
      SCOPED_TRACE(rank);
      Tensor tensor = tensorOf(rank);
      tensor.at = {4, 1, 0, 0, 0};
      const Counters counters = tensor.harness(loading(rank)).seed(seed).runClean();
      tensor.expectLoaded();
      EXPECT_EQ(counters.sharedWriteBytes, tensor.bytes());
    }
}

TEST(EmulatorBulk, boxesThatReachOutOfTheTensor) {
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    SCOPED_TRACE(rank);
    Tensor tensor = tensorOf(rank);
    tensor.at = {-3, 4, -1, 1, 1};
    tensor.harness(loading(rank)).runClean();
    tensor.expectLoaded();
    tensor.at = {17, -2, 2, -1, 0};
    tensor.harness(loading(rank)).runClean();
    tensor.expectLoaded();
  }
}

TEST(EmulatorBulk, outsideThereMayBeNans) {
  Tensor tensor = tensorOf(2);
  tensor.at = {17, 4, 0, 0, 0};
  tensor.type = TensorType::f32;
  tensor.fill = 1;
  tensor.harness(loading(2)).runClean();
  tensor.expectLoaded(0x7fffffff);
}

TEST(EmulatorBulk, exchangedChunks) {
  for (uint32_t swizzle : {1, 2, 3}) {
    SCOPED_TRACE(swizzle);
    Tensor tensor;
    tensor.sizes = {64, 40, 1, 1, 1};
    tensor.box = {4u << swizzle, 32, 1, 1, 1};
    tensor.at = {8, 12, 0, 0, 0};
    tensor.swizzle = swizzle;
    tensor.harness(loading(2)).runClean();
    tensor.expectLoaded();
  }
}

TEST(EmulatorBulk, readingBeforeTheMbarrier) {
  Tensor tensor;
  const std::string issue = alone("init", kInit + kFenceInit + expectBytes() + load(2)) + kBarrier;
  const Report report = tensor.harness(issue + kRead + kWait).runFaulty(Fault::inFlight);
  expectDetail(report, "the bulk copy may not have landed; wait for its mbarrier first");
  EXPECT_EQ(tensor.words[0], 0xffffffffu);
}

TEST(EmulatorBulk, waitingForAnotherMbarrier) {
  const std::string others = "%a = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @other)\n";
  std::string wait = kWait;
  wait.replace(wait.find("@bar"), 4, "@other");
  wait.replace(wait.find("%w"), 2, "%x");
  Tensor tensor;
  const std::string issue = alone("init", kInit + kFenceInit + expectBytes() + load(2) + others) + kBarrier;
  tensor.harness(issue + wait + kRead + kWait).runFaulty(Fault::inFlight);
}

TEST(EmulatorBulk, mbarriersNeedAFence) {
  Tensor tensor;
  const std::string rest = expectBytes() + load(2);
  tensor.harness(alone("init", kInit + rest) + kBarrier + kWait + kRead).runFaulty(Fault::proxyFence);
  tensor.harness(alone("init", kInit + kProxyFence + rest) + kBarrier + kWait + kRead).runClean();
}

TEST(EmulatorBulk, bytesThatAreNotAnnouncedRight) {
  Tensor tensor;
  for (const char *bytes : {"112", "144"}) {
    const std::string issue = alone("init", kInit + kFenceInit + expectBytes(bytes) + load(2));
    expectDetail(tensor.harness(issue + kBarrier + kWait + kRead).runFaulty(Fault::deadlock),
                 std::string(bytes) == "112" ? " -16 bytes" : " 16 bytes");
  }
}

TEST(EmulatorBulk, nobodyWaits) {
  Tensor tensor;
  expectDetail(tensor.harness(alone("init", kInit + kFenceInit + expectBytes() + load(2))).runFaulty(Fault::misuse),
               "the block ends before the copy is known to have landed");
}

TEST(EmulatorBulk, landedIsNotWaitedFor) {
  const std::string barriers = kBarrier + kBarrier + kBarrier + kBarrier;
  for (uint64_t seed = 1; seed <= 8; ++seed) { // with some of them the copy lands while threads wait for each other
    Tensor tensor;
    const std::string code = alone("init", kInit + kFenceInit + expectBytes() + load(2)) + barriers;
    expectDetail(tensor.harness(code).seed(seed).runFaulty(Fault::misuse), "the block ends before the copy is known to have landed");
  }
}

TEST(EmulatorBulk, mapsAndFormsThatItRefuses) {
  Tensor tensor;
  EmulatorHarness wrong = tensor.harness(loading(2));
  tensor.map.mark = 0;
  expectDetail(wrong.runFaulty(Fault::misuse), "its operand is not a tensor map");
  Tensor flat;
  EmulatorHarness other = flat.harness(loading(2));
  flat.map.rank = 3;
  expectDetail(other.runFaulty(Fault::misuse), "it has 2 coordinates, but its tensor map 3 dimensions");
  Tensor several;
  const std::string multicast = alone("init", kInit + kFenceInit + expectBytes() + load(2, "1")) + kBarrier + kWait + kRead;
  expectDetail(several.harness(multicast).runFaulty(Fault::misuse), "its mask of blocks is 0 in a cluster of 1");
}

TEST(EmulatorBulk, overwritingWhatOthersStillRead) {
  Tensor tensor;
  const std::string again = alone("again", expectBytes("%bytes") + load(2));
  std::string second = again;
  for (const char *name : {"%state", "%to7"})
    for (size_t at = 0; (at = second.find(name, at)) != second.npos; at += 6)
      second.insert(at + 1, "again_");
  std::string wait = kWait;
  wait.replace(wait.find("%w"), 2, "%v").replace(wait.find("i32 0"), 5, "i32 1");
  const Outcome early = tensor.harness(loading(2) + second + wait).run();
  ASSERT_FALSE(early.reports.empty());
  EXPECT_EQ(early.reports[0].fault, Fault::race);
  tensor.harness(loading(2) + kBarrier + second + wait).runClean();
}

// ---- stores

TEST(EmulatorBulk, boxesOutsideOfTheirTensorStoreNothing) {
  Tensor tensor = tensorOf(2);
  tensor.at = {0, 100};
  EmulatorHarness harness = tensor.harness(kFill + kProxyFence + kBarrier + alone("store", store(2) + kCommit + kWaitReads));
  const std::vector<uint32_t> before = tensor.data;
  harness.runClean();
  EXPECT_EQ(tensor.data, before);
}

TEST(EmulatorBulk, storesOfAllRanks) {
  for (uint32_t rank = 1; rank <= 5; ++rank)
    for (bool adds : {false, true}) {
      SCOPED_TRACE(std::to_string(rank) + (adds ? " adds" : ""));
      Tensor tensor = tensorOf(rank);
      tensor.at = {-4, 4, -1, 1, 1};
      EmulatorHarness harness =
          tensor.harness(kFill + kProxyFence + kBarrier + alone("store", store(rank, adds) + kCommit + kWaitStores));
      std::iota(tensor.words.begin(), tensor.words.end(), 1000);
      const std::vector<uint32_t> before = tensor.data;
      harness.runClean();
      std::vector<uint32_t> expected = before;
      tensor.forBox([&](uint32_t place, int64_t index) {
        if (index >= 0)
          expected[index] = 1000 + place + (adds ? before[index] : 0);
      });
      EXPECT_EQ(tensor.data, expected);
    }
}

TEST(EmulatorBulk, storesWithExchangedChunks) {
  Tensor tensor;
  tensor.sizes = {64, 40, 1, 1, 1};
  tensor.box = {32, 16, 1, 1, 1};
  tensor.swizzle = 3;
  EmulatorHarness harness = tensor.harness(kFill + kProxyFence + kBarrier + alone("store", store(2) + kCommit + kWaitStores));
  std::iota(tensor.words.begin(), tensor.words.end(), 1000);
  harness.runClean();
  tensor.forBox([&](uint32_t place, int64_t index) { ASSERT_EQ(tensor.data[index], 1000 + place); });
}

TEST(EmulatorBulk, storesNeedAFence) {
  Tensor tensor;
  const std::string rest = kBarrier + alone("store", store(2) + kCommit + kWaitStores);
  const Report report = tensor.harness(kFill + rest).runFaulty(Fault::proxyFence);
  EXPECT_EQ(report.parties[0].action, "earlier write");
  tensor.harness(kFill + kProxyFence + rest).runClean();
}

TEST(EmulatorBulk, overwritingTheSourceOfAStore) {
  Tensor tensor;
  const std::string start = kFill + kProxyFence + kBarrier + alone("store", store(2) + kCommit);
  const std::string again = kBarrier + forWords("again", false), end = alone("end", kWaitStores);
  const Outcome early = tensor.harness(start + again + end).run();
  EXPECT_NE(early.text().find("earlier read by bulk copy of thread 0"), std::string::npos) << early.text();
  tensor.harness(start + alone("reads", kWaitReads) + again + end).runClean();
}

TEST(EmulatorBulk, resultsAreThereOnceTheGroupIs) {
  Tensor tensor;
  const std::string start = kFill + kProxyFence + kBarrier, read = "%r = load i32, ptr addrspace(1) %tensor\n";
  tensor.harness(start + alone("store", store(2) + kCommit + kWaitReads + read + kWaitStores)).runFaulty(Fault::inFlight);
  tensor.harness(start + alone("store", store(2) + kCommit + kWaitStores + read)).runClean();
}

TEST(EmulatorBulk, threadsThatEndTooEarly) {
  Tensor tensor;
  const std::string start = kFill + kProxyFence + kBarrier;
  expectDetail(tensor.harness(start + alone("store", store(2) + kCommit)).runFaulty(Fault::misuse), "its thread ends before the copy");
  EmulatorHarness harness = tensor.harness(start + alone("store", store(2) + kCommit + kWaitReads));
  tensor.words.assign(tensor.words.size(), 5);
  harness.runClean();
  EXPECT_EQ(tensor.data[0], 5u);
}

// ---- plain bytes

TEST(EmulatorBulk, plainBytes) {
  const std::string load = "%to7 = addrspacecast ptr addrspace(3) @smem to ptr addrspace(7)\n"
                           "call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %to7, ptr addrspace(3) @bar, "
                           "ptr addrspace(1) %tensor, i32 %bytes, i16 0, i64 0, i1 0, i1 0)\n";
  Tensor tensor;
  tensor.harness(alone("init", kInit + kFenceInit + expectBytes() + load) + kBarrier + kWait + kRead).runClean();
  EXPECT_EQ(tensor.words[7], 8u);
  const std::string store = "call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1) %tensor, ptr addrspace(3) @smem, i32 "
                            "%bytes, i64 0, i1 0)\n";
  EmulatorHarness harness = tensor.harness(kFill + kProxyFence + kBarrier + alone("store", store + kCommit + kWaitStores));
  tensor.words.assign(tensor.words.size(), 9);
  harness.runClean();
  EXPECT_EQ(tensor.data[31], 9u);
  EXPECT_EQ(tensor.data[32], 33u);
  std::string odd = load;
  odd.replace(odd.find("i32 %bytes"), 10, "i32 24");
  expectDetail(tensor.harness(alone("init", kInit + kFenceInit + expectBytes() + odd) + kBarrier + kWait + kRead).runFaulty(Fault::misuse),
               "24 bytes are no multiple of 16");
}

// ---- tensor maps

TEST(EmulatorBulk, mapsThatThereAreNot) {
  auto refusalOf = [](auto change) {
    Tensor tensor;
    tensor.prepare();
    TensorMapArguments arguments = tensor.arguments();
    change(arguments);
    TensorMap map;
    return encodeTensorMap(arguments, map);
  };
  EXPECT_EQ(refusalOf([](auto &a) { a.rank = 6; }), "the rank is 6, not one of 1 to 5");
  EXPECT_EQ(refusalOf([](auto &a) { a.address = static_cast<uint8_t *>(a.address) + 4; }), "the address is no multiple of 16");
  EXPECT_EQ(refusalOf([](auto &a) { a.strides[0] = 104; }), "the stride of dimension 1 is 104 bytes, not a multiple of 16 below 2^40");
  EXPECT_EQ(refusalOf([](auto &a) { a.box[1] = 257; }), "the box of dimension 1 is 257, not one of 1 to 256");
  EXPECT_EQ(refusalOf([](auto &a) { a.sizes[0] = 0; }), "the size of dimension 0 is 0, not one of 1 to 2^32");
  EXPECT_EQ(refusalOf([](auto &a) { a.box[0] = 6; }), "rows of the box have 24 bytes, not a multiple of 16");
  EXPECT_EQ(refusalOf([](auto &a) { a.swizzle = 3; }),
            "rows of the box have 32 bytes, not the 128 of the swizzle; the emulator knows no shorter ones");
  EXPECT_EQ(refusalOf([](auto &a) { a.fill = 1; }), "only numbers with a point can be filled with NaN");
  EXPECT_EQ(refusalOf([](auto &a) { a.elementSteps[0] = 2; }), "the step of dimension 0 is 2; the emulator knows only 1");
  EXPECT_EQ(refusalOf([](auto &a) { a.interleave = 1; }), "the emulator knows no interleaved layouts");
}
