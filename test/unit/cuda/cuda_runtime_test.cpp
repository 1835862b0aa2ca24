// cuda_runtime_test.cpp - plans on GPUs over a library that stands in for the driver: opening it,
// contexts, code, launches, memory and errors. Every test also checks that nothing is used wrongly
// and that everything is given back.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaPlatform.h"
#include "test/unit/cuda/CudaStandIn.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
using namespace logitile;
using namespace logitile::test;

namespace {
constexpr int64_t kManyBytes = 100 * 1024; // of shared memory: more than a kernel has without asking

std::string ptx(const std::string &target) {
  return ".version 7.0\n.target " + target + R"(
.address_size 64
.visible .entry first(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e)
.maxntid 128, 1, 1
{ ret; }
.visible .entry second(.param .u64 a, .param .u64 b, .param .u64 c)
{ .shared .align 4 .b8 fixed[1024]; ret; }
)";
}

KernelPlan kernel(const std::string &name, std::vector<ArgumentPlan> arguments, int64_t threads, int64_t sharedBytes) {
  KernelPlan plan;
  plan.name = name;
  plan.arguments = std::move(arguments);
  plan.threads = threads;
  plan.sharedBytes = sharedBytes;
  return plan;
}

LaunchPlan planFor(const std::string &target) {
  LaunchPlan plan;
  plan.name = "demo";
  plan.target = "cuda:" + target;
  plan.kernels = {kernel("first", {{true, 0, {}}, {false, -1, {}}, {false, -1, {}}}, 128, 0),
                  kernel("second", {{true, 0, {}}}, 256, kManyBytes)};
  plan.code = ptx(target);
  return plan;
}

std::string textOf(const Status &status) { return status.isOk() ? "" : status.error().text; }
bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }
#define EXPECT_TEXT(status, part)                                                                                                          \
  EXPECT_TRUE(contains(textOf(status), part)) << "in \"" << textOf(status) << "\" there is no \"" << (part) << '"'

class CudaTest : public testing::Test {
protected:
  void SetUp() override {
    setenv("LOGITILE_CUDA_DRIVER", CUDA_STAND_IN, 1);
    unsetenv("CUDA_STAND_IN_CAPABILITY");
    unsetenv("CUDA_STAND_IN_DEVICES");
    unsetenv("CUDA_STAND_IN_DRIVER");
    stand_in::reset();
  }
  void TearDown() override {
    code.reset();
    device.reset();
    EXPECT_EQ(stand_in::problems(), std::vector<std::string>());
    EXPECT_EQ(stand_in::leaks(), std::vector<std::string>());
  }
  /// A machine whose GPUs have this compute capability.
  static void setCapability(const std::string &capability) {
    setenv("CUDA_STAND_IN_CAPABILITY", capability.c_str(), 1);
    stand_in::reset();
  }

  void load(const LaunchPlan &loaded, NativeStore store = {}) {
    code.reset();
    plan = std::make_unique<LaunchPlan>(loaded); // which has to outlive its code
    code = *device->load(*plan, std::move(store));
  }
  Result<std::unique_ptr<DeviceCall>> start(const DeviceStream &stream = {}) {
    return code->start([] { return std::vector<MemoryRange>(); }, stream);
  }
  /// One call of one launch, with a plan that may be new.
  Status run(const DeviceStream &stream = {}) {
    if (!code)
      load(planFor("sm_80"));
    Result<std::unique_ptr<DeviceCall>> call = start(stream);
    return call.isOk() ? (*call)->launch(first(7)) : call.status();
  }
  Status startOf(const LaunchPlan &plan) {
    load(plan);
    return start().status();
  }
  static DeviceCall::Launch first(int64_t tasks) {
    static const int64_t words[] = {11, 12, 13, 14, 15};
    return {0, words, tasks, nullptr, 0, 1, {}};
  }
  static int64_t timesCalled(const std::string &symbol) { return std::ranges::count(stand_in::calls(), symbol); }

  std::unique_ptr<CudaDevice> device = std::make_unique<CudaDevice>();
  std::unique_ptr<LaunchPlan> plan;
  std::unique_ptr<DeviceCode> code;
};
} // namespace

// ---- the driver ---------------------------------------------------------------------------------

