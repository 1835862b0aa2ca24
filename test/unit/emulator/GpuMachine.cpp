// GpuMachine.cpp - the other machine of EmulatorHarness: kernels that the emulator has run without
// a report run on the first GPU too. Linked beside the emulator's tests, it makes them tests of the
// emulator: LOGITILE_TEST_GPU=1 asks for the GPU, without it none is touched.
#include "compiler/Backends/NVPTX/GPUTarget.h"
#include "runtime/cuda/Assemble.h"
#include "runtime/cuda/ContextModule.h"
#include "runtime/cuda/CudaPlatform.h"
#include "test/unit/emulator/EmulatorHarness.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>
#include <bit>
#include <cmath>
using namespace logitile;
using namespace logitile::emulator;

namespace {
/// Instructions of the tests' kernels that the code generator has from a GPU on; 1000: in no
/// version of PTX that it is asked for.
constexpr std::pair<const char *, int> kFirstOf[] = {{"elect.sync(", 1000},
                                                     {"stmatrix.sync.", 90},
                                                     {"mbarrier.try.wait.", 90},
                                                     {"mbarrier.test.wait.parity.scope.", 90},
                                                     {"mbarrier.arrive.scope.", 1000},
                                                     {"mbarrier.arrive.expect.tx.", 1000},
                                                     {"llvm.tanh.f32(", 1000}};

/// Whether there is code on a GPU for all that a kernel calls; its declarations do not count.
bool hasCode(const std::string &ir, const cuda::GPUTarget &target) {
  const std::string_view body = std::string_view(ir).substr(ir.find("define "));
  const int sm = target.gpu.info().sm;
  return std::ranges::none_of(kFirstOf, [&](const auto &first) { return sm < first.second && body.find(first.first) != body.npos; });
}

Result<std::string> ptxOf(const std::string &ir, const cuda::GPUTarget &target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly({ir, "kernel"}, problem, context);
  if (!module)
    return Status(ErrorCode::Compile, problem.getMessage().str());
  std::string error;
  auto text = writeCode(*module, target.machineSpec(*module), llvm::CodeGenFileType::AssemblyFile, error);
  return llvm::succeeded(text) ? Result<std::string>(*text) : Result<std::string>(Status(ErrorCode::Compile, error));
}

/// How far two f32 numbers are apart in units in the last place; bits that are the same are 0
/// apart, NaN is far from all else.
int64_t unitsBetween(uint32_t one, uint32_t other) {
  auto isNan = [](uint32_t bits) { return std::isnan(std::bit_cast<float>(bits)); };
  auto place = [](uint32_t bits) { return bits >> 31 ? -static_cast<int64_t>(bits & 0x7fffffff) : static_cast<int64_t>(bits); };
  if (isNan(one) || isNan(other))
    return one == other ? 0 : INT64_MAX;
  return std::abs(place(one) - place(other));
}

/// Memory of the host that kernels reach at the same address.
class SharedBytes {
public:
  SharedBytes(const cuda::Driver &driver, cuda::Context context, const std::vector<uint8_t> &bytes) : driver(driver), context(context) {
    status = driver.call(driver.memHostAlloc, &data, std::max<size_t>(bytes.size(), 1), static_cast<unsigned>(cuda::HostMemory::Mapped));
    if (status.isOk())
      std::memcpy(data, bytes.data(), bytes.size());
  }
  SharedBytes(SharedBytes &&other) noexcept
      : driver(other.driver), context(other.context), status(other.status), data(std::exchange(other.data, nullptr)) {}
  ~SharedBytes() {
    if (!data)
      return;
    driver.ctxPushCurrent.address(context);
    driver.memFreeHost.address(data);
    driver.ctxPopCurrent.address(&context);
  }

  const cuda::Driver &driver;
  cuda::Context context;
  Status status;
  void *data = nullptr;
};

class GpuMachine : public OtherMachine {
public:
  GpuMachine(std::shared_ptr<cuda::Contexts> contexts, std::shared_ptr<const Target> target)
      : target(std::move(target)), gpu(*cuda::GPUTarget::from(*this->target)), contexts(std::move(contexts)) {}

  void compare(const std::string &ir, const emulator::Launch &launch, const std::vector<Dump> &dumps, int64_t unitsApart) override {
    if (!hasCode(ir, gpu)) {
      ++leftOut;
      return;
    }
    std::vector<SharedBytes> memory;
    Status status = runOnGpu(ir, launch, dumps, memory);
    ASSERT_TRUE(status.isOk()) << status.error().text;
    for (size_t i = 0; i < dumps.size(); ++i)
      compareBytes(dumps[i], static_cast<const uint8_t *>(memory[i].data), unitsApart);
    ++compared;
  }

