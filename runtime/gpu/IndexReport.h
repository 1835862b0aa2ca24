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
  /// 'flag' is memory that the host reads and kernels write. It outlives the report. Null:
  /// setMemory sets it later.
  explicit IndexReport(IndexFlag *flag = nullptr) : flag(flag) {}
  void setMemory(IndexFlag *memory) { flag = memory; }
  IndexFlag *memory() const { return flag; }
  /// The number of an input in the flag.
  int32_t numberOf(const std::string &input);
  /// An error if a call has used a wrong index. Each report gives one error only. 'isOfThisCall':
  /// the text says that the index was of the call that asks, not of an earlier call.
  Status take(bool isOfThisCall = false);

private:
  IndexFlag *flag;
  ForkSafeMutex mutex;
  std::vector<std::string> inputs;
};
} // namespace logitile::gpu
