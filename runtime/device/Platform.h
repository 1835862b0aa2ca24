// Platform.h - a kind of device, and the registry that finds it by the prefix of a target's name. A
// Backend of the compiler (compiler/Target/Backend.h) has the same prefix.
#pragma once
#include "compiler/Target/Machine.h"
#include "runtime/device/Device.h"
#include <memory>
#include <vector>

namespace logitile {
/// What holds for all devices of a platform.
struct PlatformFacts {
  std::string_view memory;       // where the arrays of calls lie, as frameworks call it: "cpu" or "cuda"
  bool readsHostMemory = true;   // that memory is the host's
  bool runsOnHostThreads = true; // kernels run on as many threads of the host as a program has
};

/// One device of this machine, for results that depend on it.
struct DeviceModel {
  std::string name;   // "NVIDIA H200"
  std::string driver; // what else times depend on: "12040", "avx512"
};

class Platform {
public:
  virtual ~Platform() = default;
  /// What comes before the colon in the names of its targets: "cpu".
  virtual std::string_view prefix() const = 0;
  virtual PlatformFacts facts() const = 0;
  /// Its devices as one, for one engine. Workspace in memory of the host comes from 'hostMemory'.
  virtual std::shared_ptr<Device> makeDevice(const std::shared_ptr<Workspace> &hostMemory) const = 0;
  /// An error where nothing can run code for the target "PREFIX:features" in this process.
  /// Platforms whose devices differ leave it to the calls.
  virtual Status check(std::string_view /*features*/) const { return Status(); }
  /// The target of a device of this machine.
  virtual Result<std::string> findTarget(int ordinal) const = 0;
  virtual Result<DeviceModel> describe(std::string_view features, int ordinal) const = 0;
  /// What this machine was measured to do with code for the target "PREFIX:features".
  virtual UnitRates rates(std::string_view /*features*/) const { return {}; }
};

// The registry is as the compiler's: the platforms of this library come first, others are added by
// registerPlatform, at any time and from any thread. None is ever removed. An engine knows those
// that there were when it was made.

/// Adds a platform. False, and nothing is changed, where its prefix is taken.
[[nodiscard]] bool registerPlatform(std::unique_ptr<Platform> platform);
/// All of them, in the order of their registration.
std::vector<const Platform *> listPlatforms();
/// The first whose kernels run on threads of the host.
const Platform &hostPlatform();
/// Of the target "PREFIX:features", or of a prefix alone. An error that names those that there are.
Result<const Platform *> findPlatform(std::string_view target);
/// What follows the colon.
std::string_view featuresOf(std::string_view target);

/// Those of this library, for the registry.
std::vector<std::unique_ptr<Platform>> makeBuiltInPlatforms();
} // namespace logitile