TEST_F(CudaTest, AMissingDriverIsNamed) {
  setenv("LOGITILE_CUDA_DRIVER", "libnone.so.1", 1);
  Status status = run(); // loading the plan needs no driver
  EXPECT_EQ(status.error().code, ErrorCode::Target);
  EXPECT_TEXT(status, "there is no CUDA driver (libnone.so.1: cannot open shared object file");
  EXPECT_TEXT(status, "install the driver of an NVIDIA GPU, or use backend='cpu'");
  EXPECT_FALSE(device->takeMemory(1, {}).isOk());
  SetUp();
  EXPECT_TRUE(run().isOk()); // asked again
}
TEST_F(CudaTest, AMissingFunctionIsNamed) {
  setenv("LOGITILE_CUDA_DRIVER", "libm.so.6", 1);
  Status status = run();
  EXPECT_EQ(status.error().code, ErrorCode::Target);
  EXPECT_EQ(textOf(status), "the CUDA driver 'libm.so.6' has no function cuInit; install a driver for CUDA 11.4 or later, or use "
                            "backend='cpu'");
}
TEST_F(CudaTest, AMachineWithoutDevicesIsToldSo) {
  setenv("CUDA_STAND_IN_DEVICES", "0", 1);
  stand_in::reset();
  EXPECT_EQ(textOf(run()), "cuInit fails with CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected); nvidia-smi shows whether "
                           "driver and GPU work");
}
TEST_F(CudaTest, ADeviceThatIsNotThereIsNamed) {
  EXPECT_EQ(textOf(run({5, nullptr, {}})), "cuDeviceGet fails with CUDA_ERROR_INVALID_DEVICE (invalid device ordinal); device 5 is "
                                           "asked for, but the driver shows 2 (CUDA_VISIBLE_DEVICES may hide some)");
}
TEST_F(CudaTest, CodesThatTheDriverCannotSpellAreNumbers) {
  stand_in::failNext("cuCtxGetCurrent", 12345);
  EXPECT_EQ(textOf(run()), "cuCtxGetCurrent fails with CUDA error 12345 (the driver has no text for it)");
}

static Result<std::string> cudaTarget(int ordinal) { return makeCudaPlatform()->findTarget(ordinal); }

TEST_F(CudaTest, TargetsFollowTheDevice) {
  const std::pair<const char *, const char *> expected[] = {{"8.0", "cuda:sm_80"},   {"8.6", "cuda:sm_86"},  {"8.7", "cuda:sm_86"},
                                                            {"8.9", "cuda:sm_89"},   {"9.0", "cuda:sm_90a"}, {"10.3", "cuda:sm_100"},
                                                            {"12.1", "cuda:sm_120"}, {"99.0", "cuda:sm_120"}};
  for (auto [capability, name] : expected) {
    setCapability(capability);
    Result<std::string> target = cudaTarget(1);
    ASSERT_TRUE(target.isOk()) << textOf(target.status());
    EXPECT_EQ(*target, name) << capability;
  }
  setenv("CUDA_STAND_IN_DRIVER", "11080", 1); // it knows the device, and not its own instructions
  setCapability("9.0");
  EXPECT_EQ(*cudaTarget(0), "cuda:sm_90");
  setCapability("7.5");
  EXPECT_EQ(textOf(cudaTarget(0).status()), "device 0 (Stand-in) has compute capability 7.5, but kernels need 8.0 or later; use "
                                            "backend='cpu'");
  EXPECT_TEXT(cudaTarget(2).status(), "device 2 is asked for, but the driver shows 2");
}

TEST_F(CudaTest, ADeviceHasANameAndADriver) {
  Result<DeviceModel> facts = makeCudaPlatform()->describe("", 1);
  ASSERT_TRUE(facts.isOk()) << textOf(facts.status());
  EXPECT_EQ(facts->name, "Stand-in");
  EXPECT_EQ(facts->driver, "12040");
  EXPECT_TEXT(makeCudaPlatform()->describe("", 2).status(), "device 2 is asked for, but the driver shows 2");
}

// ---- code ---------------------------------------------------------------------------------------

