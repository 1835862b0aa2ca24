// EmulatorDevice.cpp - what a call needs of the emulator: code, memory by name, launches.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/Errand.h"
#include "runtime/emulator/Program.h"
#include "runtime/gpu/OwnKernels.h"
#include <algorithm>
#include <charconv>
#include <mutex>
using namespace logitile;

namespace {
Result<uint64_t> scheduleSeed() {
  const char *text = std::getenv("LOGITILE_EMULATOR_SEED");
  std::string_view digits = text ? text : "";
  uint64_t seed = 0;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (digits.empty() || (problem == std::errc() && end == digits.data() + digits.size()))
    return seed;
  return Status(ErrorCode::Value, "LOGITILE_EMULATOR_SEED is '" + std::string(digits) + "'; it must be an integer, 0 or more");
}

/// Registers the ranges, those that overlap as one: the caller may pass an array twice.
void addMemory(emulator::GlobalMemory &memory, std::vector<MemoryRange> ranges) {
  std::ranges::sort(ranges, {}, &MemoryRange::data);
  for (size_t i = 0; i < ranges.size();) {
    MemoryRange whole = ranges[i];
    std::string name(whole.name);
    for (++i; i < ranges.size() && ranges[i].data < whole.data + whole.bytes; ++i) {
      whole.bytes = std::max(whole.bytes, ranges[i].data + ranges[i].bytes - whole.data);
      whole.isDefined |= ranges[i].isDefined;
      name += ", " + std::string(ranges[i].name);
    }
    memory.add(name, whole.data, whole.bytes, whole.isDefined ? emulator::Contents::defined : emulator::Contents::undefined);
  }
}

/// Kernels of one module. Launches take turns.
struct EmulatedCode {
  std::shared_ptr<emulator::Program> program;
  std::recursive_mutex mutex; // handlers of signals that interrupt a launch may call the same code

  /// 'name' is what messages call it: kernels may run the code of another one.
  Status launch(const std::string &name, const emulator::Launch &launch, emulator::GlobalMemory &memory, KernelCounters &counters) {
    emulator::Outcome outcome;
    std::string error;
    std::lock_guard lock(mutex);
    if (!program->run(launch, memory, outcome, error))
      return Status(ErrorCode::Internal, "kernel '" + name + "' cannot be launched: " + error);
    counters = outcome.counters;
    if (outcome.isInterrupted)
      return interrupted();
    if (outcome.reports.empty())
      return Status();
    return Status(ErrorCode::Internal, "the emulator finds faults in kernel '" + name + "':\n" + outcome.text());
  }
};
} // namespace

/// Loaded at the first launch: most processes never emulate.
struct logitile::EmulatedMachine {
  EmulatedCode own;
  gpu::IndexFlag *flag = nullptr;

  Status load() {
    std::lock_guard lock(own.mutex);
    if (own.program)
      return Status();
    Result<std::shared_ptr<emulator::Program>> loaded = runErrand({}, [](Cancellation &) -> Result<std::shared_ptr<emulator::Program>> {
      std::string error;
      if (std::shared_ptr<emulator::Program> program = emulator::Program::load(gpu::ownKernelsIr(), error))
        return program;
      return Status(ErrorCode::Internal, "the runtime's own kernels do not load: " + error);
    });
    if (loaded.isOk())
      own.program = *loaded;
    return loaded.status();
  }
};

namespace {
class EmulatorCall : public DeviceCall {
public:
  EmulatorCall(EmulatedCode &code, const std::vector<KernelPlan> &kernels, EmulatedMachine &machine, const MemoryList &list)
      : code(code), kernels(kernels), machine(machine) {
    std::vector<MemoryRange> ranges = list();
    ranges.push_back({"index flag", reinterpret_cast<char *>(machine.flag), sizeof(gpu::IndexFlag), true});
    addMemory(memory, std::move(ranges));
  }

  Status launch(const Launch &launch) override {
    counted = {};
    if (launch.tasks == 0)
      return Status();
    if (Status status = checkBlocks(launch.tasks); !status.isOk())
      return status;
    const KernelPlan &kernel = kernels[launch.kernel];
    emulator::Launch call;
    call.kernel = kernel.function();
    call.dynamicSharedBytes = static_cast<uint32_t>(kernel.sharedBytes);
    for (int64_t word = 0, words = wordCount(kernel); word < words; ++word)
      call.arguments.push_back(launch.arguments + word);
    call.interrupt = launch.interrupt;
    return run(code, kernel.name, std::move(call), launch.tasks, kernel.threads);
  }

  Status launchOwn(const char *kernel, int64_t blocks, int64_t threads, const void *parameters) override {
    emulator::Launch call;
    call.kernel = kernel;
    call.arguments = {parameters};
    return run(machine.own, kernel, std::move(call), blocks, threads);
  }
  const KernelCounters *counters() const override { return &counted; }

private:
  Status run(EmulatedCode &program, const std::string &name, emulator::Launch call, int64_t blocks, int64_t threads) {
    Result<uint64_t> seed = scheduleSeed();
    if (!seed.isOk())
      return seed.status();
    call.seed = *seed;
    call.grid = {static_cast<uint32_t>(blocks), 1, 1};
    call.threads = {static_cast<uint32_t>(threads), 1, 1};
    return program.launch(name, call, memory, counted);
  }

  EmulatedCode &code;
  const std::vector<KernelPlan> &kernels;
  EmulatedMachine &machine;
  emulator::GlobalMemory memory;
  KernelCounters counted; // of the last launch
};

class EmulatorCode : public DeviceCode {
public:
  EmulatorCode(std::unique_ptr<emulator::Program> program, const std::vector<KernelPlan> &kernels, std::shared_ptr<EmulatedMachine> machine)
      : kernels(kernels), machine(std::move(machine)) {
    code.program = std::move(program);
  }
  Result<std::unique_ptr<DeviceCall>> start(const MemoryList &memory, const DeviceStream &) override {
    if (Status status = machine->load(); !status.isOk())
      return status;
    return std::unique_ptr<DeviceCall>(std::make_unique<EmulatorCall>(code, kernels, *machine, memory));
  }

private:
  EmulatedCode code;
  const std::vector<KernelPlan> kernels;
  std::shared_ptr<EmulatedMachine> machine;
};
} // namespace

EmulatorDevice::EmulatorDevice(std::shared_ptr<Device> host) : host(std::move(host)), machine(std::make_shared<EmulatedMachine>()) {
  machine->flag = &flag;
}

Result<std::unique_ptr<DeviceCode>> EmulatorDevice::load(const LaunchPlan &plan, NativeStore) {
  std::string error;
  std::unique_ptr<emulator::Program> program = emulator::Program::load(plan.code, error);
  if (!program)
    return Status(ErrorCode::Internal, "the code of '" + plan.name + "' does not load: " + error);
  return std::unique_ptr<DeviceCode>(std::make_unique<EmulatorCode>(std::move(program), plan.kernels, machine));
}
