// CudaPlatform.cpp - NVIDIA GPUs of this machine: their names, drivers and targets.
#include "runtime/cuda/CudaPlatform.h"
#include "compiler/Backends/NVPTX/GPU.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Driver.h"
using namespace logitile;
using namespace logitile::cuda;

/// The variant with instructions of its own where the device and its driver have them: those
/// assemble PTX 8.0 and make tensor maps from CUDA 12.0 on. Else the last one known that is not
/// later than the device, whose driver brings its code to the device's own instructions.
static std::optional<Gpu> gpuOf(int major, int minor, int driverVersion) {
  constexpr int kOwnInstructions = 12000;
  const int own = 10 * major + minor;
  if (std::optional<Gpu> gpu = Gpu::parse("sm_" + std::to_string(own) + "a"); gpu && driverVersion >= kOwnInstructions)
    return gpu;
  for (int sm = own; sm >= 80; --sm)
    if (std::optional<Gpu> gpu = Gpu::parse("sm_" + std::to_string(sm)))
      return gpu;
  return std::nullopt;
}

namespace {
class CudaPlatform : public Platform {
public:
  std::string_view prefix() const override { return "cuda"; }
  PlatformFacts facts() const override { return {"cuda", false, false}; }
  std::shared_ptr<Device> makeDevice(const std::shared_ptr<Workspace> &) const override { return std::make_shared<CudaDevice>(); }
  /// An error where there is no driver or no such device, or none that code is made for.
  Result<std::string> findTarget(int ordinal) const override;
  /// The driver's version as it gives it: "12040" for 12.4.
  Result<DeviceModel> describe(std::string_view, int ordinal) const override;
};
} // namespace

Result<std::string> CudaPlatform::findTarget(int ordinal) const {
  Result<std::shared_ptr<const Driver>> driver = Driver::open();
  if (!driver.isOk())
    return driver.status();
  Result<DeviceHandle> device = (*driver)->device(ordinal);
  if (!device.isOk())
    return device.status();
  Result<int> major = (*driver)->attribute(DeviceAttribute::CapabilityMajor, *device);
  Result<int> minor = (*driver)->attribute(DeviceAttribute::CapabilityMinor, *device);
  if (!major.isOk() || !minor.isOk())
    return major.isOk() ? minor.status() : major.status();
  int version = 0;
  if (Status status = (*driver)->call((*driver)->driverGetVersion, &version); !status.isOk())
    return status;
  if (std::optional<Gpu> gpu = gpuOf(*major, *minor, version))
    return std::string(prefix()) + ":" + gpu->features();
  return Status(ErrorCode::Target, (*driver)->nameOf(*device) + " has compute capability " + std::to_string(*major) + "." +
                                       std::to_string(*minor) + ", but kernels need 8.0 or later; use backend='cpu'");
}

Result<DeviceModel> CudaPlatform::describe(std::string_view, int ordinal) const {
  Result<std::shared_ptr<const Driver>> driver = Driver::open();
  if (!driver.isOk())
    return driver.status();
  Result<DeviceHandle> device = (*driver)->device(ordinal);
  if (!device.isOk())
    return device.status();
  char name[128] = {};
  if (Status status = (*driver)->call((*driver)->deviceGetName, name, sizeof(name), *device); !status.isOk())
    return status;
  int version = 0;
  if (Status status = (*driver)->call((*driver)->driverGetVersion, &version); !status.isOk())
    return status;
  return DeviceModel{name, std::to_string(version)};
}

std::unique_ptr<Platform> logitile::makeCudaPlatform() { return std::make_unique<CudaPlatform>(); }
