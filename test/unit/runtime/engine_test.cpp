// engine_test.cpp - from requests to plans through a compiler that the test brings, and what
// History tells of it.
#include "compiler/Compile.h"
#include "runtime/engine/Describe.h"
#include "runtime/engine/Engine.h"
#include "runtime/plan/PlanFile.h"
#include "test/unit/runtime/DiskCaches.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <cstdlib>
using namespace logitile;
using namespace logitile::test;
using Gradients = PlanOptions::Gradients;

namespace {
/// Hand-made plans for intervals of 100 tokens; keeps the requests that it saw.
struct TestCompiler {
  std::vector<CompileRequest> seen;
  PlanOptions options{Gradients::Split, 8, 0, 1};

  CompileResult operator()(const CompileRequest &request) {
    seen.push_back(request);
    CompileResult result;
    result.plan = makePlan(options);
    result.plan->tokensFirst = request.tokens / 100 * 100;
    result.plan->tokensEnd = result.plan->tokensFirst + 100;
    result.times = {{Stage::Plan, 1.5}, {Stage::Obj, 20}};
    return result;
  }
};

Request request() {
  Request request;
  request.spec = "spec";
  request.locatedSpec = "spec with places";
  request.projections = {{"z", kHidden, ElementType::F32, ElementType::F32, ElementType::F32}};
  request.dense = {{"mask", ElementType::F32}};
  request.gradients = {{"z", OperandPart::Hidden, ElementType::F32}};
  request.mode = Mode::Split;
  request.workspace = 1 << 20;
  request.target = "cpu:portable";
  request.threads = 2;
  return request;
}

/// Forward and backward of one call.
void runCall(Engine &engine, const PlanUse &use, const PlanOptions &options, int64_t tokens) {
  TestCall call({tokens});
  std::vector<Array> inputs = {call.hidden.array(), call.weight.array(), call.target.array(), call.alpha.array(),
                               call.beta.array(),   call.bias.array(),   call.mask.array()};
  std::vector<Array> outputs = {call.loss.array()};
  std::vector<Array> gradients = {call.dHidden.array(), call.dWeight.array(), call.dMask.array(),
                                  call.dBias.array(),   call.dAlpha.array(),  call.dBeta.array()};
  CallArguments arguments = call.options;
  arguments.inputs = inputs;
  arguments.outputs = outputs;
  arguments.gradients = gradients;
  Result<std::unique_ptr<Saved>> saved = engine.forward(use.loaded, arguments);
  ASSERT_TRUE(saved.isOk()) << saved.status().error().text;
  ASSERT_TRUE(engine.backward(**saved, arguments).isOk());
  call.expectRight(options, true);
}

class EngineTest : public testing::Test {
protected:
  TestCompiler compiler;
  Engine engine{[this](const CompileRequest &request) { return compiler(request); }, {}};

  PlanUse plan(int64_t tokens) {
    Result<Program> program = engine.makeProgram(request());
    EXPECT_TRUE(program.isOk());
    Result<PlanUse> use = engine.findPlan(*program, tokens);
    EXPECT_TRUE(use.isOk()) << use.status().error().text;
    return *use;
  }
  void run(const PlanUse &use, int64_t tokens) { runCall(engine, use, compiler.options, tokens); }
};
} // namespace