TEST_F(CudaTest, CodeIsLoadedOnce) {
  ASSERT_TRUE(run().isOk());
  ASSERT_TRUE(run().isOk());
  EXPECT_EQ(timesCalled("cuModuleLoadDataEx"), 2); // the runtime's own kernels too
  EXPECT_EQ(timesCalled("cuInit"), 1);
  code.reset();
  EXPECT_EQ(timesCalled("cuModuleUnload"), 1);
}
TEST_F(CudaTest, NativeCodeIsKeptAndTakenBack) {
  NativeCode kept;
  auto keep = [&](const LaunchPlan &of, const NativeCode &made) {
    EXPECT_EQ(&of, plan.get());
    kept = made;
  };
  load(planFor("sm_80"), {{}, keep});
  ASSERT_TRUE(run().isOk());
  EXPECT_EQ(kept.maker, "compute capability 8.0, driver 12040");
  EXPECT_EQ(timesCalled("cuLinkComplete"), 2); // the runtime's own kernels too
  NativeCode known = std::exchange(kept, {});
  load(planFor("sm_80"), {known, keep});
  ASSERT_TRUE(run().isOk());
  EXPECT_EQ(timesCalled("cuLinkComplete"), 2);
  EXPECT_EQ(kept.maker, "");
  // Another driver, or devices of another kind, make it again.
  known.maker = "compute capability 8.0, driver 12080";
  load(planFor("sm_80"), {known, keep});
  ASSERT_TRUE(run().isOk());
  EXPECT_EQ(timesCalled("cuLinkComplete"), 3);
  EXPECT_EQ(kept.maker, "compute capability 8.0, driver 12040");
}
TEST_F(CudaTest, WhatTheDriverWritesAboutCodeIsShown) {
  LaunchPlan given = planFor("sm_80");
  given.code = "no code";
  EXPECT_EQ(textOf(startOf(given)), "cuLinkAddData_v2 fails with CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed); the code of "
                                    "'demo' for cuda:sm_80 is not assembled for device 0 (Stand-in); the driver writes:\n"
                                    "ptxas fatal   : line 1; Missing .version directive\nptxas info    : nothing was assembled");
}
TEST_F(CudaTest, AMissingKernelIsNamed) {
  LaunchPlan given = planFor("sm_80");
  given.kernels.push_back(kernel("third", {}, 32, 0));
  EXPECT_EQ(textOf(startOf(given)), "cuModuleGetFunction fails with CUDA_ERROR_NOT_FOUND (named symbol not found); kernel 'third' of "
                                    "'demo' is looked for");
}
TEST_F(CudaTest, CodeFitsTheDevice) {
  const std::tuple<const char *, const char *, bool> cases[] = {{"sm_80", "8.0", true},    {"sm_80", "12.0", true},
                                                                {"sm_86", "8.0", false},   {"sm_90", "10.0", true},
                                                                {"sm_100", "9.0", false},  {"sm_100", "10.3", true},
                                                                {"sm_90a", "9.0", true},   {"sm_90a", "8.9", false},
                                                                {"sm_90a", "10.0", false}};
  for (auto [target, capability, isFine] : cases) {
    code.reset();
    device = std::make_unique<CudaDevice>();
    setCapability(capability);
    Status status = startOf(planFor(target));
    EXPECT_EQ(status.isOk(), isFine) << target << " on " << capability << ": " << textOf(status);
    if (!isFine)
      EXPECT_TEXT(status,
                  std::string("the code of 'demo' is for ") + target + ", but device 0 (Stand-in) has compute capability " + capability);
  }
}
TEST_F(CudaTest, BlocksFitTheDevice) {
  LaunchPlan given = planFor("sm_80");
  given.kernels[0].threads = 256;
  EXPECT_EQ(textOf(startOf(given)), "kernel 'first' is made for blocks of 256 threads, but device 0 (Stand-in) runs 1 to 128 of its "
                                    "threads in a block");
  given = planFor("sm_80");
  given.kernels[1].threads = 2048;
  EXPECT_TEXT(startOf(given), "kernel 'second' is made for blocks of 2048 threads, but device 0 (Stand-in) runs 1 to 1024");
  given.kernels[1].threads = 0;
  EXPECT_TEXT(startOf(given), "blocks of 0 threads");
}
TEST_F(CudaTest, SharedMemoryFitsTheDevice) {
  LaunchPlan given = planFor("sm_80");
  given.kernels[1].sharedBytes = 163 * 1024 - 1023; // with the kernel's own 1024 one too many
  EXPECT_EQ(textOf(startOf(given)), "kernel 'second' needs 166913 bytes of shared memory in a block, but device 0 (Stand-in) has 166912; "
                                    "compile for that device (backend='auto')");
  for (int64_t bytes : {int64_t(163 * 1024 - 1024), int64_t(48 * 1024), int64_t(47 * 1024), int64_t(0)}) {
    given.kernels[1].sharedBytes = bytes;
    load(given);
    Result<std::unique_ptr<DeviceCall>> call = start();
    ASSERT_TRUE(call.isOk()) << textOf(call.status());
    int64_t words[] = {1, 2, 3};
    ASSERT_TRUE((*call)->launch({1, words, 1, nullptr, 0, 1, {}}).isOk());
    EXPECT_EQ(stand_in::launches().back().sharedBytes, bytes);
  }
  EXPECT_EQ(timesCalled("cuFuncSetAttribute"), 2);
}

