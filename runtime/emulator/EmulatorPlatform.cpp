// EmulatorPlatform.cpp - facts of emulated GPUs: kernels of GPUs on arrays of the host, whatever
// GPU is asked for.
#include "runtime/emulator/EmulatorPlatform.h"
#include "runtime/cpu/CpuModel.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/Library.h"
using namespace logitile;

namespace {
class EmulatorPlatform : public Platform {
public:
  std::string_view prefix() const override { return "emu"; }
  PlatformFacts facts() const override { return {"cpu", true, false}; }
  std::shared_ptr<Device> makeDevice(const std::shared_ptr<Workspace> &hostMemory) const override {
    return std::make_shared<EmulatorDevice>(hostMemory);
  }
  Status check(std::string_view) const override { return emulator::openLibrary().status(); }
  Result<std::string> findTarget(int) const override {
    return Status(ErrorCode::Target, "no emulated GPU is the default; name one, as in 'emu:sm_90'");
  }
  Result<DeviceModel> describe(std::string_view, int) const override { return DeviceModel{cpuModel(), "emulator"}; }
};
} // namespace

std::unique_ptr<Platform> logitile::makeEmulatorPlatform() { return std::make_unique<EmulatorPlatform>(); }