TEST_F(EngineTest, TheCompilerGetsTheWholeRequest) {
  plan(37);
  ASSERT_EQ(compiler.seen.size(), 1u);
  const CompileRequest &seen = compiler.seen.front();
  EXPECT_EQ(requestBytes(seen, ""), requestBytes(request(), ""));
  EXPECT_EQ(seen.locatedSpec, "spec with places");
  EXPECT_EQ(seen.tokens, 37);
}
TEST_F(EngineTest, ANewBatchSizeInsideAnIntervalDoesNotCompile) {
  PlanUse first = plan(37);
  EXPECT_EQ(first.origin.event, PlanEvent::Compile);
  PlanUse second = plan(99);
  EXPECT_EQ(second.origin.event, PlanEvent::Hit);
  EXPECT_EQ(second.loaded, first.loaded);
  EXPECT_EQ(plan(100).origin.event, PlanEvent::Compile);
  EXPECT_EQ(plan(0).origin.event, PlanEvent::Hit);
  EXPECT_EQ(compiler.seen.size(), 2u);
}
TEST_F(EngineTest, TheFirstRecordTellsOfTheCompilationWhoeverAskedForIt) {
  plan(37); // such as a description of the plan
  run(plan(40), 40);
  run(plan(40), 40);
  std::vector<LaunchRecord> records = engine.history().snapshot();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].origin.event, PlanEvent::Compile);
  EXPECT_EQ(records[0].origin.stages.at(1).milliseconds, 20);
  for (size_t i : {1, 2, 3})
    EXPECT_EQ(records[i].origin.event, PlanEvent::Hit) << i;
}
TEST_F(EngineTest, RecordsTellWhatHappened) {
  run(plan(37), 37);
  run(plan(40), 40);
  std::vector<LaunchRecord> records = engine.history().snapshot();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].origin.event, PlanEvent::Compile);
  EXPECT_EQ(records[0].origin.stages.at(1).stage, Stage::Obj);
  EXPECT_EQ(records[0].origin.stages.at(1).milliseconds, 20);
  EXPECT_GT(records[0].origin.loadMilliseconds, 0);
  EXPECT_TRUE(records[1].isBackward);
  EXPECT_EQ(records[2].origin.event, PlanEvent::Hit);
  EXPECT_TRUE(records[2].origin.stages.empty());
  EXPECT_EQ(records[2].tokens, 40);
  EXPECT_EQ(records[2].chunks, 5);
  EXPECT_EQ(records[3].number, 4u);
  for (const LaunchRecord &record : records) {
    EXPECT_EQ(record.key, KernelKey::of(request(), compilerBuildId()));
    EXPECT_GT(record.measuredBytes, 0);
    EXPECT_LE(record.measuredBytes, record.predictedBytes);
    EXPECT_TRUE(record.kernels.empty());
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(describeHistory(records));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object &object = *(*json->getAsArray())[0].getAsObject();
  EXPECT_EQ(*object.getString("event"), "compile");
  EXPECT_EQ(*object.getString("program"), "weighted");
  EXPECT_EQ(object.getObject("stage_ms")->getNumber("obj"), 20);
}
TEST(EngineHistory, IsARing) {
  History history(3);
  for (int64_t i = 0; i < 5; ++i) {
    LaunchRecord record;
    record.tokens = i;
    history.add(record);
  }
  std::vector<LaunchRecord> records = history.snapshot();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].tokens, 2);
  EXPECT_EQ(records[2].number, 5u);
}
TEST(EngineTiming, KernelsAreTimedWhenAsked) {
  Engine::Options options;
  options.timesKernels = true;
  TestCompiler compiler;
  compiler.options = {Gradients::None};
  Engine engine([&](const CompileRequest &request) { return compiler(request); }, options);
  Result<PlanUse> use = engine.findPlan(*engine.makeProgram(request()), 5);
  TestCall call({5});
  std::vector<Array> inputs = {call.hidden.array(), call.weight.array(), call.target.array(), call.alpha.array(),
                               call.beta.array(),   call.bias.array(),   call.mask.array()};
  std::vector<Array> outputs = {call.loss.array()};
  CallArguments arguments = call.options;
  arguments.inputs = inputs;
  arguments.outputs = outputs;
  ASSERT_TRUE(engine.forward(use->loaded, arguments).isOk());
  LaunchRecord record = engine.history().snapshot().front();
  ASSERT_EQ(record.kernels.size(), 3u);
  EXPECT_EQ(record.kernels[1].name, "sweep");
  EXPECT_EQ(record.kernels[1].use.launches, 1);
  EXPECT_TRUE(record.kernels[1].use.milliseconds.has_value());
  EXPECT_FALSE(record.kernels[1].use.counters.has_value());
}