// ---- launches -----------------------------------------------------------------------------------

TEST_F(CudaTest, LaunchesHaveWordsAsParameters) {
  ASSERT_TRUE(run().isOk());
  ASSERT_EQ(stand_in::launches().size(), 1u);
  const stand_in::Launch &launch = stand_in::launches().front();
  EXPECT_EQ(launch.kernel, "first");
  EXPECT_EQ(launch.grid, 7u);
  EXPECT_EQ(launch.block, 128u);
  EXPECT_EQ(launch.words, (std::vector<int64_t>{11, 12, 13, 14, 15}));
  EXPECT_EQ(launch.stream, nullptr);
}
TEST_F(CudaTest, LaunchesHaveTensorMapsAsParameters) {
  LaunchPlan plan;
  plan.name = "demo";
  plan.target = "cuda:sm_80";
  plan.kernels = {kernel("first", {{false, -1, {}}}, 128, 0)};
  plan.kernels[0].tensorMaps = {{0, 64, 128}, {0, 32, 16}, {0, 16, 8}};
  plan.code = ".version 7.0\n.target sm_80\n.visible .entry first(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d0, "
              ".param .align 128 .b8 d[128], .param .u64 e0, .param .align 128 .b8 e[128], .param .u64 f0, .param .align 128 .b8 f[128]) "
              "{ ret; }\n";
  load(plan);
  Result<std::unique_ptr<DeviceCall>> call = start();
  ASSERT_TRUE(call.isOk());
  alignas(16) char memory[32];
  DeviceCall::Launch launch = first(7);
  // From column 5 of the buffer on, 200 rows of 100 columns; the second is the same with a pitch
  // that is no multiple of 16 bytes.
  const TensorMatrix matrices[] = {{memory, ElementType::BF16, 5, 200, 100, 104, 1, 128, 64},
                                   {memory, ElementType::BF16, 0, 200, 100, 103, 1, 16, 32},
                                   {memory + 16, ElementType::F16, 0, 1, 16, 16, 1, 8, 16}};
  launch.matrices = matrices;
  ASSERT_TRUE((*call)->launch(launch).isOk());
  ASSERT_EQ(stand_in::launches().size(), 1u);
  EXPECT_EQ(stand_in::launches()[0].words, std::vector<int64_t>({11, 12, 13, 5, 1, -1, 0, 0, 2}));
  ASSERT_EQ(stand_in::tensorMaps().size(), 2u);
  const stand_in::TensorMap &one = stand_in::tensorMaps()[0], &other = stand_in::tensorMaps()[1];
  EXPECT_EQ(one.type, cuda::TensorType::BF16);
  EXPECT_EQ(one.address, memory);
  EXPECT_EQ(one.sizes, std::vector<uint64_t>({100, 200}));
  EXPECT_EQ(one.strides, std::vector<uint64_t>({208}));
  EXPECT_EQ(one.box, std::vector<uint32_t>({64, 128}));
  EXPECT_EQ(one.swizzle, cuda::TensorSwizzle::Bytes128);
  EXPECT_EQ(one.promotion, cuda::TensorPromotion::Bytes128);
  EXPECT_EQ(other.type, cuda::TensorType::F16);
  EXPECT_EQ(other.box, std::vector<uint32_t>({16, 8}));
  EXPECT_EQ(other.swizzle, cuda::TensorSwizzle::Bytes32);

  stand_in::failNext("cuTensorMapEncodeTiled", 1);
  EXPECT_TEXT((*call)->launch(launch), "cuTensorMapEncodeTiled fails with CUDA_ERROR_INVALID_VALUE");
}
TEST_F(CudaTest, WhatTensorMapsCannotSayHasNone) {
  alignas(16) char memory[32];
  const TensorMatrix fine{memory, ElementType::BF16, 0, 4, 24, 24, 1, 16, 16};
  EXPECT_TRUE(fine.isReadable());
  auto with = [&](auto change) {
    TensorMatrix matrix = fine;
    change(matrix);
    return matrix.isReadable();
  };
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.address += 8; }));
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.stride0 = 28; })); // 56 bytes
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.stride0 = 16; })); // rows overlap
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.stride0 = 0; }));
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.stride0 = -24; }));
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.stride0 = int64_t(1) << 39; }));
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.stride1 = 2; }));
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.rows = 0; }));
  EXPECT_FALSE(with([](TensorMatrix &matrix) { matrix.rows = (int64_t(1) << 32) + 1; }));
}
TEST_F(CudaTest, LaunchesWaitForNothing) {
  ASSERT_TRUE(run().isOk());
  for (const std::string &symbol : stand_in::calls())
    EXPECT_TRUE(!contains(symbol, "Synchronize") && !contains(symbol, "Event")) << symbol;
}
TEST_F(CudaTest, GridsHaveLimits) {
  load(planFor("sm_80"));
  Result<std::unique_ptr<DeviceCall>> call = start();
  EXPECT_TRUE((*call)->launch(first(0)).isOk());
  EXPECT_EQ(stand_in::launches().size(), 0u);
  Status status = (*call)->launch(first(int64_t(1) << 31));
  EXPECT_EQ(status.error().code, ErrorCode::Value);
  EXPECT_EQ(textOf(status), "a grid of 2147483648 blocks is larger than GPUs allow; give 'chunks'");
  EXPECT_TRUE((*call)->launch(first((int64_t(1) << 31) - 1)).isOk());
}
TEST_F(CudaTest, GridsAreWholeClusters) {
  LaunchPlan given = planFor("sm_90a");
  const std::string directive = ".maxntid 128, 1, 1\n";
  given.code.insert(given.code.find(directive) + directive.size(), ".reqnctapercluster 2, 1, 1\n");
  setCapability("9.0");
  load(given);
  Result<std::unique_ptr<DeviceCall>> call = start();
  ASSERT_TRUE(call.isOk()) << textOf(call.status());
  EXPECT_TRUE((*call)->launch(first(4)).isOk());
  EXPECT_TEXT((*call)->launch(first(3)), "cuLaunchKernel fails with CUDA_ERROR_INVALID_VALUE");
}
TEST_F(CudaTest, LaunchesAreTimedByTheDevice) {
  load(planFor("sm_80"));
  Result<std::unique_ptr<DeviceCall>> call = start();
  Result<double> milliseconds = (*call)->timedLaunch(first(3));
  ASSERT_TRUE(milliseconds.isOk());
  EXPECT_EQ(*milliseconds, 1.5);
  EXPECT_EQ(stand_in::launches().size(), 1u);
}
TEST_F(CudaTest, AnErrorOfALaunchNamesTheKernel) {
  load(planFor("sm_80"));
  Result<std::unique_ptr<DeviceCall>> call = start();
  stand_in::failNext("cuLaunchKernel", 700);
  EXPECT_EQ(textOf((*call)->launch(first(3))), "cuLaunchKernel fails with CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was "
                                               "encountered); kernel 'first' was launched; an error of a kernel before it shows here too");
}

