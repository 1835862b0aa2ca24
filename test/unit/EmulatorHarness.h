// EmulatorHarness.h - short kernels as LLVM IR text, run by the emulator on plain vectors. For tests only.
#pragma once
#include "runtime/emulator/Program.h"
#include <deque>
#include <gtest/gtest.h>

namespace logitile::emulator {
/// One program with its buffers; arguments are given in the order of the kernel's parameters.
class EmulatorHarness {
public:
  /// 'body' holds functions; the target and declarations of intrinsics come by themselves.
  explicit EmulatorHarness(const std::string &body);

  template <typename T> EmulatorHarness &buffer(const std::string &name, std::vector<T> &data, Contents contents = Contents::defined) {
    memory.add(name, data.data(), data.size() * sizeof(T), contents);
    return argument(reinterpret_cast<uint64_t>(data.data()));
  }
  EmulatorHarness &argument(uint64_t value);
  EmulatorHarness &threads(uint32_t x, uint32_t y = 1, uint32_t z = 1);
  EmulatorHarness &grid(uint32_t x, uint32_t y = 1, uint32_t z = 1);
  EmulatorHarness &dynamicShared(uint32_t bytes);
  EmulatorHarness &seed(uint64_t value);

  /// Runs kernel @k; a refusal fails the test.
  Outcome run();
  /// Runs and expects no report.
  Counters runClean();
  /// Runs and expects reports of one kind only; returns the first.
  Report runFaulty(Fault fault);

  Launch launch;
  GlobalMemory memory;
  std::unique_ptr<Program> program;

private:
  std::deque<uint64_t> values;
};

/// The target and the declarations that tests use.
std::string emulatorModule(const std::string &body);
/// Body of a kernel @k that stores an i32 of each thread: 'code' computes %r from %tid and %lane.
std::string storePerThread(const std::string &code);
} // namespace logitile::emulator
