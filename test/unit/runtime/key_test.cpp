// key_test.cpp - every field of a request changes its key, and nothing else does.
#include "runtime/plan/KernelKey.h"
#include "gtest/gtest.h"
#include <functional>
#include <set>
using namespace logitile;

static Request request() {
  Request request;
  request.spec = "logitile.loss @a {}";
  constexpr ElementType kF32 = ElementType::F32, kBF16 = ElementType::BF16;
  request.projections = {{"student", 64, kF32, kF32, kF32}, {"teacher", 32, kBF16, kBF16, kBF16}};
  request.dense = {{"mask", kF32}};
  request.gradients = {{"student", OperandPart::Hidden, kF32}, {"bias", OperandPart::Input, kBF16}};
  request.mode = Mode::Early;
  request.workspace = 1 << 20;
  request.target = "cpu:avx2";
  request.threads = 2;
  return request;
}

static const std::function<void(Request &)> kChanges[] = {
    [](Request &r) { r.spec += " "; },
    [](Request &r) { r.projections[0].name = "students"; },
    [](Request &r) { r.projections[0].hidden = 65; },
    [](Request &r) { r.projections[1].element = ElementType::F16; },
    [](Request &r) { r.projections[1].hiddenMemory = ElementType::F32; },
    [](Request &r) { r.projections[1].weightMemory = ElementType::F32; },
    [](Request &r) { std::swap(r.projections[0], r.projections[1]); },
    [](Request &r) { r.projections.pop_back(); },
    [](Request &r) { r.dense["mask"] = ElementType::BF16; },
    [](Request &r) { r.dense["mask2"] = ElementType::F32; },
    [](Request &r) { r.dense.clear(); },
    [](Request &r) { r.gradients[1].owner = "biases"; },
    [](Request &r) { r.gradients[0].part = OperandPart::Weight; },
    [](Request &r) { r.gradients[1].element = ElementType::F32; },
    [](Request &r) { r.gradients.push_back({"student", OperandPart::Weight, ElementType::F32}); },
    [](Request &r) { r.gradients.pop_back(); },
    [](Request &r) { r.mode = Mode::Forward; },
    [](Request &r) { r.mode = Mode::Split; },
    [](Request &r) { r.workspace += 1; },
    [](Request &r) { r.workspace = 0, r.chunks = 1 << 20; },
    [](Request &r) { r.chunks = 4; },
    [](Request &r) { r.accumulate = true; },
    [](Request &r) { r.target = "cpu:avx512"; },
    [](Request &r) { r.threads = 3; },
    [](Request &r) { r.slice = SlicePlan{SlicePart::Sweep, 8, 0}; },
    [](Request &r) { r.slice = SlicePlan{SlicePart::Merge, 8, 0}; },
    [](Request &r) { r.slice = SlicePlan{SlicePart::Sweep, 9, 0}; },
    [](Request &r) { r.slice = SlicePlan{SlicePart::Sweep, 8, 1}; },
};

TEST(KernelKey, EveryFieldChangesIt) {
  std::set<std::string> keys{KernelKey::of(request(), "build").hex()};
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    Request changed = request();
    kChanges[i](changed);
    EXPECT_TRUE(keys.insert(KernelKey::of(changed, "build").hex()).second) << "change " << i << " gives a key that was there";
  }
  EXPECT_TRUE(keys.insert(KernelKey::of(request(), "other build").hex()).second);
}
TEST(KernelKey, LocationsDoNotChangeIt) {
  Request located = request();
  located.locatedSpec = "logitile.loss @a {} loc(\"train.py\":3:1)";
  EXPECT_EQ(KernelKey::of(located, "build"), KernelKey::of(request(), "build"));
}
TEST(KernelKey, IsTheSameInEveryProcess) {
  // A key names entries of caches that outlive processes: this value changes only with the layout
  // of keys.
  EXPECT_EQ(KernelKey::of(Request(), "").hex().size(), 64u);
  EXPECT_EQ(KernelKey::of(request(), "build").hex(), "37b46a1daf95fc711874c062d0b187e1ab052c7c40f00c71d2ccac663a1421a6");
}
TEST(KernelKey, IsTheDigestOfBytesThatNameTheBuild) {
  std::set<std::string> spellings{requestBytes(request(), "build")};
  for (const std::function<void(Request &)> &change : kChanges) {
    Request changed = request();
    change(changed);
    EXPECT_TRUE(spellings.insert(requestBytes(changed, "build")).second);
  }
  EXPECT_EQ(buildIdOf(requestBytes(request(), "build")), "build");
  EXPECT_EQ(buildIdOf("hello"), "");
}
TEST(KernelKey, BytesHaveKeysOfTheirOwn) {
  EXPECT_EQ(KernelKey::ofBytes("plan"), KernelKey::ofBytes("plan"));
  EXPECT_FALSE(KernelKey::ofBytes("plan") == KernelKey::ofBytes("plans"));
  EXPECT_NE(KernelKey::ofBytes("plan").hash(), KernelKey::ofBytes("plans").hash());
}
TEST(KernelKey, BuildIdNamesNoPath) {
  std::string id(compilerBuildId());
  EXPECT_GT(id.size(), 64u);
  EXPECT_EQ(id.find('/'), std::string::npos) << id;
}

TEST(KernelKey, OfATaskIgnoresTilesAndCompilers) {
  std::string key = KernelKey::ofTask(request()).hex();
  Request tiled = request();
  tiled.tiles = {{"TM", 64}};
  EXPECT_EQ(KernelKey::ofTask(tiled).hex(), key);
  EXPECT_NE(KernelKey::of(tiled, "build").hex(), KernelKey::of(request(), "build").hex());
  std::set<std::string> keys{key};
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    Request changed = request();
    kChanges[i](changed);
    EXPECT_TRUE(keys.insert(KernelKey::ofTask(changed).hex()).second) << "change " << i << " gives a key that was there";
  }
}