// ---- contexts -----------------------------------------------------------------------------------

TEST_F(CudaTest, WithoutAContextThePrimaryOneIsCurrentMeanwhile) {
  load(planFor("sm_80"));
  {
    Result<std::unique_ptr<DeviceCall>> call = start({1, nullptr, {}});
    ASSERT_TRUE((*call)->launch(first(1)).isOk());
    EXPECT_EQ(stand_in::contextDepth(), 1u);
  }
  EXPECT_EQ(stand_in::contextDepth(), 0u);
  EXPECT_EQ(stand_in::launches().back().context, stand_in::primary(1));
}
TEST_F(CudaTest, TheContextOfAFrameworkIsUsedAsItIs) {
  stand_in::makePrimaryCurrent(0, true);
  DeviceStream stream{0, stand_in::createStream(), {}};
  ASSERT_TRUE(run(stream).isOk());
  int64_t pushed = timesCalled("cuCtxPushCurrent_v2"); // for the memory of the index flag
  ASSERT_TRUE(run(stream).isOk());
  EXPECT_EQ(stand_in::launches().back().stream, stream.handle);
  EXPECT_EQ(timesCalled("cuCtxPushCurrent_v2"), pushed);
  stand_in::makePrimaryCurrent(0, false);
}
TEST_F(CudaTest, AContextOfItsOwnIsUsedToo) {
  ASSERT_TRUE(run().isOk());
  cuda::Context own = stand_in::createContext(0);
  ASSERT_TRUE(run().isOk());
  EXPECT_EQ(stand_in::launches().back().context, own);
  EXPECT_EQ(timesCalled("cuModuleLoadDataEx"), 4); // both modules once in each context
  code.reset();
  EXPECT_EQ(timesCalled("cuModuleUnload"), 2);
  stand_in::destroyContext(own);
}
TEST_F(CudaTest, AContextOfAnotherDeviceIsNot) {
  cuda::Context other = stand_in::createContext(1);
  ASSERT_TRUE(run({0, nullptr, {}}).isOk());
  EXPECT_EQ(stand_in::launches().back().context, stand_in::primary(0));
  EXPECT_EQ(stand_in::contextDepth(), 1u);
  stand_in::destroyContext(other);
}
TEST_F(CudaTest, WhatADestroyedContextHeldIsGone) {
  cuda::Context own = stand_in::createContext(0);
  ASSERT_TRUE(run().isOk());
  Result<WorkspaceBlock> block = device->takeMemory(100, {});
  stand_in::destroyContext(own);
  code.reset();
  EXPECT_EQ(timesCalled("cuModuleUnload"), 0);
}

