// EmulatorHarness.h - short kernels as LLVM IR text, run by the emulator on plain vectors. For
// tests only. Where a program has another machine, launches without a report run there as well, and
// both must leave the same memory.
#pragma once
#include "emulator/Program.h"
#include <deque>
#include <gtest/gtest.h>
#include <span>

namespace logitile::emulator {
/// A buffer of a launch: which argument points to it, and its bytes before and after.
struct Dump {
  size_t argument;
  std::string name;
  std::vector<uint8_t> before;
  std::span<const uint8_t> after;
};

/// Runs what the emulator has run, and compares: bits, or f32 numbers that may be so many units in
/// the last place apart.
class OtherMachine {
public:
  virtual ~OtherMachine() = default;
  virtual void compare(const std::string &ir, const Launch &launch, const std::vector<Dump> &dumps, int64_t unitsApart) = 0;
};
/// None in the emulator's own tests.
inline OtherMachine *otherMachine = nullptr;

/// One program with its buffers; arguments are given in the order of the kernel's parameters.
class EmulatorHarness {
public:
  /// 'body' holds functions; the target and declarations of intrinsics come by themselves.
  explicit EmulatorHarness(const std::string &body);

  template <typename T> EmulatorHarness &buffer(const std::string &name, std::vector<T> &data, Contents contents = Contents::defined) {
    memory.add(name, data.data(), data.size() * sizeof(T), contents);
    dumps.push_back({launch.arguments.size(), name, {}, {reinterpret_cast<uint8_t *>(data.data()), data.size() * sizeof(T)}});
    return argument(reinterpret_cast<uint64_t>(data.data()));
  }
  EmulatorHarness &argument(uint64_t value);
  EmulatorHarness &threads(uint32_t x, uint32_t y = 1, uint32_t z = 1);
  EmulatorHarness &grid(uint32_t x, uint32_t y = 1, uint32_t z = 1);
  EmulatorHarness &dynamicShared(uint32_t bytes);
  EmulatorHarness &seed(uint64_t value);

  /// Runs kernel @k; a refusal fails the test.
  Outcome run();
  /// Runs and expects no report, and of another machine the same numbers.
  Counters runClean(int64_t unitsApart = 0);
  /// Runs and expects reports of one kind only; returns the first.
  Report runFaulty(Fault fault);

  Launch launch;
  GlobalMemory memory;
  std::unique_ptr<Program> program;

private:
  const std::string ir;
  std::deque<uint64_t> values;
  std::vector<Dump> dumps;
};

/// The target and the declarations that tests use.
std::string emulatorModule(const std::string &body);
/// Body of a kernel @k that stores an i32 of each thread: 'code' computes %r from %tid and %lane.
std::string storePerThread(const std::string &code);
} // namespace logitile::emulator