// ---- plans from bytes ---------------------------------------------------------------------------

TEST_F(EngineTest, PlansFromBytesRun) {
  std::string bytes = writePlan(plan(37).loaded->plan, {});
  Result<PlanUse> use = engine.loadPlanBytes(bytes);
  ASSERT_TRUE(use.isOk()) << use.status().error().text;
  run(*use, 37);
  LaunchRecord record = engine.history().snapshot().front();
  EXPECT_EQ(record.origin.event, PlanEvent::Load);
  EXPECT_EQ(record.key, KernelKey::ofBytes(bytes));
}
TEST_F(EngineTest, PlansOfOtherMachinesAreRefused) {
  LaunchPlan other = makePlan({Gradients::None});
  other.target = "cuda:sm_90";
  EXPECT_EQ(engine.loadPlanBytes(writePlan(other, {})).status().error().text,
            "the launch plan 'weighted' lacks buffers that GPUs need");
  setenv("LOGITILE_CPU_TIER", "portable", 1);
  other.target = "cpu:avx512_bf16";
  Result<PlanUse> use = engine.loadPlanBytes(writePlan(other, {}));
  unsetenv("LOGITILE_CPU_TIER");
  ASSERT_FALSE(use.isOk());
  EXPECT_EQ(use.status().error().code, ErrorCode::Target);
  EXPECT_EQ(use.status().error().text, "target 'cpu:avx512_bf16' needs instructions that this machine's 'cpu:portable' lacks");
}

// ---- plans from disk ----------------------------------------------------------------------------

namespace {
/// Engines one after the other, as processes are, on one folder.
class EngineDiskTest : public testing::Test {
protected:
  TemporaryFolder folder;
  TestCompiler compiler;

  std::unique_ptr<Engine> start() {
    Engine::Options options;
    options.disk = DiskCache::Options{folder.path};
    return std::make_unique<Engine>([this](const CompileRequest &request) { return compiler(request); }, options);
  }
  PlanUse plan(Engine &engine, int64_t tokens) {
    Result<PlanUse> use = engine.findPlan(*engine.makeProgram(request()), tokens);
    EXPECT_TRUE(use.isOk()) << use.status().error().text;
    return *use;
  }
  std::filesystem::path onlyEntry() { return DiskCache::list(folder.path, "")->at(0).path; }
};
} // namespace