// ---- memory -------------------------------------------------------------------------------------

namespace {
/// A framework that hands memory out.
struct TestFramework {
  std::vector<std::string> events;
  alignas(256) char memory[1024];
  int64_t offset = 0;
  bool isEmpty = false;

  DeviceStream stream(void *handle = nullptr) { return {0, handle, {&allocate, &release, this}}; }
  static int allocate(void *context, int64_t bytes, void **data, void **owner) {
    auto *self = static_cast<TestFramework *>(context);
    self->events.push_back("allocate " + std::to_string(bytes));
    *data = self->memory + self->offset;
    *owner = self;
    return self->isEmpty;
  }
  static void release(void *owner) { static_cast<TestFramework *>(owner)->events.push_back("release"); }
};
} // namespace

TEST_F(CudaTest, MemoryComesFromTheStream) {
  stand_in::makePrimaryCurrent(0, true);
  DeviceStream stream{0, stand_in::createStream(), {}};
  stand_in::makePrimaryCurrent(0, false);
  {
    Result<WorkspaceBlock> block = device->takeMemory(1000, stream), empty = device->takeMemory(0, stream);
    ASSERT_TRUE(block.isOk() && empty.isOk());
    EXPECT_EQ(block->size(), 1000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data()) % 256, 0u);
    EXPECT_EQ(stand_in::contextDepth(), 0u);
  }
  EXPECT_EQ(timesCalled("cuMemFreeAsync"), 2);
}
TEST_F(CudaTest, MemoryThatIsNotThereIsARefusalOfTheCall) {
  Status status = device->takeMemory(int64_t(1) << 40, {}).status();
  EXPECT_EQ(status.error().code, ErrorCode::Value);
  EXPECT_EQ(textOf(status), "device 0 (Stand-in) has no memory for a workspace of 1.0 TiB (1099511627776 bytes); give lt.jit a smaller "
                            "'workspace' or more 'chunks'");
}
TEST_F(CudaTest, AFrameworkHasItsOwnMemory) {
  TestFramework framework;
  {
    Result<WorkspaceBlock> block = device->takeMemory(1000, framework.stream());
    ASSERT_TRUE(block.isOk());
    EXPECT_EQ(block->data(), framework.memory);
    EXPECT_EQ(framework.events.size(), 1u);
  }
  EXPECT_EQ(framework.events, (std::vector<std::string>{"allocate 1000", "release"}));
  EXPECT_EQ(timesCalled("cuMemAllocAsync"), 0);
}
TEST_F(CudaTest, AFrameworkMayHaveNoMemory) {
  TestFramework framework;
  framework.isEmpty = true;
  Status status = device->takeMemory(1000, framework.stream()).status();
  EXPECT_EQ(status.error().code, ErrorCode::Value);
  EXPECT_TEXT(status, "the framework of the call has no memory for a workspace of 1000 bytes");
  EXPECT_EQ(framework.events.size(), 1u); // there is nothing to release
}
TEST_F(CudaTest, MemoryOfAFrameworkIsAligned) {
  TestFramework framework;
  framework.offset = 64;
  EXPECT_TEXT(device->takeMemory(100, framework.stream()).status(), "not aligned to 256 bytes");
  EXPECT_EQ(framework.events.back(), "release");
}

