// EmulatorDevice.cpp - what a call needs of the emulator: code, memory by name, launches.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/Program.h"
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

/// Shared by the calls of a plan, which take turns.
struct EmulatedCode {
  std::vector<KernelPlan> kernels;
  std::unique_ptr<emulator::Program> program;
  std::mutex mutex;
};

class EmulatorCall : public DeviceCall {
public:
  EmulatorCall(EmulatedCode &code, const MemoryList &ranges) : code(code) { addMemory(memory, ranges()); }

  Status launch(const Launch &launch) override {
    if (launch.tasks == 0)
      return Status();
    if (Status status = checkBlocks(launch.tasks); !status.isOk())
      return status;
    Result<uint64_t> seed = scheduleSeed();
    if (!seed.isOk())
      return seed.status();
    const KernelPlan &kernel = code.kernels[launch.kernel];
    emulator::Launch call;
    call.kernel = kernel.name;
    call.grid = {static_cast<uint32_t>(launch.tasks), 1, 1};
    call.threads = {static_cast<uint32_t>(kernel.threads), 1, 1};
    call.dynamicSharedBytes = static_cast<uint32_t>(kernel.sharedBytes);
    call.seed = *seed;
    for (int64_t word = 0, words = wordCount(kernel); word < words; ++word)
      call.arguments.push_back(launch.arguments + word);
    emulator::Outcome outcome;
    std::string error;
    std::lock_guard lock(code.mutex);
    if (!code.program->run(call, memory, outcome, error))
      return Status(ErrorCode::Internal, "kernel '" + kernel.name + "' cannot be launched: " + error);
    if (outcome.reports.empty())
      return Status();
    return Status(ErrorCode::Internal, "the emulator finds faults in kernel '" + kernel.name + "':\n" + outcome.text());
  }

private:
  EmulatedCode &code;
  emulator::GlobalMemory memory;
};

class EmulatorCode : public DeviceCode {
public:
  EmulatorCode(std::unique_ptr<emulator::Program> program, const std::vector<KernelPlan> &kernels) {
    code.program = std::move(program);
    code.kernels = kernels;
  }
  Result<std::unique_ptr<DeviceCall>> start(const MemoryList &memory, const DeviceStream &) override {
    return std::unique_ptr<DeviceCall>(std::make_unique<EmulatorCall>(code, memory));
  }

private:
  EmulatedCode code;
};
} // namespace

Result<std::unique_ptr<DeviceCode>> EmulatorDevice::load(const LaunchPlan &plan) {
  std::string error;
  std::unique_ptr<emulator::Program> program = emulator::Program::load(plan.code, error);
  if (!program)
    return Status(ErrorCode::Internal, "the code of '" + plan.name + "' does not load: " + error);
  return std::unique_ptr<DeviceCode>(std::make_unique<EmulatorCode>(std::move(program), plan.kernels));
}