TEST_F(EngineDiskTest, TheNextEngineDoesNotCompile) {
  EXPECT_EQ(plan(*start(), 37).origin.event, PlanEvent::Compile);
  std::unique_ptr<Engine> engine = start();
  PlanUse use = plan(*engine, 99);
  EXPECT_EQ(compiler.seen.size(), 1u);
  EXPECT_EQ(use.origin.event, PlanEvent::Disk);
  EXPECT_TRUE(use.origin.stages.empty());
  EXPECT_GT(use.origin.loadMilliseconds, 0);
  EXPECT_TRUE(use.notices.empty());
  EXPECT_EQ(use.loaded->key, engine->makeProgram(request())->key);
  EXPECT_EQ(plan(*engine, 99).origin.event, PlanEvent::Hit);
  runCall(*engine, use, compiler.options, 37);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(describeHistory(engine->history().snapshot()));
  ASSERT_TRUE(bool(json));
  EXPECT_EQ(*(*json->getAsArray())[0].getAsObject()->getString("event"), "disk");
}
TEST_F(EngineDiskTest, EveryIntervalIsKept) {
  std::unique_ptr<Engine> first = start();
  plan(*first, 37);
  plan(*first, 137);
  std::unique_ptr<Engine> second = start();
  EXPECT_EQ(plan(*second, 150).origin.event, PlanEvent::Disk);
  EXPECT_EQ(plan(*second, 50).origin.event, PlanEvent::Disk);
  EXPECT_EQ(plan(*second, 250).origin.event, PlanEvent::Compile);
}
TEST_F(EngineDiskTest, ForgottenPlansAreOnDisk) {
  std::unique_ptr<Engine> engine = start();
  plan(*engine, 37);
  engine->cache().clear();
  EXPECT_EQ(plan(*engine, 37).origin.event, PlanEvent::Disk);
}
TEST_F(EngineDiskTest, DamageIsANoticeAndCompiles) {
  plan(*start(), 37);
  std::filesystem::resize_file(onlyEntry(), 1000);
  std::unique_ptr<Engine> engine = start();
  PlanUse use = plan(*engine, 37);
  EXPECT_EQ(use.origin.event, PlanEvent::Compile);
  ASSERT_EQ(use.notices.size(), 1u);
  EXPECT_NE(use.notices[0].find("its checksum is wrong"), std::string::npos);
  EXPECT_TRUE(plan(*engine, 37).notices.empty());
  EXPECT_EQ(plan(*start(), 37).origin.event, PlanEvent::Disk) << "it was replaced";
}
TEST_F(EngineDiskTest, APlanThatDoesNotLoadCompiles) {
  plan(*start(), 37);
  LaunchPlan wrong = makePlan(compiler.options);
  wrong.tokensFirst = 0;
  wrong.tokensEnd = 100;
  DiskKey key{start()->makeProgram(request())->key, requestBytes(request(), compilerBuildId())};
  auto change = {+[](LaunchPlan &plan) { plan.code = "no object"; }, +[](LaunchPlan &plan) { plan.kernels[0].name = "another"; },
                 +[](LaunchPlan &plan) { plan.outputs[0].buffer = 1000; }, +[](LaunchPlan &plan) { plan.target = "cuda:sm_90"; }};
  for (auto make : change) {
    LaunchPlan plan = wrong;
    make(plan);
    DiskCache({folder.path}).publish(key, plan);
    PlanUse use = this->plan(*start(), 37);
    EXPECT_EQ(use.origin.event, PlanEvent::Compile);
    EXPECT_EQ(use.notices.size(), 1u);
  }
  EXPECT_EQ(DiskCache::list(folder.path, "")->size(), 1u);
}
TEST_F(EngineDiskTest, AFailedCompilationKeepsItsNoticesForTheNext) {
  std::filesystem::permissions(folder.path, std::filesystem::perms::all);
  bool fails = true;
  Engine::Options options;
  options.disk = DiskCache::Options{folder.path};
  Engine engine([&](const CompileRequest &request) { return fails ? CompileResult() : compiler(request); }, options);
  EXPECT_FALSE(engine.findPlan(*engine.makeProgram(request()), 37).isOk());
  fails = false;
  EXPECT_EQ(plan(engine, 37).notices.size(), 1u);
}

// ---- errors -------------------------------------------------------------------------------------

TEST_F(EngineTest, UnknownTargets) {
  Request wrong = request();
  wrong.target = "cpu:z80";
  EXPECT_EQ(engine.makeProgram(wrong).status().error().code, ErrorCode::Target);
}
static Status failureOf(const CompileResult &result) {
  Engine engine([&](const CompileRequest &) { return result; }, {});
  return engine.findPlan(*engine.makeProgram(request()), 5).status();
}
TEST(EngineErrors, ABudgetThatIsTooSmallIsTheCallers) {
  CompileResult result;
  result.error = "loc: 'logitile.program' op needs more";
  result.minimumWorkspace = 5000000;
  Status status = failureOf(result);
  EXPECT_EQ(status.error().code, ErrorCode::Value);
  EXPECT_EQ(status.error().text, "'workspace' is 1.0 MiB (1048576 bytes), but 5 tokens need at least 4.8 MiB (5000000 bytes); raise it");
  EXPECT_EQ(status.error().minimumWorkspace, 5000000);
}
TEST(EngineErrors, EverythingElseIsTheCompilers) {
  CompileResult result;
  result.error = "train.py:3:4: no";
  result.failed = Stage::Tiles;
  result.reproducer = "module {}";
  Status status = failureOf(result);
  EXPECT_EQ(status.error().code, ErrorCode::Compile);
  EXPECT_EQ(status.error().text, "train.py:3:4: no");
  EXPECT_EQ(status.error().stage, "tiles");
  EXPECT_EQ(status.error().reproducer, "module {}");
}