// ---- CUDA graphs --------------------------------------------------------------------------------

namespace {
/// The primary context current, with a stream that is not captured yet.
class CaptureTest : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    stand_in::makePrimaryCurrent(0, true);
    stream = {0, stand_in::createStream(), {}};
  }
  void TearDown() override {
    stand_in::makePrimaryCurrent(0, false);
    CudaTest::TearDown();
  }
  void setCapturing(bool isCapturing) { stand_in::setCapturing(static_cast<cuda::Stream>(stream.handle), isCapturing); }
  DeviceStream stream;
};
} // namespace

TEST_F(CaptureTest, CodeIsNotLoadedMeanwhile) {
  setCapturing(true);
  Status status = run(stream);
  EXPECT_EQ(status.error().code, ErrorCode::Target);
  EXPECT_EQ(textOf(status), "the stream is captured into a CUDA graph, but the code of 'demo' is not on the device yet; make the same "
                            "call once before the capture");
  setCapturing(false);
  EXPECT_TRUE(run(stream).isOk());
}
TEST_F(CaptureTest, LoadedCodeIsCapturedAndStaysForTheGraph) {
  ASSERT_TRUE(run(stream).isOk());
  setCapturing(true);
  ASSERT_TRUE(run(stream).isOk());
  setCapturing(false);
  EXPECT_EQ(stand_in::launches().size(), 2u);
  code.reset();
  device.reset();
  EXPECT_EQ(timesCalled("cuModuleUnload"), 0);
  EXPECT_EQ(stand_in::leaks(), (std::vector<std::string>{"memory", "a module", "a module", "a retained context", "a current context"}));
  EXPECT_EQ(stand_in::problems(), std::vector<std::string>());
  stand_in::reset();
  stand_in::makePrimaryCurrent(0, true);
}
TEST_F(CaptureTest, CodeIsLoadedAndUnloadedBesideACapture) {
  DeviceStream beside{0, stand_in::createStream(), {}};
  setCapturing(true);
  EXPECT_TRUE(run(beside).isOk());
  code.reset();
  device.reset();
  setCapturing(false);
  EXPECT_EQ(timesCalled("cuModuleUnload"), 2);
}
TEST_F(CaptureTest, MemoryOfTheDriverIsNotTakenMeanwhile) {
  setCapturing(true);
  EXPECT_TEXT(device->takeMemory(100, stream).status(), "memory has to come from a framework");
  TestFramework framework;
  EXPECT_TRUE(device->takeMemory(100, framework.stream(stream.handle)).isOk());
}
TEST_F(CaptureTest, NothingIsTimedMeanwhile) {
  ASSERT_TRUE(run(stream).isOk());
  setCapturing(true);
  {
    Result<std::unique_ptr<DeviceCall>> call = start(stream);
    EXPECT_TRUE((*call)->isCaptured());
    EXPECT_TEXT((*call)->timedLaunch(first(1)).status(), "kernels cannot be timed while their stream is captured");
  }
  code.reset();
  stand_in::reset();
  stand_in::makePrimaryCurrent(0, true);
}

// ---- failures -----------------------------------------------------------------------------------

