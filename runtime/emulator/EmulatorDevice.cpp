// EmulatorDevice.cpp - what a call needs of the emulator: code, memory by name, launches.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/support/BackgroundJob.h"
#include "runtime/support/FloatEnvironment.h"
#include "runtime/emulator/Library.h"
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

/// Memory that holds the ranges, those that overlap as one: the caller may pass an array twice.
Result<emulator::MemoryHandle> memoryOf(std::vector<MemoryRange> ranges) {
  Result<emulator::MemoryHandle> memory = emulator::createMemory();
  if (!memory.isOk())
    return memory;
  std::ranges::sort(ranges, {}, &MemoryRange::data);
  for (size_t i = 0; i < ranges.size();) {
    MemoryRange whole = ranges[i];
    std::string name(whole.name);
    for (++i; i < ranges.size() && ranges[i].data < whole.data + whole.bytes; ++i) {
      whole.bytes = std::max(whole.bytes, ranges[i].data + ranges[i].bytes - whole.data);
      whole.isDefined |= ranges[i].isDefined;
      name += ", " + std::string(ranges[i].name);
    }
    const emulator::abi::Functions *library = memory->get_deleter().library;
    const emulator::abi::Ending ending =
        library->addMemory(memory->get(), name.c_str(), whole.data, static_cast<size_t>(whole.bytes), whole.isDefined);
    if (Status status = emulator::statusOf(ending, nullptr, name); !status.isOk())
      return status;
  }
  return memory;
}

/// Kernels of one module. Launches take turns.
struct EmulatedCode {
  emulator::ProgramHandle program{nullptr, {}};
  std::recursive_mutex mutex; // handlers of signals that interrupt a launch may call the same code

  /// 'name' is what messages call it: kernels may run the code of another one.
  Status launch(const std::string &name, const emulator::abi::Launch &launch, emulator::abi::Memory *memory, KernelCounters &counters) {
    emulator::abi::Outcome outcome = {};
    emulator::abi::Text why = nullptr;
    std::lock_guard lock(mutex);
    const emulator::abi::Ending ending = program.get_deleter().library->run(program.get(), &launch, memory, &outcome, &why);
    const std::string reports = emulator::takeText(outcome.reports), facts = emulator::takeText(outcome.facts);
    if (Status status = emulator::statusOf(ending, why, "kernel '" + name + "' cannot be launched"); !status.isOk())
      return status;
    counters = outcome.counters;
    if (outcome.isInterrupted)
      return interrupted();
    if (reports.empty())
      return Status();
    Error error;
    error.code = ErrorCode::EmulatorFault;
    error.text = "the emulator finds faults in kernel '" + name + "':\n" + reports;
    error.kernel = name;
    error.faults = facts;
    return Status(std::move(error));
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
    using Loaded = Result<std::shared_ptr<emulator::ProgramHandle>>;
    Loaded loaded = runInBackground({}, [](Cancellation &) -> Loaded {
      Result<emulator::ProgramHandle> program = emulator::loadProgram(gpu::ownKernelsIr(), "the runtime's own kernels do not load");
      if (!program.isOk())
        return program.status();
      return std::make_shared<emulator::ProgramHandle>(std::move(*program));
    });
    if (loaded.isOk())
      own.program = std::move(**loaded);
    return loaded.status();
  }
};

namespace {
class EmulatorCall : public DeviceCall {
public:
  EmulatorCall(EmulatedCode &code, const std::vector<KernelPlan> &kernels, EmulatedMachine &machine, emulator::MemoryHandle memory)
      : code(code), kernels(kernels), machine(machine), memory(std::move(memory)) {}

  Status launch(const Launch &launch) override {
    counted = {};
    if (launch.tasks == 0)
      return Status();
    if (Status status = checkBlocks(launch.tasks); !status.isOk())
      return status;
    const KernelPlan &kernel = kernels[launch.kernel];
    const std::string function = kernel.function();
    std::vector<const void *> arguments;
    for (int64_t word = 0, words = wordCount(kernel); word < words; ++word)
      arguments.push_back(launch.arguments + word);
    TensorMapArguments maps;
    auto encode = [&](const TensorMatrix &matrix, EncodedTensorMap &map) { return encodeTensorMap(matrix, map); };
    if (Status status = maps.encode(launch.matrices, encode); !status.isOk())
      return status;
    maps.addTo(arguments);
    emulator::abi::Launch call = {};
    call.kernel = function.c_str();
    call.dynamicSharedBytes = static_cast<uint32_t>(kernel.sharedBytes);
    call.arguments = arguments.data();
    call.argumentCount = arguments.size();
    call.interrupt = launch.interrupt;
    return run(code, kernel.name, call, launch.tasks, kernel.threads);
  }

