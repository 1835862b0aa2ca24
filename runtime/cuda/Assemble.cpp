// Assemble.cpp - checks that code fits a device, and has the driver assemble it.
#include "runtime/cuda/Assemble.h"
#include "compiler/Backends/NVPTX/GPU.h"
using namespace logitile;
using namespace logitile::cuda;

// ---- whether the device can run the code --------------------------------------------------------

namespace {
struct Capability {
  int major, minor;
  std::string text() const { return "compute capability " + std::to_string(major) + "." + std::to_string(minor); }
};
} // namespace

static Result<Capability> capabilityOf(const Driver &driver, DeviceHandle device) {
  Result<int> major = driver.attribute(DeviceAttribute::CapabilityMajor, device);
  Result<int> minor = driver.attribute(DeviceAttribute::CapabilityMinor, device);
  if (!major.isOk() || !minor.isOk())
    return major.isOk() ? minor.status() : major.status();
  return Capability{*major, *minor};
}

static Status checkTarget(const Driver &driver, DeviceHandle device, const LaunchPlan &plan) {
  constexpr std::string_view kPrefix = "cuda:";
  bool isCuda = plan.target.starts_with(kPrefix);
  std::optional<Gpu> target = isCuda ? Gpu::parse(std::string_view(plan.target).substr(kPrefix.size())) : std::nullopt;
  if (!target)
    return Status(ErrorCode::Internal, "the plan '" + plan.name + "' is for target '" + plan.target + "', which no CUDA device is");
  Result<Capability> capability = capabilityOf(driver, device);
  if (!capability.isOk())
    return capability.status();
  if (target->runsOn(10 * capability->major + capability->minor))
    return Status();
  return Status(ErrorCode::Target, "the code of '" + plan.name + "' is for " + target->architecture() + ", but " + driver.nameOf(device) + " has " +
                                       capability->text() + "; use backend='auto', or 'cuda:sm_80', whose code runs on all from 8.0");
}

Result<std::string> cuda::makerOf(const Driver &driver, DeviceHandle device) {
  Result<Capability> capability = capabilityOf(driver, device);
  int version = 0;
  Status status = capability.isOk() ? driver.call(driver.driverGetVersion, &version) : capability.status();
  return status.isOk() ? Result<std::string>(capability->text() + ", driver " + std::to_string(version)) : status;
}

// ---- assembling ---------------------------------------------------------------------------------

namespace {
/// What the driver writes while it assembles.
class Log {
  static constexpr size_t kBytes = 16 * 1024;
  std::string errors = std::string(kBytes, '\0'), remarks = std::string(kBytes, '\0');

public:
  static constexpr unsigned kOptions = 4;
  JitOption options[kOptions] = {JitOption::ErrorLog, JitOption::ErrorLogBytes, JitOption::InfoLog, JitOption::InfoLogBytes};
  // Sizes are passed in the place of pointers.
  void *values[kOptions] = {errors.data(), reinterpret_cast<void *>(kBytes), remarks.data(), reinterpret_cast<void *>(kBytes)};

  std::string text() const {
    std::string all = errors.c_str(), info = remarks.c_str();
    if (!info.empty())
      all += (all.empty() ? "" : "\n") + info;
    return all.empty() ? ", and the driver writes nothing about it" : "; the driver writes:\n" + all;
  }
};

/// The driver's linker, which is the part of it that hands out what it assembles.
class Linker {
public:
  explicit Linker(const Driver &driver) : driver(driver) {}
  Linker(const Linker &) = delete;
  ~Linker() {
    if (state)
      driver.linkDestroy.address(state);
  }
  Status open(Log &log) { return driver.call(driver.linkCreate, Log::kOptions, log.options, log.values, &state); }

  const Driver &driver;
  LinkState state = nullptr;
};
} // namespace

Result<std::string> cuda::assemble(const Driver &driver, const CurrentContext &context, const LaunchPlan &plan) {
  if (Status status = checkTarget(driver, context.deviceHandle(), plan); !status.isOk())
    return status;
  Log log; // outlives the linker, which writes to it
  Linker linker(driver);
  if (Status status = linker.open(log); !status.isOk())
    return status;
  auto refuse = [&](const char *function, Code code) {
    return driver.failure(function, code, "the code of '" + plan.name + "' for " + plan.target + " is not assembled for " +
                                              driver.nameOf(context.deviceHandle()) + log.text());
  };
  std::string text = plan.code; // the driver takes it as memory that it might write
  Code code = driver.linkAddData.address(linker.state, JitInput::Ptx, text.data(), text.size() + 1, plan.name.c_str(), 0, nullptr, nullptr);
  if (code != Code::Success)
    return refuse(driver.linkAddData.symbol, code);
  void *bytes = nullptr; // the linker's own
  size_t size = 0;
  code = driver.linkComplete.address(linker.state, &bytes, &size);
  if (code != Code::Success)
    return refuse(driver.linkComplete.symbol, code);
  return std::string(static_cast<const char *>(bytes), size);
}