  const std::shared_ptr<const Target> target;
  const cuda::GPUTarget &gpu;
  int compared = 0, leftOut = 0;

private:
  Status runOnGpu(const std::string &ir, const emulator::Launch &launch, const std::vector<Dump> &dumps, std::vector<SharedBytes> &memory) {
    const cuda::Driver &driver = contexts->driver();
    LaunchPlan plan;
    plan.name = "a kernel of the tests";
    plan.target = target->name();
    plan.kernels.emplace_back().name = launch.kernel;
    plan.kernels.back().threads = static_cast<int64_t>(launch.threads[0]) * launch.threads[1] * launch.threads[2];
    plan.kernels.back().sharedBytes = launch.dynamicSharedBytes;
    Result<std::string> ptx = ptxOf(ir, gpu);
    if (!ptx.isOk())
      return ptx.status();
    plan.code = *ptx;
    Result<cuda::CurrentContext> context = cuda::CurrentContext::enter(*contexts, 0);
    if (!context.isOk())
      return context.status();
    Result<std::string> native = cuda::assemble(driver, *context, plan);
    if (!native.isOk())
      return native.status();
    auto module = cuda::ContextModule::load(contexts, *context, plan, *native);
    if (!module.isOk())
      return module.status();

    std::vector<void *> arguments;
    for (const void *argument : launch.arguments)
      arguments.push_back(const_cast<void *>(argument));
    for (const Dump &dump : dumps) {
      memory.emplace_back(driver, context->handle(), dump.before);
      if (!memory.back().status.isOk())
        return memory.back().status;
    }
    for (size_t i = 0; i < dumps.size(); ++i)
      arguments[dumps[i].argument] = &memory[i].data;
    const auto &[grid, threads] = std::pair(launch.grid, launch.threads);
    Status status = driver.call(driver.launchKernel, (*module)->function(0), grid[0], grid[1], grid[2], threads[0], threads[1], threads[2],
                                launch.dynamicSharedBytes, nullptr, arguments.data(), nullptr);
    return status.isOk() ? driver.call(driver.ctxSynchronize) : status;
  }

  /// Fails with the first difference and their number.
  void compareBytes(const Dump &dump, const uint8_t *found, int64_t unitsApart) {
    auto word = [](const uint8_t *bytes, size_t index) { // of bytes whose number may be odd: the last word is filled with zeros
      uint32_t value = 0;
      std::memcpy(&value, bytes + 4 * index, 4);
      return value;
    };
    size_t differences = 0, first = 0, words = dump.after.size() / 4;
    int64_t worst = 0;
    for (size_t i = words; i-- > 0;) {
      const int64_t apart = unitsBetween(word(dump.after.data(), i), word(found, i));
      worst = std::max(worst, apart);
      const bool isWrong = unitsApart ? apart > unitsApart : word(dump.after.data(), i) != word(found, i);
      differences += isWrong;
      first = isWrong ? i : first;
    }
    if (unitsApart && !differences && worst)
      std::printf("  '%s' is up to %lld units apart, of %lld\n", dump.name.c_str(), static_cast<long long>(worst),
                  static_cast<long long>(unitsApart));
    EXPECT_EQ(differences, 0u) << "words of '" << dump.name << "', which has " << words << "; the first is " << first << ": emulator "
                               << std::hex << word(dump.after.data(), first) << ", GPU " << word(found, first);
    const size_t rest = dump.after.size() % 4;
    EXPECT_EQ(std::memcmp(dump.after.data() + 4 * words, found + 4 * words, rest), 0) << "last bytes of '" << dump.name << "'";
  }

  const std::shared_ptr<cuda::Contexts> contexts;
};

class UseGpu : public testing::Environment {
  void SetUp() override {
    const char *wanted = std::getenv("LOGITILE_TEST_GPU");
    if (!wanted || std::string_view(wanted) != "1")
      return;
    Result<std::string> target = makeCudaPlatform()->findTarget(0);
    ASSERT_TRUE(target.isOk()) << target.status().error().text;
    std::string error;
    auto driver = cuda::Driver::open();
    ASSERT_TRUE(driver.isOk()) << driver.status().error().text;
    machine = std::make_unique<GpuMachine>(std::make_shared<cuda::Contexts>(*driver), findTarget(*target, error));
    otherMachine = machine.get();
  }
  void TearDown() override {
    otherMachine = nullptr;
    if (!machine)
      return std::puts("the emulator alone: no kernel was compared with a GPU"), void();
    EXPECT_GT(machine->compared, 0);
    std::printf("%d kernels were compared with %s; it has no code for %d\n", machine->compared, machine->target->name().c_str(),
                machine->leftOut);
  }
  std::unique_ptr<GpuMachine> machine;
};
const testing::Environment *const registered = testing::AddGlobalTestEnvironment(new UseGpu);
} // namespace
