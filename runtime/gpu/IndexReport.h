// IndexReport.h - reports of indices outside the vocabulary from kernels. Nothing waits for a GPU,
// so they arrive late.
#pragma once
#include "runtime/support/ForkGuard.h"
#include "runtime/support/Status.h"
#include "runtime/gpu/CallKernels.h"
#include <vector>

namespace logitile::gpu {
/// Thread-safe.
class IndexReport {
public:
  /// Memory that the host reads and kernels write, once there is some; it outlives the report.
  explicit IndexReport(IndexFlag *flag = nullptr) : flag(flag) {}
  void setMemory(IndexFlag *memory) { flag = memory; }
  IndexFlag *memory() const { return flag; }
  /// What stands for an input in the flag.
  int32_t numberOf(const std::string &input);
  /// An error for a wrong index of a call that has run, once: of the call that asks, or of an
  /// earlier one.
  Status take(bool isOfThisCall = false);

private:
  IndexFlag *flag;
  ForkSafeMutex mutex;
  std::vector<std::string> inputs;
};
} // namespace logitile::gpu
