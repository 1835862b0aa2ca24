// Device.cpp - what is the same for most devices.
#include "runtime/device/Device.h"
#include <chrono>
using namespace logitile;

int64_t logitile::wordCount(const KernelPlan &kernel) {
  int64_t words = 0;
  for (const ArgumentPlan &argument : kernel.arguments)
    words += argument.isBuffer || argument.scalar == ScalarRole::Tokens ? 3 : 1;
  return words;
}

Status logitile::checkBlocks(int64_t tasks) {
  if (tasks <= INT32_MAX)
    return Status();
  return Status(ErrorCode::Value, "a grid of " + std::to_string(tasks) + " blocks is larger than GPUs allow; give 'chunks'");
}

Result<double> DeviceCall::timedLaunch(const Launch &launched) {
  auto start = std::chrono::steady_clock::now();
  if (Status status = launch(launched); !status.isOk())
    return status;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
