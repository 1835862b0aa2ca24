// Platform.h - a kind of device, and the registry that finds it by the prefix of a target's name. A
// Backend of the compiler (compiler/Target/Backend.h) has the same prefix.
#pragma once
#include "compiler/Target/Machine.h"
#include "runtime/device/Device.h"
#include <memory>
#include <vector>

namespace logitile {
/// Properties of all devices of a platform.
struct PlatformFacts {
  std::string_view memory;       // where the arrays of calls lie, as frameworks call it: "cpu" or "cuda"
  bool readsHostMemory = true;   // that memory is the host's
  bool runsOnHostThreads = true; // kernels run on as many threads of the host as a program has
};

/// A description of a device of this machine, for results that depend on the device.
struct DeviceModel {
  std::string name;   // "NVIDIA H200"
  std::string driver; // what times depend on besides the name: "12040", "avx512"
};

class Platform {
public:
  virtual ~Platform() = default;
  /// What comes before the colon in the names of its targets: "cpu".
  virtual std::string_view prefix() const = 0;
  virtual PlatformFacts facts() const = 0;
  /// Makes an object for all devices of the platform, for one engine. Workspace in memory of the
  /// host is taken from 'hostMemory'.
  virtual std::shared_ptr<Device> makeDevice(const std::shared_ptr<Workspace> &hostMemory) const = 0;
  /// An error if no device can run code for the target "PREFIX:features" in this process. A
  /// platform whose devices differ returns no error: its calls check their device.
  virtual Status check(std::string_view /*features*/) const { return Status(); }
  /// The target for device number 'ordinal' of this machine.
  virtual Result<std::string> findTarget(int ordinal) const = 0;
  virtual Result<DeviceModel> describe(std::string_view features, int ordinal) const = 0;
  /// Measured rates of this machine with code for the target "PREFIX:features".
  virtual UnitRates rates(std::string_view /*features*/) const { return {}; }
};

// The registry is as the compiler's: the platforms of this library come first, others are added by
// registerPlatform, at any time and from any thread. None is ever removed. An engine knows those
// that there were when it was made.

/// Adds a platform. False, and nothing is changed, where its prefix is taken.
[[nodiscard]] bool registerPlatform(std::unique_ptr<Platform> platform);
/// All of them, in the order of their registration.
std::vector<const Platform *> listPlatforms();
/// The first platform whose kernels run on threads of the host.
const Platform &hostPlatform();
/// The platform of the target "PREFIX:features", or of a prefix alone. An error names the platforms
/// that exist.
Result<const Platform *> findPlatform(std::string_view target);
/// The part of a target's name after the colon.
std::string_view featuresOf(std::string_view target);

/// The platforms of this library, for the registry.
std::vector<std::unique_ptr<Platform>> makeBuiltInPlatforms();
} // namespace logitile