  Status launchOwn(const char *kernel, int64_t blocks, int64_t threads, const void *parameters) override {
    emulator::abi::Launch call = {};
    call.kernel = kernel;
    call.arguments = &parameters;
    call.argumentCount = 1;
    return run(machine.own, kernel, call, blocks, threads);
  }
  const KernelCounters *counters() const override { return &counted; }

private:
  Status encodeTensorMap(const TensorMatrix &matrix, EncodedTensorMap &map) {
    static_assert(sizeof(map.bytes) == emulator::abi::kTensorMapBytes);
    int64_t line = matrix.boxColumns * elementBytes(matrix.element);
    const emulator::abi::TensorMatrix given = {matrix.address,
                                               matrix.element == ElementType::F16,
                                               static_cast<uint64_t>(matrix.rows),
                                               static_cast<uint64_t>(matrix.columns),
                                               static_cast<uint64_t>(matrix.pitch()),
                                               static_cast<uint32_t>(matrix.boxRows),
                                               static_cast<uint32_t>(matrix.boxColumns),
                                               static_cast<uint32_t>(line)};
    emulator::abi::Text why = nullptr;
    const emulator::abi::Ending ending = memory.get_deleter().library->encodeTensorMap(&given, map.bytes, &why);
    return emulator::statusOf(ending, why, "a tensor map cannot be encoded");
  }
  Status run(EmulatedCode &program, const std::string &name, emulator::abi::Launch call, int64_t blocks, int64_t threads) {
    Result<uint64_t> seed = scheduleSeed();
    if (!seed.isOk())
      return seed.status();
    call.seed = *seed;
    DefaultFloatEnvironment environment(SubnormalMode::keep()); // as GPUs do, whatever the caller's thread does
    std::ranges::copy(std::array<uint32_t, 3>{static_cast<uint32_t>(blocks), 1, 1}, call.grid);
    std::ranges::copy(std::array<uint32_t, 3>{static_cast<uint32_t>(threads), 1, 1}, call.threads);
    return program.launch(name, call, memory.get(), counted);
  }

  EmulatedCode &code;
  const std::vector<KernelPlan> &kernels;
  EmulatedMachine &machine;
  emulator::MemoryHandle memory;
  KernelCounters counted; // of the last launch
};

class EmulatorCode : public DeviceCode {
public:
  EmulatorCode(emulator::ProgramHandle program, const std::vector<KernelPlan> &kernels, std::shared_ptr<EmulatedMachine> machine)
      : kernels(kernels), machine(std::move(machine)) {
    code.program = std::move(program);
  }
  Result<std::unique_ptr<DeviceCall>> start(const MemoryList &list, const DeviceStream &) override {
    if (Status status = machine->load(); !status.isOk())
      return status;
    std::vector<MemoryRange> ranges = list();
    ranges.push_back({"index flag", reinterpret_cast<char *>(machine->flag), sizeof(gpu::IndexFlag), true});
    Result<emulator::MemoryHandle> memory = memoryOf(std::move(ranges));
    if (!memory.isOk())
      return memory.status();
    return std::unique_ptr<DeviceCall>(std::make_unique<EmulatorCall>(code, kernels, *machine, std::move(*memory)));
  }

private:
  EmulatedCode code;
  const std::vector<KernelPlan> kernels;
  std::shared_ptr<EmulatedMachine> machine;
};
} // namespace

EmulatorDevice::EmulatorDevice(std::shared_ptr<Workspace> memory) : memory(std::move(memory)), machine(std::make_shared<EmulatedMachine>()) {
  machine->flag = &flag;
}

Result<std::unique_ptr<DeviceCode>> EmulatorDevice::load(const LaunchPlan &plan, NativeStore) {
  Result<emulator::ProgramHandle> program = emulator::loadProgram(plan.code, "the code of '" + plan.name + "' does not load");
  if (!program.isOk())
    return program.status();
  return std::unique_ptr<DeviceCode>(std::make_unique<EmulatorCode>(std::move(*program), plan.kernels, machine));
}