TEST_F(CudaTest, EveryFunctionMayFail) {
  const std::set<std::string> elsewhere = {"cuGetErrorName", "cuGetErrorString", "cuDeviceGetCount", "cuDeviceGetName",
                                           "cuPointerGetAttribute"}; // in errors, and where an error is an answer
  const std::set<std::string> atTheEnd = {"cuModuleUnload", "cuMemFreeAsync",    "cuCtxPopCurrent_v2", "cuDevicePrimaryCtxRelease_v2",
                                          "cuLinkDestroy",  "cuEventDestroy_v2", "cuMemFreeHost",
                                          "cuThreadExchangeStreamCaptureMode"}; // or what nothing depends on
  auto use = [&]() -> Status {
    Result<WorkspaceBlock> block = device->takeMemory(100, {});
    if (!block.isOk())
      return block.status();
    load(planFor("sm_80"));
    Result<std::unique_ptr<DeviceCall>> call = start();
    if (!call.isOk())
      return call.status();
    Result<double> timed = (*call)->timedLaunch(first(1));
    return timed.isOk() ? device->synchronise() : timed.status();
  };
#define SYMBOL(name, symbol, ...) #symbol,
  for (const char *symbol : {LOGITILE_CUDA_FUNCTIONS(SYMBOL)}) {
    if (elsewhere.contains(symbol))
      continue;
    stand_in::reset();
    {
      stand_in::failNext(symbol, 700);
      Status status = use();
      bool isFine = atTheEnd.contains(symbol);
      EXPECT_EQ(status.isOk(), isFine) << symbol << ": " << textOf(status);
      if (!isFine) {
        EXPECT_EQ(status.error().code, ErrorCode::Target);
        EXPECT_TEXT(status, std::string(symbol) + " fails with CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)");
        EXPECT_TRUE(use().isOk()) << symbol; // it is not remembered
      }
    }
    code.reset();
    device = std::make_unique<CudaDevice>();
    if (!atTheEnd.contains(symbol)) {
      EXPECT_EQ(stand_in::leaks(), std::vector<std::string>()) << symbol;
      EXPECT_EQ(stand_in::problems(), std::vector<std::string>()) << symbol;
    }
  }
  stand_in::reset();
}
TEST_F(CudaTest, TheDeviceOfACurrentContextMayBeUnknown) {
  cuda::Context own = stand_in::createContext(0);
  stand_in::failNext("cuCtxGetDevice", 700);
  EXPECT_TEXT(run(), "cuCtxGetDevice fails with CUDA_ERROR_ILLEGAL_ADDRESS");
  stand_in::destroyContext(own);
}

// ---- ends ---------------------------------------------------------------------------------------

TEST_F(CudaTest, ADriverMayEndBeforePlansDo) {
  ASSERT_TRUE(run().isOk());
  {
    Result<WorkspaceBlock> block = device->takeMemory(100, {});
    stand_in::shutDown();
  }
  code.reset();
  device.reset();
  EXPECT_EQ(stand_in::problems(), std::vector<std::string>());
  stand_in::reset();
}
TEST_F(CudaTest, AForkedProcessIsToldSo) {
  ASSERT_TRUE(run().isOk());
  Result<WorkspaceBlock> block = device->takeMemory(100, {});
  pid_t child = fork();
  if (child == 0) {
    size_t calls = stand_in::calls().size();
    bool isNamed = contains(textOf(run()), "this process was forked after CUDA was used") &&
                   contains(textOf(device->takeMemory(1, {}).status()), "start it with 'spawn'");
    block = Status();
    code.reset();
    device.reset();
    bool isQuiet = stand_in::calls().size() == calls; // the driver is left alone
    bool isOpenedAnew = contains(textOf(cudaTarget(0).status()), "cuInit fails with CUDA_ERROR_NOT_INITIALIZED");
    _exit(isNamed && isQuiet && isOpenedAnew ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// ---- calls --------------------------------------------------------------------------------------

TEST_F(CudaTest, TheDeviceWorksOnElementsItself) {
  LaunchPlan plan = makePlan({});
  plan.target = "cuda:sm_80";
  for (BufferRole role : {BufferRole::CallFacts, BufferRole::TokenSlots, BufferRole::WrongTokens}) {
    BufferPlan &buffer = plan.buffers.emplace_back();
    buffer.role = role;
    buffer.scope = Scope::Call;
    buffer.element = ElementType::I32;
    buffer.columns = 16;
    buffer.inForward = true;
  }
  plan.code = ".version 7.0\n.target sm_80\n";
  for (KernelPlan &kernel : plan.kernels) {
    kernel.threads = 32;
    plan.code += ".visible .entry " + kernel.name + "(";
    for (int64_t word = 0; word < wordCount(kernel); ++word)
      plan.code += " .param .u64 p" + std::to_string(word);
    plan.code += ") { ret; }\n";
  }
  TestCall call({3});
  Status status = call.forward(test::load(plan, std::make_shared<CudaDevice>()));
  EXPECT_TRUE(status.isOk()) << textOf(status);
  ASSERT_FALSE(stand_in::launches().empty());
  EXPECT_EQ(stand_in::launches().front().kernel, "compact_tokens");
  auto has = [](const std::string &kernel) { return std::ranges::count(stand_in::launches(), kernel, &stand_in::Launch::kernel) > 0; };
  EXPECT_TRUE(has("load_input") && has("set_divisor") && has("reduce_tokens"));
}