// ---- descriptions -------------------------------------------------------------------------------

TEST(Describe, PlansSayWhatACallLaunches) {
  LaunchPlan plan = makePlan({Gradients::None, 8, 0, 1});
  std::shared_ptr<const LoadedPlan> loaded(new LoadedPlan{nullptr, {}, plan, {}, nullptr, {}});
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(describePlan(PlanUse{loaded, {}, {}, {}}, 20, 1));
  ASSERT_TRUE(bool(json));
  std::vector<int64_t> packed, tasks;
  for (const llvm::json::Value &launch : *json->getAsObject()->getArray("launches"))
    if (*launch.getAsObject()->getString("kernel") == plan.kernels[0].name) {
      packed.push_back(*launch.getAsObject()->getInteger("tokens"));
      tasks.push_back(*launch.getAsObject()->getInteger("tasks"));
    }
  EXPECT_EQ(packed, (std::vector<int64_t>{8, 8, 4})); // chunks of 20 tokens
  EXPECT_EQ(tasks, (std::vector<int64_t>{1, 1, 1}));  // a task for each tile of tokens
}

TEST(Describe, NoTokensNeedNoLaunchInALoopOverThem) {
  LaunchPlan plan = makePlan({Gradients::None, 8, 0, 1});
  std::shared_ptr<const LoadedPlan> loaded(new LoadedPlan{nullptr, {}, plan, {}, nullptr, {}});
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(describePlan(PlanUse{loaded, {}, {}, {}}, 0, 1));
  ASSERT_TRUE(bool(json));
  EXPECT_TRUE(json->getAsObject()->getArray("launches")->empty());
}

TEST(Describe, PlansSayWhatTheyTake) {
  LaunchPlan plan = makePlan({Gradients::Split, 8, 2, 1});
  std::shared_ptr<const LoadedPlan> loaded(new LoadedPlan{nullptr, {}, plan, {}, nullptr, {}});
  PlanUse use{loaded, {PlanEvent::Compile, {{Stage::Obj, 1.5}}, 0.5}, {}, {}};
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(describePlan(use, 100, 2));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object &object = *json->getAsObject();
  EXPECT_EQ(object.getInteger("workspace_bytes"), workspaceBytes(plan, 100, 2));
  EXPECT_EQ(object.getInteger("vocab"), kVocab);
  EXPECT_EQ(object.getObject("stage_ms")->getNumber("obj"), 1.5);
  EXPECT_EQ(object.getNumber("load_ms"), 0.5);
  EXPECT_EQ(object.getArray("kernels")->size(), plan.kernels.size());
  EXPECT_EQ(*(*object.getArray("forward"))[0].getAsObject()->getString("loop"), "tokens");
  int64_t own = 0;
  for (const llvm::json::Value &buffer : *object.getArray("buffers")) {
    if (*buffer.getAsObject()->getString("role") == "stored") {
      EXPECT_EQ(*buffer.getAsObject()->getString("scope"), "saved");
      EXPECT_EQ(buffer.getAsObject()->getInteger("window"), 2 * kVocabSplit);
    }
    own += *buffer.getAsObject()->getInteger("bytes");
  }
  EXPECT_GT(own, 100 * 2 * kVocabSplit * 4);
}
